import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChannelState } from "../../../src/adapters/sse/channel-state.js";
import { isChannelEvent, Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import { Outlet } from "../../../src/adapters/sse/outlet.js";
import { NetworkError } from "../../../src/errors.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { CheckedFold } from "./checked-fold.js";
import { type Answer, SniperWatch, sniperAnswer } from "./snipers.js";
import { Market, type MarketStep, MarketWatch } from "./told-market.js";

/** A receiver, the network to it, and its subscriber. */
class Receiver {
  readonly fold = new CheckedFold();
  readonly #mirror = new Mirror();
  #outlet: Outlet | undefined;
  #parser = this.#newParser();
  #messages: ParsedMessage[] = [];
  #inFlight = "";
  #failures = 0;

  connect(state: ChannelState): void {
    if (this.#outlet !== undefined) return;
    this.#outlet = new Outlet(state, this.#mirror.lastEventId ?? null);
    this.#parser = this.#newParser();
    this.#mirror.connect();
  }

  /** Reads on by so many characters; whether there were any. */
  read(characters: number): boolean {
    this.#inFlight += this.#outlet?.take(characters) ?? "";
    const text = this.#inFlight.slice(0, characters);
    this.#parser.feed(text);
    this.#inFlight = this.#inFlight.slice(characters);
    const { events, error } = this.#mirror.take(this.#messages, 0);
    this.#messages = [];
    expect(error).toBeUndefined();
    for (const event of events.filter(isChannelEvent)) this.fold.take(event);
    return text !== "";
  }

  disconnect(): void {
    if (this.#outlet === undefined) return;
    this.#outlet = undefined;
    this.#inFlight = "";
    this.#failures += 1;
    this.fold.take(this.#mirror.lose(new NetworkError("cut"), this.#failures));
  }

  #newParser() {
    return createParser({ onEvent: (message) => this.#messages.push(message) });
  }
}

/** A gateway that can be restarted, its service, and its receivers. */
class GatewayModel {
  readonly market = new Market();
  readonly snipers: Answer[] = [];
  readonly receivers: Receiver[];
  /** What a subscriber of the gateway's own streams has. */
  fold = new CheckedFold();
  state!: ChannelState;
  #candles!: MarketWatch;
  #reports!: SniperWatch;
  #starts = 0;
  #forgottenUntil = Number.NEGATIVE_INFINITY;
  readonly #options: { buffer: number; keep: number };

  constructor(options: { buffer: number; keep: number }, receivers: number) {
    this.#options = options;
    this.receivers = Array.from({ length: receivers }, () => new Receiver());
    this.start(0);
  }

  /** Starts the gateway, in place of the last one, with a history of so many candles. */
  start(history: number): void {
    for (const receiver of this.receivers) receiver.disconnect();
    this.#starts += 1;
    const channel = `channel-${this.#starts}`;
    this.state = new ChannelState({
      ...this.#options,
      channel,
      heartbeat: 1_000,
      hasStatus: true,
      now: () => 0,
    });
    this.fold = new CheckedFold();
    this.#forgottenUntil = Number.NEGATIVE_INFINITY;
    this.#candles = new MarketWatch(this.market, history);
    this.#reports = new SniperWatch();
    this.#tell({ state: "starting", failures: 0 });
  }

  /** The gateway polls: a piece of history, or what has changed. */
  poll(count: number): void {
    const wasLive = this.#candles.isLive;
    for (const event of this.#candles.take(count)) {
      this.state.takeCandle(event);
      this.fold.take(Object.freeze({ ...event, candle: Object.freeze(event.candle) }));
      const surplus = this.kept().slice(0, -this.#options.keep);
      this.#forgottenUntil = surplus.at(-1)?.candle.timestamp ?? this.#forgottenUntil;
    }
    if (this.#candles.isLive && !wasLive) this.#tell({ state: "live", failures: 0 });
  }

  /** What is known of the candles where older ones are forgotten, for good, as soon as there are more than `keep`. */
  kept() {
    return this.fold.standing(this.#forgottenUntil + 1);
  }

  /** The gateway polls for snipers. */
  report(answer: Answer): void {
    let isFirst = false;
    for (const event of this.#reports.take(answer)) {
      isFirst = this.state.takeSniper(event) || isFirst;
      this.fold.take(event);
    }
    if (isFirst) this.state.settlePair("pair");
  }

  #tell(status: FeedStatus): void {
    this.state.takeStatus(status);
    this.fold.take(Object.freeze(status));
  }

  /** All is well for long enough. */
  settle(): void {
    while (!this.#candles.isLive) this.poll(5);
    this.poll(1);
    for (const receiver of this.receivers) {
      receiver.connect(this.state);
      while (receiver.read(50_000));
    }
  }
}

const back = fc.nat(6);
const price = fc.integer({ min: 1, max: 4 });
const marketStep: fc.Arbitrary<MarketStep> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant("next"), gap: fc.integer({ min: 1, max: 3 }), price }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("late"), back, price }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("trade"), back, price }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("advance"), back }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("remove"), back }) },
) as fc.Arbitrary<MarketStep>;

