import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnyTimeframe, TIMEFRAMES, type Timeframe, type WeekStart } from "../src/contract/model.js";
import { InvalidInputError } from "../src/errors.js";
import { intervalOf, intervalsOf, nests, servedTimeframe } from "../src/timeframe.js";

const DAY = 86_400_000;
const YEAR_0 = Date.UTC(-1, 11, 31) + DAY;
const YEAR_100 = Date.UTC(100, 0, 1);
const YEAR_275000 = Date.UTC(275_000, 0, 1);

/** Any instant from 1970 to the year 275000, with a liking for our time, leap days and the edges of years. */
const instant = fc.oneof(
  fc.integer({ min: 0, max: YEAR_275000 }),
  fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
  fc
    .tuple(
      fc.oneof(fc.integer({ min: 1970, max: 275_000 }), fc.constantFrom(1972, 2000, 2024, 2100, 2400)),
      fc.constantFrom([1, 28], [1, 29], [2, 1], [0, 1], [11, 31]),
      fc.oneof(fc.constantFrom(0, 1, DAY - 1), fc.integer({ min: 0, max: DAY - 1 })),
    )
    .map(([year, [month, day], rest]) => Date.UTC(year, month!, day!) + rest),
);
const steps = fc.integer({ min: -1_000, max: 1_000 });

const CASES: [AnyTimeframe, WeekStart][] = [
  ...TIMEFRAMES.map((timeframe): [AnyTimeframe, WeekStart] => [timeframe, "monday"]),
  ["1w", "thursday"],
  ...(
    ["15s", "90s", "3456s", "15min", "2h", "2d", "7d", "365d", "2w", "52w", "2M", "3M", "4M", "6M"] as const
  ).map((timeframe): [AnyTimeframe, WeekStart] => [timeframe, "monday"]),
  ["2w", "thursday"],
];

describe.each(CASES)("the intervals of %s (weeks from %s)", (timeframe, weekStart) => {
  const { start, end, shift, count, shortest, longest } = intervalsOf(timeframe, weekStart);

  it("hold every instant exactly once", () => {
    fc.assert(
      fc.property(instant, (at) => {
        expect(start(at)).toBeLessThanOrEqual(at);
        expect(end(at)).toBeGreaterThan(at);
        expect(start(start(at))).toBe(start(at));
        expect(start(end(at))).toBe(end(at));
        expect(start(end(at) - 1)).toBe(start(at));
        expect(end(at) - start(at)).toBeGreaterThanOrEqual(shortest);
        expect(end(at) - start(at)).toBeLessThanOrEqual(longest);
      }),
    );
  });

  it("shift there and back, one step to the end of each", () => {
    fc.assert(
      fc.property(instant, steps, steps, (at, n, m) => {
        const from = start(at);
        expect(shift(from, 0)).toBe(from);
        expect(shift(from, 1)).toBe(end(at));
        expect(start(shift(from, n))).toBe(shift(from, n));
        expect(shift(shift(from, n), -n)).toBe(from);
        expect(shift(shift(from, n), m)).toBe(shift(from, n + m));
      }),
    );
  });

  it("are counted by their starts in [from, to)", () => {
    fc.assert(
      fc.property(instant, fc.nat(1_000), (at, n) => {
        const from = start(at);
        expect(count(from, shift(from, n))).toBe(n);
        expect(count(from, from + 1)).toBe(1);
        expect(count(from + 1, end(at))).toBe(0);
        expect(count(from + 1, end(at) + 1)).toBe(1);
        expect(Object.is(count(at, at), 0)).toBe(true);
        expect(Object.is(count(at + 1, at), 0)).toBe(true);
      }),
    );
  });

  it("are counted the same in one go and in parts", () => {
    fc.assert(
      fc.property(fc.tuple(instant, instant, instant), (three) => {
        const [from, middle, to] = three.sort((a, b) => a - b) as [number, number, number];
        expect(count(from, middle) + count(middle, to)).toBe(count(from, to));
      }),
    );
  });
});

describe("the intervals of a fixed length", () => {
  it.each<[Timeframe, number]>([
    ["1s", 1_000],
    ["10s", 10_000],
    ["30s", 30_000],
    ["1min", 60_000],
    ["5min", 300_000],
    ["10min", 600_000],
    ["30min", 1_800_000],
    ["1h", 3_600_000],
    ["4h", 14_400_000],
    ["12h", 43_200_000],
    ["1d", 86_400_000],
    ["1w", 604_800_000],
  ])("%s is %i ms", (timeframe, length) => {
    const { end, start, shortest, longest } = intervalsOf(timeframe);
    expect([shortest, longest]).toEqual([length, length]);
    fc.assert(
      fc.property(instant, (at) => {
        expect(end(at) - start(at)).toBe(length);
      }),
    );
  });
});

