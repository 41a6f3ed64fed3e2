import fc from "fast-check";
import { watchCandles, watchFeedStatus } from "pairstream";
import { describe, expect, it } from "vitest";
import { applyCandleEvent, type CandleEvent } from "../../src/candles/event.js";
import { CandleFold } from "../../src/candles/fold.js";
import { dueOf } from "../../src/candles/lateness.js";
import { atOnce, type Stamp } from "../../src/candles/reader-fold.js";
import type { Candle } from "../../src/contract/model.js";
import { CheckedFold } from "../adapters/sse/checked-fold.js";
import { Market, type MarketStep, MarketWatch } from "../adapters/sse/told-market.js";
import { MINUTES, World } from "../world.js";
import { SERIES } from "./minute-candles.js";

/** A fold that is fed with the events of a source, and the reader who gets what it tells. */
class Fed {
  readonly fold: CandleFold;
  readonly reader = new CheckedFold();
  #epoch = 0;
  #order = 0;

  constructor(keep = 1_000, series = SERIES) {
    this.fold = new CandleFold(series, keep, () => 0);
  }

  begin(): void {
    this.#epoch = this.fold.doubt();
  }

  take(event: CandleEvent): readonly CandleEvent[] {
    this.#order += 1;
    return this.told(feed(this.fold, event, [this.#epoch, this.#order]));
  }

  settle(): readonly CandleEvent[] {
    return this.told(this.fold.settle({}, 0));
  }

  told(events: readonly CandleEvent[]): readonly CandleEvent[] {
    for (const event of events) this.reader.take(event);
    return events;
  }
}

function feed(fold: CandleFold, event: CandleEvent, stamp: Stamp): readonly CandleEvent[] {
  const { type, candle, status, revision, live, observedAt } = event;
  const due = dueOf(event, observedAt);
  const seen = {
    candle: Object.freeze(candle),
    status,
    revision,
    due,
    live,
    received: observedAt,
    observedAt,
    stamp,
  };
  const told = type === "removed" ? fold.remove(candle.timestamp, seen) : fold.take(seen);
  return told === undefined ? [] : [told];
}

const back = fc.nat(6);
const price = fc.integer({ min: 1, max: 4 });
const trade: fc.Arbitrary<MarketStep> = fc.oneof(
  fc.record({ type: fc.constant("next"), gap: fc.integer({ min: 1, max: 3 }), price }),
  fc.record({ type: fc.constant("late"), back, price }),
  fc.record({ type: fc.constant("trade"), back, price }),
  fc.record({ type: fc.constant("advance"), back }),
  fc.record({ type: fc.constant("remove"), back }),
) as fc.Arbitrary<MarketStep>;

type Step = { trades: MarketStep[] } | { poll: number } | "restart";
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ trades: fc.array(trade, { maxLength: 6 }) }) },
  { weight: 6, arbitrary: fc.record({ poll: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 1, arbitrary: fc.constant("restart" as const) },
);

/** Plays what happens; `onEvent` gets what the source tells, `onChange` is called after every turn. */
function play(steps: readonly Step[], fed: Fed, onChange = () => {}): MarketWatch {
  const market = new Market();
  let source = new MarketWatch(market, 30);
  fed.begin();
  const poll = (count: number) => {
    for (const event of source.take(count)) fed.take(event);
    if (source.isLive) fed.settle();
    onChange();
  };
  for (const one of steps) {
    if (one === "restart") {
      source = new MarketWatch(market, 30);
      fed.begin();
    } else if ("poll" in one) poll(one.poll);
    else for (const trade of one.trades) market.step(trade);
  }
  while (!source.isLive) poll(10);
  poll(10);
  return source;
}

const rowsOf = (fold: CandleFold) =>
  fold.rows().map(({ candle, status, revision }) => ({ candle, status, revision }));

describe("a fold of candles", () => {
  it("tells what leads from what was told to what the source holds, over restarts of that", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const fed = new Fed();
        play(steps, fed);
        const shown = fed.fold.rows().map(({ candle, status }) => ({ candle, status }));
        expect(fed.reader.standing()).toEqual(shown);
      }),
      { numRuns: 300 },
    );
  });

  it("holds the candles of the market in the end, those that were final and differ included", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const market = new Market();
        const fed = new Fed();
        for (const one of steps) {
          if (typeof one === "object" && "trades" in one) for (const trade of one.trades) market.step(trade);
          else {
            fed.begin();
            const source = new MarketWatch(market, 1_000);
            while (!source.isLive) for (const event of source.take(7)) fed.take(event);
            fed.settle();
            const there = [...market.candles.values()].map(({ candle }) => candle);
            expect(fed.reader.standing().map(({ candle }) => candle)).toEqual(
              there.sort((a, b) => a.timestamp - b.timestamp),
            );
          }
        }
      }),
    );
  });

  it("tells nothing of an echo, and nothing of a word that is older than what it holds", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const told: { event: CandleEvent; stamp: Stamp }[] = [];
        const fold = new CandleFold(SERIES, 1_000, () => 0);
        const market = new Market();
        let source = new MarketWatch(market, 30);
        let epoch = fold.doubt();
        let order = 0;
        for (const one of steps) {
          if (one === "restart") {
            source = new MarketWatch(market, 30);
            epoch = fold.doubt();
          } else if ("trades" in one) for (const trade of one.trades) market.step(trade);
          else {
            for (const event of source.take(one.poll)) {
              order += 1;
              told.push({ event, stamp: [epoch, order] });
              feed(fold, event, [epoch, order]);
            }
          }
        }
        const before = rowsOf(fold);
        const { version } = fold;
        // All again, in another order: what is newest was told already.
        for (const { event, stamp } of [...told].reverse()) expect(feed(fold, event, stamp)).toEqual([]);
        expect(rowsOf(fold)).toEqual(before);
        expect(fold.version).toBe(version);
      }),
      { numRuns: 200 },
    );
  });

  it("gives by `since` what makes any older state the present one, each candle once in a life", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(30), (steps, when) => {
        const fed = new Fed();
        let turns = 0;
        let from: { version: number; candles: Map<number, Candle> } | undefined;
        const note = () => {
          turns += 1;
          if (turns !== when && from !== undefined) return;
          const candles = new Map(fed.fold.rows().map(({ candle }) => [candle.timestamp, candle]));
          from = { version: fed.fold.version, candles };
        };
        play(steps, fed, note);
        const { version, candles } = from!;
        const delta = fed.fold.since(version)!;
        for (const { candle, isRemoved } of delta) {
          if (isRemoved) candles.delete(candle.timestamp);
          else candles.set(candle.timestamp, candle);
        }
        const now = fed.fold.rows().map(({ candle }) => candle);
        expect([...candles.values()].sort((a, b) => a.timestamp - b.timestamp)).toEqual(now);
        const there = delta.filter(({ isRemoved }) => !isRemoved).map(({ candle }) => candle.timestamp);
        expect(new Set(there).size).toBe(there.length);
        expect(delta.every((row) => row.version > version)).toBe(true);
        expect(fed.fold.since(fed.fold.version)).toEqual([]);
        expect(fed.fold.since(fed.fold.version + 1)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it("gives by `since` nothing for a state from before a change that was forgotten", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.nat(12), { maxLength: 40 }),
        (keep, minutes) => {
          const fold = new CandleFold(SERIES, keep, () => 0);
          /** The newest version of each candle. */
          const changed = new Map<number, number>();
          minutes.forEach((minute, at) => {
            const seen = {
              candle: { ...candleOf(minute), close: at },
              status: "open",
              revision: 0,
              due: 0,
              live: true,
            } as const;
            if (fold.take({ ...seen, observedAt: 0, received: 0 })) changed.set(minute, fold.version);
          });
          const held = new Set(fold.rows().map(({ candle }) => candle.timestamp / 60_000));
          const lost = [...changed].flatMap(([minute, version]) => (held.has(minute) ? [] : [version]));
          for (let version = 0; version <= fold.version; version += 1)
            expect(fold.since(version) === undefined).toBe(lost.some((one) => one > version));
        },
      ),
    );
  });

  it("takes of what is told at once only the newest close for live, and leaves all else as it is told", () => {
    const word = fc.record({
      minute: fc.nat(8),
      status: fc.constantFrom("open", "closed", "final"),
      isRemoved: fc.boolean(),
      live: fc.boolean(),
      late: fc.nat(600_000),
    });
    const words = fc
      .uniqueArray(word, { selector: ({ minute }) => minute })
      .map((told) => told.sort((a, b) => a.minute - b.minute));
    fc.assert(
      fc.property(words, words, fc.option(fc.nat(5_000), { nil: undefined }), (before, told, settle) => {
        const fold = new CandleFold(SERIES, 100, () => 0);
        const seen = ({ minute, late, ...rest }: (typeof told)[number]) => ({
          ...{ ...rest, candle: candleOf(minute), due: (minute + 1) * 60_000 + late },
          ...{ revision: 0, observedAt: 0, received: 0 },
        });
        for (const one of before) fold.take(seen(one));
        const closed = new Set(
          fold.rows().flatMap(({ candle, status }) => (status === "open" ? [] : [candle.timestamp])),
        );
        const asked = told.map(seen);
        const isClose = ({ candle, status, isRemoved }: (typeof asked)[number]) =>
          !isRemoved && status !== "open" && !closed.has(candle.timestamp);
        const newest = asked.filter(isClose).at(-1);
        atOnce(fold, asked, settle).forEach((one, at) => {
          const given = asked[at]!;
          if (!isClose(given)) expect(one).toEqual(given);
          else {
            const due = Math.min(given.due, given.candle.timestamp + 60_000 + (settle ?? Infinity));
            expect(one).toEqual({ ...given, due, live: given.live && given === newest });
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it("removes what a source that began anew has not told, once that is asked for, and no later than that", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(20), { minLength: 1 }),
        fc.uniqueArray(fc.nat(20)),
        (before, after) => {
          const fed = new Fed();
          const tell = (minutes: readonly number[]) => {
            const market = new Market();
            for (const minute of [...minutes].sort((a, b) => a - b)) {
              market.candles.set(minute, { candle: candleOf(minute), status: "closed" });
            }
            return new MarketWatch(market, 30).take(100).flatMap((event) => fed.take(event));
          };
          fed.begin();
          tell(before);
          expect(fed.settle()).toEqual([]);
          fed.begin();
          expect(tell(after).every(({ type }) => type === "new")).toBe(true);
          const gone = fed.settle().map(({ type, candle }) => [type, candle.timestamp]);
          const expected = before.filter((minute) => !after.includes(minute)).sort((a, b) => a - b);
          expect(gone).toEqual(expected.map((minute) => ["removed", minute * 60_000]));
          expect(fed.settle()).toEqual([]);
        },
      ),
    );
  });

  it("holds so many of the newest, and takes older ones again only where it is widened", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.nat(40), { minLength: 1 }), (keep, minutes) => {
        const fed = new Fed(keep);
        fed.begin();
        for (const minute of minutes) fed.take(flat(minute));
        const held = fed.fold.rows().map(({ candle }) => candle.timestamp);
        const { after } = fed.fold;
        expect(held.length).toBeLessThanOrEqual(keep);
        expect(held.every((timestamp) => timestamp > after)).toBe(true);
        if (after === -Infinity) return;
        expect(fed.take(flat(after / 60_000))).toEqual([]);
        fed.fold.widen(100);
        expect(feed(fed.fold, flat(after / 60_000), [9, 0])).toHaveLength(1);
      }),
    );
  });
});

