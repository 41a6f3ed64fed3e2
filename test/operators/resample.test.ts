import fc from "fast-check";
import { map, of, Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import {
  type Candle,
  TIMEFRAMES,
  type Timeframe,
  WEEK_STARTS,
  type WeekStart,
} from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { heikinAshi } from "../../src/operators/heikin-ashi.js";
import type { IndicatorEvent } from "../../src/operators/indicator-event.js";
import { resample } from "../../src/operators/resample.js";
import { Resampler } from "../../src/operators/resampler.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { intervalsOf, nests } from "../../src/timeframe.js";
import { minuteCandle, standing } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { average } from "./kernels.js";
import { describeSeriesManners, emitted, failure, reachable } from "./manners.js";
import { Lives, sequences } from "./sequences.js";

const MINUTE = 60_000;

function lineOf({ type, candle, status, revision }: CandleEvent): string {
  const { timestamp, open, high, low, close, volume } = candle;
  const prices = [open, high, low, close].join(" ");
  return `${type} ${timestamp / MINUTE} ${status} r${revision}: ${prices} of ${volume}`;
}

/** One event after the other; gives the lines that each of them causes. */
function watch(timeframe: Timeframe = "5min") {
  const source = new Subject<CandleEvent>();
  const events: CandleEvent[] = [];
  source.pipe(resample(timeframe)).subscribe((event) => events.push(event));
  return (...args: Parameters<typeof eventOf>) => {
    const before = events.length;
    source.next(eventOf(...args));
    return events.slice(before).map(lineOf);
  };
}

const asFinal = (candle: Candle): CandleEvent => ({ ...eventOf("new", 0, "final"), candle });

/** All buckets at once. */
function batch(candles: readonly Candle[], startOf: (timestamp: number) => number): Candle[] {
  const buckets = new Map<number, Candle[]>();
  for (const candle of candles) {
    const start = startOf(candle.timestamp);
    buckets.set(start, [...(buckets.get(start) ?? []), candle]);
  }
  const traded = (parts: Candle[]) =>
    parts.slice(
      Math.max(
        0,
        parts.findIndex(({ swaps }) => swaps > 0),
      ),
    );
  return Array.from(buckets, ([timestamp, all]) => [timestamp, traded(all)] as const).map(
    ([timestamp, parts]) => ({
      timestamp,
      open: parts[0]!.open,
      high: Math.max(...parts.map(({ high }) => high)),
      low: Math.min(...parts.map(({ low }) => low)),
      close: parts.at(-1)!.close,
      volume: parts.reduce((sum, { volume }) => sum + volume, 0),
      swaps: parts.reduce((sum, { swaps }) => sum + swaps, 0),
    }),
  );
}

describe("resample", () => {
  describeSeriesManners(() => resample("1min"));

  it("leads a bucket through its life, with the last interval's candle", () => {
    const see = watch();
    expect(see("new", 10, "open", 3)).toEqual(["new 10 open r0: 3 3 3 3 of 1"]);
    expect(see("updated", 10, "open", 5)).toEqual(["updated 10 open r1: 5 5 5 5 of 1"]);
    expect(see("updated", 10, "closed", 5)).toEqual([]);
    expect(see("new", 12, "final", 2)).toEqual(["updated 10 open r2: 5 5 2 2 of 2"]);
    expect(see("new", 14, "open", 4)).toEqual(["updated 10 open r3: 5 5 2 4 of 3"]);
    expect(see("updated", 14, "closed", 6)).toEqual(["updated 10 closed r4: 5 6 2 6 of 3"]);
    expect(see("new", 15, "open", 7)).toEqual(["new 15 open r0: 7 7 7 7 of 1"]);
    expect(see("updated", 14, "final", 6)).toEqual(["updated 10 final r5: 5 6 2 6 of 3"]);
    expect(see("updated", 15, "closed", 7)).toEqual([]);
  });

  it("closes a bucket whose last intervals hold no candle at the next event of a later one", () => {
    const see = watch();
    see("new", 11, "open", 3);
    expect(see("updated", 11, "closed", 3)).toEqual([]);
    expect(see("new", 17, "open", 4)).toEqual([
      "updated 10 closed r1: 3 3 3 3 of 1",
      "new 15 open r0: 4 4 4 4 of 1",
    ]);
    expect(see("updated", 11, "final", 3)).toEqual([]);
    expect(see("updated", 17, "closed", 4)).toEqual([]);
    expect(see("updated", 17, "final", 4)).toEqual(["updated 10 final r2: 3 3 3 3 of 1"]);
    expect(see("new", 20, "final", 9)).toEqual([
      "updated 15 final r1: 4 4 4 4 of 1",
      "new 20 open r0: 9 9 9 9 of 1",
    ]);
  });

  it("holds a bucket open while one of its candles is", () => {
    const see = watch();
    see("new", 13, "open");
    see("new", 14, "open");
    expect(see("new", 15, "open")).toEqual(["new 15 open r0: 1 1 1 1 of 1"]);
    expect(see("updated", 14, "closed")).toEqual([]);
    expect(see("updated", 13, "closed")).toEqual(["updated 10 closed r2: 1 1 1 1 of 2"]);
  });

  it("ends several buckets, ascending, before the one that ends them", () => {
    const see = watch();
    for (const at of [1, 6, 11]) see("new", at, "closed");
    expect(see("new", 16, "final", 2)).toEqual([
      "updated 0 final r2: 1 1 1 1 of 1",
      "updated 5 final r2: 1 1 1 1 of 1",
      "updated 10 final r1: 1 1 1 1 of 1",
      "new 15 open r0: 2 2 2 2 of 1",
    ]);
  });

  it("carries corrections through, of a closed bucket as closed", () => {
    const see = watch();
    see("new", 13, "closed", 3);
    see("new", 14, "closed", 4);
    see("new", 15, "open", 5);
    expect(see("updated", 13, "closed", 9)).toEqual(["updated 10 closed r2: 9 9 4 4 of 2"]);
    expect(see("new", 12, "open", 1)).toEqual(["updated 10 closed r3: 1 9 1 4 of 3"]);
    expect(see("updated", 15, "open", 6)).toEqual(["updated 15 open r1: 6 6 6 6 of 1"]);
  });

  it("carries removals through, to the last candle, and begins a new life", () => {
    const see = watch();
    see("new", 11, "closed", 3);
    see("new", 12, "closed", 5);
    expect(see("removed", 12, "closed", 5)).toEqual(["updated 10 open r2: 3 3 3 3 of 1"]);
    expect(see("removed", 11, "closed", 3)).toEqual(["removed 10 open r3: 3 3 3 3 of 1"]);
    expect(see("removed", 11, "closed", 3)).toEqual([]);
    expect(see("new", 14, "closed", 8)).toEqual(["new 10 closed r0: 8 8 8 8 of 1"]);
  });

  it("passes over the removal of what it has never seen", () => {
    const see = watch();
    see("new", 1, "closed");
    expect(see("removed", 7, "closed")).toEqual(["updated 0 closed r1: 1 1 1 1 of 1"]);
    expect(see("new", 12, "final")).toEqual([
      "updated 0 final r2: 1 1 1 1 of 1",
      "new 10 open r0: 1 1 1 1 of 1",
    ]);
  });

  it("closes at once a bucket that turns up late", () => {
    const see = watch();
    see("new", 7, "open");
    expect(see("new", 1, "closed")).toEqual(["new 0 closed r0: 1 1 1 1 of 1"]);
    expect(see("new", 2, "open")).toEqual(["updated 0 closed r1: 1 1 1 1 of 2"]);
  });

  it("keeps what is final of a bucket", () => {
    const see = watch();
    see("new", 11, "final", 3);
    see("new", 12, "open", 5);
    expect(see("removed", 12, "open", 5)).toEqual(["updated 10 open r2: 3 3 3 3 of 1"]);
  });

  it("adds up without drift", () => {
    const sized = (volume: number) => ({
      ...eventOf("updated", 1, "open"),
      candle: { ...minuteCandle(1), volume },
    });
    const events = [eventOf("new", 0, "final"), { ...sized(1e18), type: "new" as const }, sized(0.1)];
    expect(emitted(resample("1h"), events).at(-1)!.candle.volume).toBe(1.1);
  });

  it("is of the longer timeframe, and otherwise of the event that it follows from", () => {
    const first = { ...eventOf("new", 11, "closed"), live: false, observedAt: 1, revision: 6 };
    const second = { ...eventOf("new", 15, "open"), observedAt: 2, revision: 3 };
    const events = emitted(resample("5min"), [first, second]);
    expect(events.map(({ live, observedAt, revision }) => [live, observedAt, revision])).toEqual([
      [false, 1, 0],
      [true, 2, 1],
      [true, 2, 0],
    ]);
    for (const { series } of events) expect(series).toEqual({ ...first.series, timeframe: "5min" });
    expect(new Set(events.map(({ series }) => series)).size).toBe(1);
    expect(Object.isFrozen(events[0]!.series)).toBe(true);
  });

  it.each([
    ["1M", "2024-02-10T00:00:00Z", "2024-02-01T00:00:00Z", undefined],
    ["1w", "2024-02-10T00:00:00Z", "2024-02-05T00:00:00Z", undefined],
    ["1w", "2024-02-10T00:00:00Z", "2024-02-08T00:00:00Z", "thursday"],
  ] as const)("goes by the calendar: %s of %s begins at %s", (timeframe, day, begin, weekStart) => {
    const event = eventOf("new", Date.parse(day) / MINUTE, "final");
    const daily = { ...event, series: { ...event.series, timeframe: "1d" as const } };
    const options = weekStart === undefined ? {} : { weekStart };
    expect(emitted(resample(timeframe, options), [daily])).toMatchObject([
      { candle: { timestamp: Date.parse(begin) }, status: "open" },
    ]);
  });

  it("closes a month with its last day", () => {
    const dayEvent = (day: string) => {
      const event = eventOf("new", Date.parse(day) / MINUTE, "final");
      return { ...event, series: { ...event.series, timeframe: "1d" as const } };
    };
    const events = emitted(resample("1M"), [
      dayEvent("2024-02-28"),
      dayEvent("2024-02-29"),
      dayEvent("2024-03-01"),
    ]);
    expect(events.map(({ status }) => status)).toEqual(["open", "final", "open"]);
  });

  describe("over random markets", () => {
    const TARGETS = ["1min", "5min", "10min", "1h"] as const;

    it("after every event equals a batch over the candles as they stand, in lives without echo", () => {
      fc.assert(
        fc.property(sequences, fc.constantFrom(...TARGETS), (events, timeframe) => {
          const resampler = new Resampler(timeframe, "monday");
          const intervals = intervalsOf(timeframe);
          const lives = new Lives();
          events.forEach((event, index) => {
            lives.take(event, resampler.apply(event));
            const last = [...lives.last.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
            const candles = standing(events.slice(0, index + 1));
            expect(last.map(({ candle }) => candle)).toEqual(batch(candles, intervals.start));
          });
        }),
        { numRuns: 300 },
      );
    });

    it("closes nothing before its end or while a part is open, and everything that is whole", () => {
      fc.assert(
        fc.property(sequences, fc.constantFrom(...TARGETS), (events, timeframe) => {
          const resampler = new Resampler(timeframe, "monday");
          const intervals = intervalsOf(timeframe);
          const parts = new Map<number, CandleEvent>();
          const buckets = new Map<number, CandleEvent>();
          let settled = Number.NEGATIVE_INFINITY;
          for (const event of events) {
            const { timestamp } = event.candle;
            if (event.type === "removed") parts.delete(timestamp);
            else parts.set(timestamp, event);
            if (event.status === "final") settled = timestamp;
            expect(buckets.get(intervals.start(timestamp))?.status).not.toBe("final");
            for (const made of resampler.apply(event)) {
              const { timestamp: start } = made.candle;
              const isAdvance =
                made.type !== "removed" && made.status !== (buckets.get(start)?.status ?? "open");
              if (made.type === "removed") buckets.delete(start);
              else buckets.set(start, made);
              if (!isAdvance) continue;
              const inside = [...parts.values()].filter(
                ({ candle }) => intervals.start(candle.timestamp) === start,
              );
              expect(made.observedAt).toBeGreaterThanOrEqual(intervals.end(start));
              // What is older than a final one is not heard of again, whatever it was.
              const running = inside.filter(
                ({ status, candle }) => status === "open" && candle.timestamp > settled,
              );
              expect(running).toEqual([]);
            }
          }
          for (const [start, { status }] of buckets) {
            const last = parts.get(intervals.end(start) - MINUTE);
            const inside = [...parts.values()].filter(
              ({ candle }) => intervals.start(candle.timestamp) === start,
            );
            if (last?.status === "final") expect(status).toBe("final");
            if (last !== undefined && inside.every((part) => part.status !== "open"))
              expect(status).not.toBe("open");
          }
        }),
        { numRuns: 300 },
      );
    });

    it("gives a series like any other: what follows on it equals a batch too", () => {
      fc.assert(
        fc.property(sequences, (events) => {
          const made: IndicatorEvent[] = [];
          const values: unknown[] = [];
          of(...events)
            .pipe(
              resample("5min"),
              heikinAshi(),
              resample("10min"),
              withIndicators({ average: average(0.4) }),
            )
            .subscribe((event) => made.push(event));
          of(...standing(made))
            .pipe(map(asFinal), withIndicators({ average: average(0.4) }))
            .subscribe((event) => values.push(event.values));
          const last = new Map(made.map((event) => [event.candle.timestamp, event]));
          const kept = standing(made).map(({ timestamp }) => last.get(timestamp)!.values);
          expect(kept).toEqual(values);
        }),
      );
    });
  });

  it.each([
    ["many buckets", "5min", 1],
    ["buckets without a last candle", "5min", 3],
    ["a long one", "1M", 1],
  ] as const)("holds what is not final of %s, and nothing else", (_, timeframe, step) => {
    const resampler = new Resampler(timeframe, "monday");
    const sizes: number[] = [];
    for (let at = 0; at < 3_000; at += step) {
      if (at >= 4 * step) resampler.apply(eventOf("updated", at - 4 * step, "final", 2));
      if (at >= step) resampler.apply(eventOf("updated", at - step, "closed", 2));
      resampler.apply(eventOf("new", at, "open"));
      sizes.push(reachable(resampler));
    }
    expect(Math.max(...sizes.slice(100))).toBeLessThanOrEqual(Math.max(...sizes.slice(0, 100)));
  });
});

describe("what nests", () => {
  /** Some intervals of each timeframe, from a day on which nothing but days begins. */
  const begin = Date.UTC(2023, 11, 14);

  it.each(WEEK_STARTS)("is what the calendar says, with weeks from %s", (weekStart) => {
    for (const source of TIMEFRAMES) {
      for (const target of TIMEFRAMES) {
        const [inner, outer] = [intervalsOf(source, weekStart), intervalsOf(target, weekStart)];
        let isInside = true;
        for (let count = 0, at = inner.start(begin); count < 100; count += 1, at = inner.end(at)) {
          isInside &&= outer.start(at) === outer.start(inner.end(at) - 1);
        }
        expect([source, target, nests(source, target)]).toEqual([source, target, isInside]);
      }
    }
  });

  it.each([
    [
      "1min",
      "1s",
      "1min, 5min, 10min, 30min, 1h, 4h, 12h, 1d, 1w, 1M, or another one that is made of whole 1min intervals",
    ],
    ["1w", "1M", "1w, or another one that is made of whole 1w intervals"],
    ["1M", "1d", "1M, or another one that is made of whole 1M intervals"],
  ] as const)("is said at the first event where it does not: %s in %s", (source, target, allowed) => {
    const event = eventOf("new", Date.UTC(2024, 0, 1) / MINUTE);
    const error = failure(resample(target), [{ ...event, series: { ...event.series, timeframe: source } }]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter: "timeframe", allowed });
  });

  it("is no week that begins on another day", () => {
    const event = eventOf("new", Date.UTC(2024, 0, 4) / MINUTE, "final");
    const thursday = { ...event, series: { ...event.series, timeframe: "1w" as const } };
    expect(failure(resample("1w"), [thursday])).toMatchObject({ parameter: "weekStart" });
    expect(emitted(resample("1w", { weekStart: "thursday" }), [thursday])).toHaveLength(1);
  });

  it.each([
    ["timeframe", () => resample("7min" as Timeframe)],
    ["timeframe", () => resample(undefined as unknown as Timeframe)],
    ["weekStart", () => resample("1w", { weekStart: "sunday" as WeekStart })],
  ])("refuses another %s at the call", (parameter, call) => {
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter }));
  });
});