type Step =
  | { do: "trade"; steps: MarketStep[] }
  | { do: "poll"; count: number }
  | { do: "report"; answer: Answer }
  | { do: "connect" | "disconnect"; receiver: number }
  | { do: "read"; receiver: number; characters: number }
  | { do: "restart"; history: number };

const RECEIVERS = 3;
const receiver = fc.nat(RECEIVERS - 1);
const step = (restarts: number): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant("trade"), steps: fc.array(marketStep, { maxLength: 6 }) }),
    },
    { weight: 8, arbitrary: fc.record({ do: fc.constant("poll"), count: fc.integer({ min: 1, max: 8 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("report"), answer: sniperAnswer }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("connect"), receiver }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("disconnect"), receiver }) },
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant("read"),
        receiver,
        characters: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 400, max: 20_000 })),
      }),
    },
    { weight: restarts, arbitrary: fc.record({ do: fc.constant("restart"), history: fc.nat(30) }) },
  ) as fc.Arbitrary<Step>;

function run(world: GatewayModel, steps: readonly Step[]): void {
  for (const step of steps) {
    switch (step.do) {
      case "trade":
        for (const one of step.steps) world.market.step(one);
        break;
      case "poll":
        world.poll(step.count);
        break;
      case "report":
        world.report(step.answer);
        break;
      case "connect":
        world.receivers[step.receiver]!.connect(world.state);
        break;
      case "disconnect":
        world.receivers[step.receiver]!.disconnect();
        break;
      case "read":
        world.receivers[step.receiver]!.read(step.characters);
        break;
      case "restart":
        world.start(step.history);
        break;
    }
  }
  world.settle();
}

const buffer = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 }), fc.constant(1_000));

describe("a receiver, however slowly it reads and whenever it is cut off", () => {
  it("ends up with what the streams of its channel have told", () => {
    fc.assert(
      fc.property(buffer, fc.array(step(0), { maxLength: 60 }), (buffer, steps) => {
        const world = new GatewayModel({ buffer, keep: 1_000 }, RECEIVERS);
        run(world, steps);
        for (const { fold } of world.receivers) {
          expect(fold.standing()).toEqual(world.fold.standing());
          expect(fold.report).toEqual(world.fold.report);
          expect(fold.status).toEqual(world.fold.status);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("ends up with that across restarts of the gateway, from where its candles begin", () => {
    fc.assert(
      fc.property(buffer, fc.array(step(2), { maxLength: 60 }), (buffer, steps) => {
        const world = new GatewayModel({ buffer, keep: 1_000 }, RECEIVERS);
        run(world, steps);
        const candles = world.fold.standing();
        const from = candles[0]?.candle.timestamp;
        for (const { fold } of world.receivers) {
          if (from !== undefined) {
            expect(fold.standing(from).map(({ candle }) => candle)).toEqual(
              candles.map(({ candle }) => candle),
            );
          }
          if (world.fold.report.result.length > 0) expect(fold.report).toEqual(world.fold.report);
          expect(fold.status).toEqual(world.fold.status);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("ends up with the candles that the channel keeps", () => {
    const keep = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(buffer, keep, fc.array(step(1), { maxLength: 60 }), (buffer, keep, steps) => {
        const world = new GatewayModel({ buffer, keep }, RECEIVERS);
        run(world, steps);
        const kept = world.kept();
        const from = kept[0]?.candle.timestamp;
        if (from === undefined) return;
        for (const { fold } of world.receivers) {
          expect(fold.standing(from).map(({ candle }) => candle)).toEqual(kept.map(({ candle }) => candle));
        }
      }),
      { numRuns: 300 },
    );
  });
});
