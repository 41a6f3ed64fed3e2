import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import { CandleFeed } from "../../../src/adapters/sse/candle-feed.js";
import { CandleMirror } from "../../../src/adapters/sse/candle-mirror.js";
import { Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import { Outlet, readId } from "../../../src/adapters/sse/outlet.js";
import type { CandleEvent } from "../../../src/candles/event.js";
import { NetworkError } from "../../../src/errors.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { CheckedFold } from "./checked-fold.js";
import { sourceOf } from "./gateway.js";
import { Market, type MarketStep, MarketWatch } from "./told-market.js";

/** A receiver, the network to it, and its subscriber. */
class Receiver {
  readonly fold = new CheckedFold();
  readonly #mirror = new Mirror(new CandleMirror(SERIES));
  /** Where its candles begin. */
  readonly since: number;
  #outlet: Outlet | undefined;
  #parser = this.#newParser();
  #messages: ParsedMessage[] = [];
  #inFlight = "";
  #failures = 0;

  constructor(since: number) {
    this.since = since;
  }

  connect({ feed, name }: GatewayModel): void {
    if (this.#outlet !== undefined) return;
    const resumed = readId(this.#mirror.lastEventId ?? null);
    const viewer = { since: resumed?.start ?? this.since, cameAt: NOW * 60_000, isWaiting: false };
    if (resumed?.channel !== name) feed.want(viewer);
    this.#outlet = new Outlet(feed, { channel: name, heartbeat: 1_000, viewer, resumed });
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
    for (const event of events) this.fold.take(event);
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

/** The minute in which it all happens: some of the receivers ask for further histories than the others. */
const NOW = 400;

/** One subscription of the gateway to its source, which begins where the gateway says. */
interface Subscribed {
  readonly watch: MarketWatch;
  readonly candles: Subject<CandleEvent>;
  readonly status: Subject<FeedStatus>;
}

/** A gateway that can be restarted, its service, and its receivers. */
class GatewayModel {
  readonly market = new Market();
  readonly receivers: Receiver[];
  feed!: CandleFeed;
  name = "";
  #starts = 0;
  #subscribed: Subscribed[] = [];

  constructor(receivers: readonly number[]) {
    this.receivers = receivers.map((minute) => new Receiver(minute * 60_000));
    this.start();
  }

  /** Starts the gateway, in place of the last one. */
  start(): void {
    for (const receiver of this.receivers) receiver.disconnect();
    this.#starts += 1;
    this.name = `channel-${this.#starts}`;
    this.#subscribed = [];
    const source = {
      ...sourceOf({ candles: new Subject(), status: new Subject() }),
      candles: ({ since = 0 }: { since?: unknown }) => {
        const candles = new Subject<CandleEvent>();
        const first = typeof since === "number" ? since / 60_000 : Number.NEGATIVE_INFINITY;
        const watch = new MarketWatch(this.market, 1_000, first);
        this.#subscribed.push({ watch, candles, status: new Subject() });
        return candles;
      },
      status: () => this.#subscribed.at(-1)!.status,
    };
    const scheduler = { now: () => NOW * 60_000, schedule: () => expect.fail("a timer") };
    this.feed = new CandleFeed({ source, options: SERIES, most: 5_000, scheduler, onChange: () => {} });
  }

  /** The gateway polls: a piece of history, or what has changed. */
  poll(count: number): void {
    for (const { watch, candles, status } of this.#subscribed) {
      if (!candles.observed) continue;
      const wasLive = watch.isLive;
      for (const event of watch.take(count)) candles.next(event);
      if (watch.isLive && !wasLive) status.next(Object.freeze({ state: "live", failures: 0 }));
    }
  }

  /** All is well for long enough. */
  settle(): void {
    for (const receiver of this.receivers) receiver.connect(this);
    for (let polls = 0; polls < 100; polls += 1) this.poll(20);
    for (const receiver of this.receivers) while (receiver.read(50_000));
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
  | { do: "connect" | "disconnect"; receiver: number }
  | { do: "read"; receiver: number; characters: number }
  | { do: "restart" };

const RECEIVERS = 3;
const receiver = fc.nat(RECEIVERS - 1);
const step = (restarts: number): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant("trade"), steps: fc.array(marketStep, { maxLength: 6 }) }),
    },
    { weight: 8, arbitrary: fc.record({ do: fc.constant("poll"), count: fc.integer({ min: 1, max: 8 }) }) },
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
    { weight: restarts, arbitrary: fc.record({ do: fc.constant("restart") }) },
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
      case "connect":
        world.receivers[step.receiver]!.connect(world);
        break;
      case "disconnect":
        world.receivers[step.receiver]!.disconnect();
        break;
      case "read":
        world.receivers[step.receiver]!.read(step.characters);
        break;
      case "restart":
        world.start();
        break;
    }
  }
  world.settle();
}

describe("receivers, however slowly they read, whenever they are cut off, and wherever their candles begin", () => {
  it.each([
    ["at one gateway", 0],
    ["over restarts of the gateway, finals that differ after it included", 2],
  ])("end up with what the market has, %s", (_, restarts) => {
    const since = fc.array(fc.constantFrom(0, 150, 250, 355), { minLength: RECEIVERS, maxLength: RECEIVERS });
    fc.assert(
      fc.property(since, fc.array(step(restarts), { maxLength: 60 }), (since, steps) => {
        const world = new GatewayModel(since);
        for (const minute of [0, 160, 260, 360]) {
          world.market.candles.set(minute, { candle: minuteCandle(minute), status: "final" });
        }
        run(world, steps);
        const there = [...world.market.candles.values()].map(({ candle }) => candle);
        there.sort((a, b) => a.timestamp - b.timestamp);
        for (const { fold, since } of world.receivers) {
          const expected = there.filter(({ timestamp }) => timestamp >= since);
          expect(fold.standing().map(({ candle }) => candle)).toEqual(expected);
          expect(fold.status).toEqual({ state: "live", failures: 0 });
        }
      }),
      { numRuns: 300 },
    );
  });
});
