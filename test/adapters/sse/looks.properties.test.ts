import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ChannelState } from "../../../src/adapters/sse/channel-state.js";
import { isChannelEvent, Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import { Outlet } from "../../../src/adapters/sse/outlet.js";
import { NetworkError } from "../../../src/errors.js";
import { emptySniperBook, readReport } from "../../../src/snipers/diff.js";
import { applySniperEvent, emptyReport } from "../../../src/snipers/event.js";
import { lookAt, type SniperLook, type ToldLook } from "../../../src/snipers/look.js";
import { type Answer, sniperAnswer } from "./snipers.js";

const QUERY = { pairAddress: "pair" };

/** A gateway whose looks are these, and a viewer who reads as slowly as it likes. */
class Relay {
  readonly looks: SniperLook[] = [];
  readonly #mirror = new Mirror({ looksOf: QUERY });
  readonly #messages: ParsedMessage[] = [];
  #parser = createParser({ onEvent: (message) => this.#messages.push(message) });
  #state!: ChannelState;
  #outlet: Outlet | undefined;
  #told: ToldLook | undefined;
  #starts = 0;
  #now = 0;

  constructor(readonly buffer: number) {
    this.start();
  }

  get last(): SniperLook | undefined {
    return this.#told?.look;
  }

  start(): void {
    this.cut();
    this.#told = undefined;
    this.#starts += 1;
    const settings = { buffer: this.buffer, keep: 10, heartbeat: 1_000, hasStatus: true, now: () => 0 };
    this.#state = new ChannelState({ ...settings, channel: `channel ${this.#starts}` });
  }

  take(answer: Answer, blockNumber: number | null): void {
    this.#now += 1;
    const report = { ...emptyReport, result: answer };
    const read = { report, unreadable: new Set<string>(), hasUnidentifiedRow: false, observedAt: this.#now };
    const { book } = readReport(emptySniperBook("pair"), read);
    const wallets = new Map(Array.from(book.wallets, ([address, { wallet }]) => [address, wallet]));
    const head = { blockNumber, blockTimestamp: 5, transactionHash: "hash" };
    const before = this.#told;
    this.#told = lookAt(before, { wallets, head, observedAt: this.#now }, QUERY);
    if (this.#told !== before) this.#state.takeLook(this.#told.look);
    this.#state.takeStatus({ state: "live", failures: 0, coveredUntil: this.#now });
  }

  cut(): void {
    if (this.#outlet === undefined) return;
    this.#outlet = undefined;
    this.#mirror.lose(new NetworkError("cut"), 1);
  }

  read(characters: number): void {
    if (this.#outlet === undefined) {
      this.#outlet = new Outlet(this.#state, this.#mirror.lastEventId ?? null);
      this.#parser = createParser({ onEvent: (message) => this.#messages.push(message) });
      this.#mirror.connect();
    }
    this.#parser.feed(this.#outlet.take(characters));
    const { events, error } = this.#mirror.take(this.#messages.splice(0), 0);
    expect(error).toBeUndefined();
    for (const event of events) if (!isChannelEvent(event)) this.looks.push(event);
  }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ answer: sniperAnswer, block: fc.constantFrom(7, 7, 7, null) }) },
  { weight: 3, arbitrary: fc.record({ read: fc.constantFrom(1, 500, 5_000) }) },
  { weight: 1, arbitrary: fc.constantFrom("cut" as const, "start" as const) },
);

it("a viewer's looks follow from each other and end where the gateway's do, however slowly and seldom it reads", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), sniperAnswer, fc.nat(20), (steps, last, buffer) => {
      const relay = new Relay(buffer);
      for (const one of steps) {
        if (one === "cut") relay.cut();
        else if (one === "start") relay.start();
        else if ("read" in one) relay.read(one.read);
        else relay.take(one.answer, one.block);
      }
      relay.take(last, 7);
      relay.read(1e6);
      const { looks } = relay;
      let report = emptyReport;
      const told = new Set<string>();
      for (const [at, look] of looks.entries()) {
        report = look.events.reduce(applySniperEvent, report);
        expect(report.result).toEqual(look.report.result);
        expect(look.initial).toBe(at === 0);
        for (const { kind, walletAddress, side, transaction } of look.trades) {
          const { transactionHash, transactionTimestamp } = transaction;
          const key = `${walletAddress} ${side} ${transactionHash} ${transactionTimestamp}`;
          expect(told.has(key)).toBe(kind === "taken-back");
          if (kind === "made") told.add(key);
          else told.delete(key);
        }
      }
      expect(looks.at(-1)!.report).toEqual(relay.last!.report);
    }),
  );
});