describe("weeks", () => {
  it.each([
    ["monday", 1],
    ["thursday", 4],
  ] as const)("from %s begin there at 00:00 UTC", (weekStart, weekday) => {
    const { start } = intervalsOf("1w", weekStart);
    fc.assert(
      fc.property(instant, (at) => {
        const date = new Date(start(at));
        expect(date.getUTCDay()).toBe(weekday);
        expect(start(at) % DAY === 0).toBe(true);
        expect(at - start(at)).toBeLessThan(7 * DAY);
      }),
    );
  });

  it("begin on Monday where nothing is said", () => {
    expect(intervalsOf("1w").start(Date.UTC(2024, 0, 7, 23))).toBe(Date.UTC(2024, 0, 1));
  });

  it("of the epoch began before it where it was in their middle", () => {
    expect(intervalsOf("1w", "monday").start(0)).toBe(-3 * DAY);
    expect(intervalsOf("1w", "thursday").start(0)).toBe(0);
  });
});

describe("months", () => {
  const { start, end, shift, count, shortest, longest } = intervalsOf("1M");
  /** By the calendar that Date writes, not by its arithmetic: the year and the month of an instant. */
  const written = (at: number) => {
    const [, year, month] = /^([+-]?\d+)-(\d\d)/.exec(new Date(at).toISOString())!;
    return { year: Number(year), month: Number(month) };
  };
  const write = (year: number, month: number) => {
    const long = year > 9_999 ? `+${String(year).padStart(6, "0")}` : String(year).padStart(4, "0");
    return Date.parse(`${long}-${String(month).padStart(2, "0")}-01T00:00:00.000Z`);
  };
  const anyInstant = fc.oneof(instant, fc.integer({ min: YEAR_0, max: YEAR_100 }));

  it("begin on their first day and end on the next one's", () => {
    fc.assert(
      fc.property(anyInstant, (at) => {
        const { year, month } = written(at);
        expect(start(at)).toBe(write(year, month));
        expect(end(at)).toBe(month === 12 ? write(year + 1, 1) : write(year, month + 1));
      }),
    );
  });

  it("shift by twelve to the same month of the next year", () => {
    fc.assert(
      fc.property(anyInstant, fc.integer({ min: 0, max: 100 }), (at, years) => {
        const { year, month } = written(at);
        expect(shift(start(at), 12 * years)).toBe(write(year + years, month));
      }),
    );
  });

  it("number twelve in every year", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 274_999 }), (year) => {
        expect(count(write(year, 1), write(year + 1, 1))).toBe(12);
      }),
    );
  });

  it("have the days that the calendar gives them", () => {
    const days = (year: number) =>
      Array.from({ length: 12 }, (_, month) => {
        const first = write(year, month + 1);
        return (end(first) - start(first)) / DAY;
      });
    const common = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    const leap = common.with(1, 29);
    for (const year of [1970, 2023, 2100, 2200, 99, 1]) expect(days(year), String(year)).toEqual(common);
    for (const year of [1972, 2000, 2024, 2400, 96, 0]) expect(days(year), String(year)).toEqual(leap);
    expect([shortest, longest]).toEqual([28 * DAY, 31 * DAY]);
  });
});

describe("a coarser interval", () => {
  const coarser: [Timeframe, Timeframe][] = TIMEFRAMES.flatMap((fine, at) =>
    TIMEFRAMES.slice(at + 1)
      .filter((coarse) => !(fine === "1w" && coarse === "1M"))
      .map((coarse): [Timeframe, Timeframe] => [fine, coarse]),
  );

  it.each(coarser)("of %s in %s begins and ends with a finer one", (fine, coarse) => {
    for (const weekStart of ["monday", "thursday"] as const) {
      const inner = intervalsOf(fine, weekStart);
      const outer = intervalsOf(coarse, weekStart);
      fc.assert(
        fc.property(instant, (at) => {
          expect(inner.start(outer.start(at))).toBe(outer.start(at));
          expect(inner.start(outer.end(at))).toBe(outer.end(at));
          expect(outer.start(inner.start(at))).toBe(outer.start(at));
        }),
        { numRuns: 30 },
      );
    }
  });

  it("of a month does not begin with a week, save where the calendar has it so", () => {
    const { start } = intervalsOf("1w");
    expect(start(Date.UTC(2024, 1, 1))).not.toBe(Date.UTC(2024, 1, 1));
    expect(start(Date.UTC(2024, 0, 1))).toBe(Date.UTC(2024, 0, 1));
  });
});

