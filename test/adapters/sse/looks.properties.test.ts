import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { NEVER, Subject } from "rxjs";
import { expect, it } from "vitest";
import { Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import { Outlet, readId } from "../../../src/adapters/sse/outlet.js";
import { SniperFeed } from "../../../src/adapters/sse/sniper-feed.js";
import { SniperMirror } from "../../../src/adapters/sse/sniper-mirror.js";
import { NetworkError } from "../../../src/errors.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { applySniperEvent, emptyReport } from "../../../src/snipers/event.js";
import type { SniperLook } from "../../../src/snipers/look.js";
import { type Answer, Looks, sniperAnswer } from "./snipers.js";

const options = { pairAddress: "pair" };

/** A gateway whose looks are these, and a viewer who reads as slowly as it likes. */
class Relay {
  readonly looks: SniperLook[] = [];
  readonly #mirror = new Mirror(new SniperMirror(options));
  readonly #messages: ParsedMessage[] = [];
  #parser = createParser({ onEvent: (message) => this.#messages.push(message) });
  #feed!: SniperFeed;
  #told = new Subject<SniperLook>();
  #status = new Subject<FeedStatus>();
  #source = new Looks();
  #outlet: Outlet | undefined;
  #starts = 0;
  #now = 0;

  constructor() {
    this.start();
  }

  get last(): SniperLook | undefined {
    return this.#source.last;
  }

  start(): void {
    this.cut();
    this.#starts += 1;
    this.#source = new Looks();
    [this.#told, this.#status] = [new Subject(), new Subject()];
    const source = {
      sniperReport: () => this.#told,
      status: () => this.#status,
      candles: () => NEVER,
      snipers: () => NEVER,
      history: async () => [],
    };
    const scheduler = { now: () => 0, schedule: () => expect.fail("a timer") };
    this.#feed = new SniperFeed({ source, options, scheduler, onChange: () => {} });
    this.#feed.want();
  }

  take(answer: Answer, blockNumber: number | null): void {
    this.#now += 1;
    const look = this.#source.take(answer, blockNumber, this.#now);
    if (look !== undefined) this.#told.next(look);
    this.#status.next({ state: "live", failures: 0, coveredUntil: this.#now });
  }

  cut(): void {
    if (this.#outlet === undefined) return;
    this.#outlet = undefined;
    this.#mirror.lose(new NetworkError("cut"), 1);
  }

  read(characters: number): void {
    if (this.#outlet === undefined) {
      const resumed = readId(this.#mirror.lastEventId ?? null);
      const viewer = { since: undefined, cameAt: 0, isWaiting: false };
      const channel = `channel-${this.#starts}`;
      this.#outlet = new Outlet(this.#feed, { channel, heartbeat: 1_000, viewer, resumed });
      this.#parser = createParser({ onEvent: (message) => this.#messages.push(message) });
      this.#mirror.connect();
    }
    this.#parser.feed(this.#outlet.take(characters));
    const { events, error } = this.#mirror.take(this.#messages.splice(0), 0);
    expect(error).toBeUndefined();
    for (const event of events) if ("report" in event) this.looks.push(event);
  }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ answer: sniperAnswer, block: fc.constantFrom(7, 7, 7, null) }) },
  { weight: 3, arbitrary: fc.record({ read: fc.constantFrom(1, 500, 5_000) }) },
  { weight: 1, arbitrary: fc.constantFrom("cut" as const, "start" as const) },
);

it("a viewer's looks follow from each other and end where the gateway's do, however slowly and seldom it reads", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), sniperAnswer, (steps, last) => {
      const relay = new Relay();
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
          // One whose time or block reads otherwise is the same trade.
          const key = `${walletAddress} ${side} ${transaction.transactionHash}`;
          expect(told.has(key)).toBe(kind === "taken-back");
          if (kind === "made") told.add(key);
          else told.delete(key);
        }
      }
      expect(looks.at(-1)!.report).toEqual(relay.last!.report);
    }),
  );
});