const candleOf = (minute: number): Candle =>
  Object.freeze({ timestamp: minute * 60_000, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 });

const flat = (minute: number): CandleEvent => ({
  type: "new",
  candle: candleOf(minute),
  status: "closed",
  revision: 0,
  live: false,
  lateBy: 0,
  observedAt: 1,
  series: SERIES,
});

describe("a fold of the engine's own events", () => {
  it("holds what a subscriber of the client holds, over streams that begin anew, swaps that come late, and forks", async () => {
    const MINUTE = 60_000;
    const START = Date.parse("2024-01-05T12:00:10Z");
    const late = fc.record({
      after: fc.integer({ min: 0, max: 12 * MINUTE }),
      late: fc.integer({ min: 0, max: 6 * MINUTE }),
      price: fc.integer({ min: 50, max: 200 }),
      isFork: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(late, { maxLength: 12 }),
        fc.array(fc.integer({ min: MINUTE, max: 10 * MINUTE }), { maxLength: 3 }),
        async (changes, restarts) => {
          const world = new World({ start: START, createdAt: START - 60 * MINUTE, hasDate: true });
          world.swapsEvery(20_000, START - 60 * MINUTE, START + 14 * MINUTE);
          for (const { after, late, price, isFork } of changes) {
            world.clock.schedule(() => {
              if (isFork) world.swaps.splice(world.swaps.length >> 1, 1);
              else world.swap(START + after - late, price);
            }, after);
          }
          const fed = new Fed(1_000, MINUTES);
          const since = START - 20 * MINUTE;
          let stop = () => {};
          let held = new Map<number, Candle>();
          const begin = () => {
            stop();
            held = new Map();
            // Each time another client: it knows nothing of what the last one has told.
            const client = world.another();
            fed.begin();
            const subscription = watchCandles(client, { ...MINUTES, since }).subscribe((event) => {
              applyCandleEvent(held, event);
              fed.take(event);
            });
            subscription.add(
              watchFeedStatus(client, { ...MINUTES, since }).subscribe(({ state }) => {
                if (state === "live") fed.settle();
              }),
            );
            stop = () => subscription.unsubscribe();
          };
          begin();
          for (const after of restarts) world.clock.schedule(begin, after);
          await world.clock.advanceBy(15 * MINUTE);
          stop();
          const expected = [...held.values()].sort((a, b) => a.timestamp - b.timestamp);
          expect(fed.fold.rows().map(({ candle }) => candle)).toEqual(expected);
          expect(fed.reader.standing().map(({ candle }) => candle)).toEqual(expected);
          expect(expected.length).toBeGreaterThan(20);
        },
      ),
      { numRuns: 25 },
    );
  });
});
