import fc from "fast-check";
import { asyncScheduler, map, merge, type SchedulerLike, take } from "rxjs";
import { describe, expect, it } from "vitest";
import type { Candle, Series, Timeframe, WeekStart } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { closes } from "../../src/operators/closes.js";
import { resample } from "../../src/operators/resample.js";
import { replayCandles } from "../../src/replay/replay-candles.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";
import { intervalsOf } from "../../src/timeframe.js";
import { BentClock } from "../bent-clock.js";
import { MINUTE, minuteCandle, SERIES } from "../candles/minute-candles.js";
import { marbles } from "../operators/manners.js";
import { collect, counted, later, minutesOf } from "./candle-sources.js";

const SECONDS: Series = { ...SERIES, timeframe: "1s" };
const DAY = 1_440 * MINUTE;

const second = (at: number, price = 1): Candle => ({ ...minuteCandle(0, price), timestamp: at * 1_000 });

/** Ascending minutes with gaps. */
const histories: fc.Arbitrary<Candle[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 9 })), { maxLength: 30 })
  .map((steps) => {
    let at = 0;
    return steps.map(([step, price]) => {
      at += step;
      return minuteCandle(at, price);
    });
  });

describe("replayCandles", () => {
  it("makes one final event of a candle, observed at the end of its interval, frozen", () => {
    const given = { ...minuteCandle(5, 3) };
    const { events, hasCompleted } = collect(replayCandles([given], SERIES));
    expect(events).toEqual([
      {
        type: "new",
        candle: minuteCandle(5, 3),
        status: "final",
        revision: 0,
        live: true,
        lateBy: 0,
        observedAt: 6 * MINUTE,
        series: SERIES,
      },
    ]);
    expect(hasCompleted).toBe(true);
    expect([events[0], events[0]!.candle, events[0]!.series].every(Object.isFrozen)).toBe(true);
    expect(Object.isFrozen(given)).toBe(false);
  });

  it("hands on a frozen candle as it is", () => {
    const given = Object.freeze(minuteCandle(5));
    expect(collect(replayCandles([given], SERIES)).events[0]!.candle).toBe(given);
  });

  it.each([
    ["1M", "2024-02-01", "2024-03-01", undefined],
    ["1w", "2024-01-29", "2024-02-05", undefined],
    ["1w", "2024-02-01", "2024-02-08", "thursday"],
    ["1d", "2024-02-29", "2024-03-01", undefined],
  ] as const)("ends %s of %s at %s", (timeframe, begin, end, weekStart) => {
    const candle = { ...minuteCandle(0), timestamp: Date.parse(begin) };
    const options = weekStart === undefined ? {} : { weekStart };
    const { events } = collect(replayCandles([candle], { ...SERIES, timeframe, ...options }));
    expect(events.map(({ observedAt }) => observedAt)).toEqual([Date.parse(end)]);
  });

  it("begins anew for each subscriber", () => {
    const events = replayCandles([minuteCandle(1), minuteCandle(2)], SERIES);
    expect(collect(events).events).toEqual(collect(events).events);
    expect(collect(events.pipe(take(1))).events).toHaveLength(1);
  });

  it("completes without candles", () => {
    expect(collect(replayCandles([], SERIES))).toEqual({ events: [], error: undefined, hasCompleted: true });
  });

  it("gives the same events from every kind of source, at every pace", async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.boolean(), async (candles, fillGaps) => {
        const options = { ...SERIES, fillGaps };
        const clock = new VirtualClock();
        const expected = collect(replayCandles(candles, options));
        const others = [
          collect(replayCandles(later(candles), options)),
          collect(replayCandles(candles, { ...options, scheduler: clock })),
          collect(replayCandles(later(candles), { ...options, scheduler: clock })),
          collect(replayCandles(new Set(candles), { ...options, scheduler: clock, speed: 0.7 })),
        ];
        await clock.advanceTo(DAY);
        for (const other of others) expect(other).toEqual(expected);
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  describe("on a scheduler", () => {
    // In a marble test time stands at 0 in the beginning, for this scheduler too.
    const paced = { ...SECONDS, scheduler: asyncScheduler };

    it("emits each candle at the end of its interval, and then completes", () => {
      marbles().run(({ expectObservable }) => {
        const events = replayCandles([second(0), second(1), second(4)], paced);
        const times = events.pipe(map(({ observedAt }) => String(observedAt / 1_000)));
        expectObservable(times).toBe("1s 1 999ms 2 2999ms (5|)");
      });
    });

    it("is left between two candles, with its source", () => {
      const { candles, calls } = counted();
      marbles().run(({ expectObservable }) => {
        const events = replayCandles(candles, { ...SERIES, scheduler: asyncScheduler });
        expectObservable(events.pipe(map(() => "c")), "^ 200s !").toBe("120s c 59999ms c");
      });
      expect(calls).toEqual({ next: 3, return: 1 });
    });

    it("fails when the candle that is wrong is read, after those before it", () => {
      marbles().run(({ expectObservable }) => {
        const events = replayCandles([second(0), second(0)], paced);
        const error = expect.objectContaining({ parameter: "timestamp of source[1]" });
        expectObservable(events.pipe(map(() => "c"))).toBe("1s (c#)", undefined, error);
      });
    });

    it("at a speed takes the clock of machines, where no other is given", () => {
      marbles().run(({ expectObservable }) => {
        const events = replayCandles([second(3), second(4), second(6)], { ...SECONDS, speed: 0.5 });
        expectObservable(events.pipe(map(() => "c"))).toBe("c 1999ms c 3999ms (c|)");
      });
    });

    it("emits at once what is past, but not while it is subscribed to", async () => {
      const clock = new VirtualClock(3 * MINUTE);
      const candles = [0, 1, 2, 3].map((at) => minuteCandle(at));
      const seen = collect(replayCandles(candles, { ...SERIES, scheduler: clock }));
      expect(seen.events).toEqual([]);
      await clock.advanceBy(0);
      expect(minutesOf(seen.events)).toEqual([0, 1, 2]);
      await clock.advanceBy(MINUTE);
      expect(minutesOf(seen.events)).toEqual([0, 1, 2, 3]);
    });

    it("interleaves several series, of async sources too", async () => {
      const begin = Date.UTC(2024, 0, 1);
      const candlesOf = (timeframe: Timeframe, count: number) => {
        const { shift } = intervalsOf(timeframe);
        return Array.from({ length: count }, (_, at) => ({
          ...minuteCandle(0),
          timestamp: shift(begin, at),
        }));
      };
      const clock = new VirtualClock();
      const options = { ...SERIES, scheduler: clock };
      const order: (readonly [minute: number, timeframe: string])[] = [];
      const delays: number[] = [];
      merge(
        replayCandles(candlesOf("10min", 2), { ...options, timeframe: "10min" }),
        replayCandles(later(candlesOf("5min", 4)), { ...options, timeframe: "5min" }),
        replayCandles(candlesOf("1min", 20), options).pipe(
          resample("10min"),
          closes(),
          map(({ candle }) => eventLike(candle)),
        ),
      ).subscribe(({ observedAt, series }) => {
        delays.push(clock.now() - observedAt);
        order.push([(observedAt - begin) / MINUTE, series.timeframe]);
      });
      await clock.advanceTo(begin + DAY);
      expect(order.map(String).sort()).toEqual(
        ["5,5min", "10,10min", "10,5min", "15,5min", "20,10min", "20,5min", "10,made", "20,made"].sort(),
      );
      expect(delays).toEqual(order.map(() => 0));
      const times = order.map(([minute]) => minute);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(clock.pending).toBe(0);

      function eventLike({ timestamp }: Candle) {
        return { observedAt: timestamp + 10 * MINUTE, series: { timeframe: "made" } };
      }
    });

    it("sets no timer that a machine would fire at once", async () => {
      const clock = new BentClock();
      const candles = [0, 1, 2].map((month) => ({ ...minuteCandle(0), timestamp: Date.UTC(1970, month, 1) }));
      const options = { ...SERIES, timeframe: "1M", scheduler: clock } as const;
      const seen = [
        collect(replayCandles(candles, options)),
        collect(replayCandles(later(candles), options)),
      ];
      await clock.advanceTo(Date.UTC(1970, 3, 1));
      expect(seen.map(({ events }) => events.length)).toEqual([3, 3]);
      expect(Math.max(...clock.delays)).toBe(2 ** 31 - 1);
    });
  });

  describe("at a speed", () => {
    it("counts from the first candle, which comes at once, without drift", async () => {
      const clock = new VirtualClock(1_000_000);
      const begin = Date.UTC(2024, 0, 1) / MINUTE;
      const candles = [0, 1, 3, 700].map((at) => minuteCandle(begin + at));
      const times: number[][] = [[], []];
      for (const [at, source] of [candles, later(candles)].entries()) {
        const events = replayCandles(source, { ...SERIES, scheduler: clock, speed: 60 });
        events.subscribe(() => times[at]!.push(clock.now() - 1_000_000));
      }
      await clock.advanceBy(DAY);
      expect(times).toEqual([
        [0, 1_000, 3_000, 700_000],
        [0, 1_000, 3_000, 700_000],
      ]);
    });
  });

  describe("with fillGaps", () => {
    it("puts flat candles between the first and the last, each at its own time", async () => {
      const clock = new VirtualClock();
      const lines: string[] = [];
      replayCandles([minuteCandle(2, 7), minuteCandle(5, 4)], {
        ...SERIES,
        fillGaps: true,
        scheduler: clock,
      }).subscribe(({ type, status, revision, candle, observedAt }) => {
        const { timestamp, close, volume, swaps } = candle;
        const text = `${type} ${status} ${revision} ${timestamp / MINUTE}: ${close} of ${volume}, ${swaps}`;
        lines.push(`${text}, ${clock.now() - observedAt} ms late`);
      });
      await clock.advanceTo(DAY);
      expect(lines).toEqual([
        "new final 0 2: 7 of 1, 1, 0 ms late",
        "new final 0 3: 7 of 0, 0, 0 ms late",
        "new final 0 4: 7 of 0, 0, 0 ms late",
        "new final 0 5: 4 of 1, 1, 0 ms late",
      ]);
    });

    it("leaves no hole, and the candles as they are", () => {
      fc.assert(
        fc.property(histories, (candles) => {
          const { events } = collect(replayCandles(candles, { ...SERIES, fillGaps: true }));
          const minutes = minutesOf(events);
          expect(minutes).toEqual(minutes.map((_, at) => minutes[0]! + at));
          const real = events.filter(({ candle }) => candle.swaps > 0);
          expect(real).toEqual(collect(replayCandles(candles, SERIES)).events);
          events.forEach(({ candle }, at) => {
            if (candle.swaps > 0) return;
            const { close } = events[at - 1]!.candle;
            expect(candle).toMatchObject({ open: close, high: close, low: close, close, volume: 0 });
          });
          expect(events.every((event) => Object.isFrozen(event) && Object.isFrozen(event.candle))).toBe(true);
        }),
      );
    });

    it("fills a gap of any length as it is asked for", async () => {
      const candles = [minuteCandle(0), minuteCandle(1e9)];
      for (const source of [candles, later(candles)]) {
        const seen = collect(replayCandles(source, { ...SERIES, fillGaps: true }).pipe(take(4)));
        await new VirtualClock().advanceBy(0);
        expect(minutesOf(seen.events)).toEqual([0, 1, 2, 3]);
      }
    });
  });

  it.each([
    ["one twice", minuteCandle(1), "timestamp of source[1]", "timestamps in ascending order, each once"],
    ["an older one", minuteCandle(0), "timestamp of source[1]", "timestamps in ascending order, each once"],
    [
      "one between two intervals",
      { ...minuteCandle(2), timestamp: 120_001 },
      "timestamp of source[1]",
      "start of a 1min",
    ],
    ["a price that is not finite", { ...minuteCandle(2), high: Number.NaN }, "high of source[1]", "finite"],
    ["nothing", undefined, "source[1]", "an object with"],
    ["a number", 7, "source[1]", "an object with"],
  ])("fails at %s, and says where", (_, candle, parameter, allowed) => {
    const { events, error } = collect(
      replayCandles([minuteCandle(1), candle as Candle, minuteCandle(9)], SERIES),
    );
    expect(minutesOf(events)).toEqual([1]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter, allowed: expect.stringContaining(allowed) });
  });

  it("says of a week on another day what to look at", () => {
    const thursday = { ...minuteCandle(0), timestamp: Date.UTC(2024, 0, 4) };
    const { error } = collect(replayCandles([thursday], { ...SERIES, timeframe: "1w" }));
    expect(error).toMatchObject({ allowed: expect.stringContaining("weekStart") });
  });

  it.each([
    ["speed", { speed: 0 }],
    ["speed", { speed: -1 }],
    ["speed", { speed: Number.POSITIVE_INFINITY }],
    ["speed", { speed: "60" as unknown as number }],
    ["scheduler", { scheduler: {} as SchedulerLike }],
    ["scheduler", { scheduler: null as unknown as SchedulerLike }],
    ["fillGaps", { fillGaps: 1 as unknown as boolean }],
    ["weekStart", { weekStart: "sunday" as WeekStart }],
    ["timeframe", { timeframe: "7min" as Timeframe }],
  ])("refuses a bad %s at the call", (parameter, option) => {
    expect(() => replayCandles([], { ...SERIES, ...option })).toThrow(expect.objectContaining({ parameter }));
  });

  it.each([[undefined], [null], ["candles"], [{}], [5]])("refuses the source %s at the call", (source) => {
    const call = () => replayCandles(source as unknown as Candle[], SERIES);
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter: "source" }));
  });
});