describe("intervalOf", () => {
  it.each([
    ["1h", undefined, "2024-02-10T12:00:00Z", "2024-02-10T13:00:00Z"],
    ["1w", undefined, "2024-02-05T00:00:00Z", "2024-02-12T00:00:00Z"],
    ["1w", "thursday", "2024-02-08T00:00:00Z", "2024-02-15T00:00:00Z"],
    ["1M", undefined, "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"],
  ] as const)("%s, %s: holds the instant", (timeframe, weekStart, start, end) => {
    const options = weekStart === undefined ? {} : { weekStart };
    const expected = { start: Date.parse(start), end: Date.parse(end) };
    expect(intervalOf(timeframe, Date.parse("2024-02-10T12:34:56Z"), options)).toEqual(expected);
  });

  it.each([
    ["timeframe", () => intervalOf("7h" as Timeframe, 0)],
    ["instant", () => intervalOf("1h", Number.NaN)],
    ["weekStart", () => intervalOf("1w", 0, { weekStart: "sunday" as WeekStart })],
  ])("refuses a wrong %s", (parameter, call) => {
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter }));
  });
});

describe("a timeframe", () => {
  it.each([
    ["60min", 'is "60min": write 1h'],
    ["60s", "write 1min"],
    ["24h", "write 1d"],
    ["7min", "7min does not nest in a day"],
    ["5M", "5M does not nest in a year"],
    ["15m", 'did you mean "15min"?'],
    ["1m", 'did you mean "1min"?'],
    ["4H", 'did you mean "4h"?'],
    ["3mo", 'did you mean "3M"?'],
    ["12M", "or 6M"],
    ["0min", "is"],
    ["1.5min", "is"],
    ["-5min", "is"],
    ["366d", "1d to 365d"],
    ["53w", "1w to 52w"],
    ["", "is"],
    [undefined, "is undefined"],
  ])("is not %s: %s", (timeframe, message) => {
    const call = () => intervalOf(timeframe as AnyTimeframe, 0);
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(message);
    expect(call).toThrow("15min");
  });

  it("is refused by the types where it is no whole number of units", () => {
    // @ts-expect-error A part of a minute.
    expect(() => intervalOf("1.5min", 0)).toThrow();
    // @ts-expect-error Less than nothing.
    expect(() => intervalOf("-5min", 0)).toThrow();
    // @ts-expect-error Nothing.
    expect(() => intervalOf("0min", 0)).toThrow();
    // @ts-expect-error An hour has one name.
    expect(() => intervalOf("60min", 0)).toThrow();
    // @ts-expect-error It does not nest in a day.
    expect(() => intervalOf("7min", 0)).toThrow();
  });

  it("nests where each interval lies in one of the other, and is made of the longest that does", () => {
    const begin = Date.UTC(2023, 11, 14);
    for (const target of ANY) {
      for (const source of ANY) {
        for (const weekStart of ["monday", "thursday"] as const) {
          const [inner, outer] = [intervalsOf(source, weekStart), intervalsOf(target, weekStart)];
          let isInside = true;
          for (let count = 0, at = inner.start(begin); count < 130; count += 1, at = inner.end(at))
            isInside &&= outer.start(at) === outer.start(inner.end(at) - 1);
          if (nests(source, target, weekStart))
            expect([source, target, isInside]).toEqual([source, target, true]);
          else if (inner.longest * 100 > outer.longest)
            expect([source, target, isInside]).toEqual([source, target, false]);
        }
      }
      const served = servedTimeframe(target);
      expect(nests(served, target)).toBe(true);
      const longer = TIMEFRAMES.slice(TIMEFRAMES.indexOf(served) + 1).filter((one) => nests(one, target));
      expect([target, longer]).toEqual([target, []]);
    }
  });
});

/** Timeframes of every unit. */
const ANY: readonly AnyTimeframe[] = [
  ...TIMEFRAMES,
  ...(["2s", "15s", "20s", "45s", "90s", "2min", "3min", "15min", "20min", "45min", "90min"] as const),
  ...(["2h", "3h", "6h", "8h", "2d", "3d", "7d", "14d", "2w", "4w", "2M", "3M", "4M", "6M"] as const),
];
