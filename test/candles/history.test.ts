import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CandleRead } from "../../src/candles/book.js";
import { readLast, readSlices } from "../../src/candles/history.js";
import { FULL_PAGE } from "../../src/candles/reader.js";
import { ContractError } from "../../src/errors.js";
import { archive, type Habits, NOW, rowOf } from "./archive.js";

const MINUTE = 60_000;
const options = { priority: "history", signal: new AbortController().signal } as const;

/** Starts of minutes, `count` of them every `step`, from minute `first` after an hour on. */
const START = Date.UTC(2024, 0, 1);
const run = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, index) => START + (first + index * step) * MINUTE);
const minute = (index: number) => START + index * MINUTE;

/** Reads all slices of `[from, to)` and checks that they join. */
async function slicesOf(habits: Habits, from: number, to: number, shop = archive(habits)) {
  const reads: CandleRead[] = [];
  for await (const read of readSlices(shop.reader(), shop.intervals, from, () => to, options)) {
    expect(read.from).toBe(reads.at(-1)?.to ?? from);
    reads.push(read);
  }
  expect(reads.at(-1)?.to).toBe(to);
  return { ...shop, reads, got: timesOf(reads) };
}

const timesOf = (reads: readonly CandleRead[]) =>
  reads.flatMap(({ candles }) => candles.map(({ timestamp }) => timestamp));
const largest = (reads: readonly CandleRead[]) => Math.max(...reads.map(({ candles }) => candles.length));

const bounds = [
  { includesFrom: true, includesTo: false },
  { includesFrom: true, includesTo: true },
  { includesFrom: false, includesTo: false },
  { includesFrom: false, includesTo: true },
];

describe("readSlices", () => {
  it.each(bounds.flatMap((bound) => [false, true].map((isEager) => ({ ...bound, isEager }))))(
    "costs one request a full page of a dense range, whatever the bounds: %o",
    async (habits) => {
      const times = run(-2_000, 12_000);
      const { got, asked, reads } = await slicesOf({ times, ...habits }, minute(0), minute(8_000));
      expect(got).toEqual(run(0, 8_000));
      expect(asked).toEqual({ pages: Math.ceil(8_000 / FULL_PAGE), reports: 0 });
      expect(largest(reads)).toBeLessThanOrEqual(FULL_PAGE);
    },
  );

  it("asks for little of a sparse pair: long slices", async () => {
    const times = run(0, 2_000, 500);
    const { got, asked, reads } = await slicesOf({ times }, minute(0), minute(1_000_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(10);
    expect(largest(reads)).toBeLessThan(3_000);
  });

  it("costs no more than its pages where these are small", async () => {
    const times = run(0, 5_000, 200);
    const { got, asked } = await slicesOf({ times, pageSize: 100 }, minute(0), minute(1_000_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(75);
  });

  it("crosses ten silent years of seconds in a few requests", async () => {
    const last = NOW - 1_000;
    const times = [NOW - 10 * 365 * 86_400_000, last];
    const habits: Habits = { times, series: { timeframe: "1s" } };
    const { got, asked } = await slicesOf(habits, times[0]!, NOW);
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(12);
  });

  it("comes back to short slices where a burst follows months of silence", async () => {
    const times = [...run(0, 100), ...run(200_000, 20_000)];
    const { got, asked, reads } = await slicesOf({ times }, minute(0), minute(220_000));
    expect(got).toEqual(times);
    expect(largest(reads)).toBeLessThan(4_000);
    expect(asked.pages).toBeLessThan(45);
  });

  it("follows an end that moves", async () => {
    const { reader, intervals } = archive({ times: run(0, 5_000) });
    let until = minute(10);
    const reads: CandleRead[] = [];
    for await (const read of readSlices(reader(), intervals, minute(0), () => until, options)) {
      reads.push(read);
      if (reads.length < 4) until += 500 * MINUTE;
    }
    expect(timesOf(reads)).toEqual(run(0, 1_510));
  });

  it("asks for nothing where there is nothing to read", async () => {
    const { reader, intervals, asked } = archive({ times: run(0, 10) });
    for await (const _ of readSlices(reader(), intervals, minute(5), () => minute(5), options)) expect.fail();
    expect(asked.pages).toBe(0);
  });

  const market = fc.array(
    fc.record({
      silence: fc.constantFrom(0, 1, 30, 2_000, 90_000),
      candles: fc.nat(900),
      step: fc.constantFrom(1, 1, 2, 40),
    }),
    { minLength: 1, maxLength: 5 },
  );
  const habit = fc.record({
    pageSize: fc.constantFrom(1_000, 1_000, 300, 100),
    order: fc.constantFrom("descending" as const, "ascending" as const, "shuffled" as const),
    includesFrom: fc.boolean(),
    includesTo: fc.boolean(),
    isEager: fc.boolean(),
    repeats: fc.boolean(),
  });

  it("gives each candle once, ascending, whatever the density, the pages and their order", async () => {
    await fc.assert(
      fc.asyncProperty(market, habit, fc.nat(500), fc.nat(500), async (parts, habits, early, late) => {
        const times: number[] = [];
        let at = 0;
        for (const { silence, candles, step } of parts) {
          at += silence;
          times.push(...run(at, candles, step));
          at += candles * step;
        }
        const [from, to] = [minute(early), minute(Math.max(early, at - late) + 1)];
        const { got, reads, asked } = await slicesOf({ times, ...habits }, from, to);
        expect(got).toEqual(times.filter((time) => time >= from && time < to));
        expect(largest(reads)).toBeLessThan(4_000);
        expect(asked.pages).toBeLessThan(80 + (6 * got.length) / Math.min(habits.pageSize, 900));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a range that starts before the pair's creation", () => {
  // Within the minute 5,000; its first candle may start before it.
  const createdAt = minute(5_000) + 20_000;
  const times = run(5_000, 3_000);
  const strict = { times, strictBefore: createdAt };

  it.each([
    ["an interval", minute(5_000), minute(5_000), 5_000],
    ["an interval, though it was later", createdAt, minute(5_000), 5_000],
    ["a second within one", createdAt, createdAt, 5_001],
    ["a millisecond within one", createdAt + 1, createdAt + 1, 5_001],
  ])("is read from the creation on, at the start of %s", async (_, creation, strictBefore, first) => {
    const habits = { times, strictBefore, createdAt: creation };
    const { got, asked } = await slicesOf(habits, minute(0), minute(8_000));
    expect(got).toEqual(run(first, 8_000 - first));
    expect(asked.reports).toBe(1);
    expect(asked.pages).toBeLessThan(10);
  });

  it("is asked for from where it was found to begin, the next time", async () => {
    const { reader, asked } = archive({ ...strict, createdAt });
    await reader().read(minute(0), minute(5_010), options);
    const { pages } = asked;
    expect((await reader().read(minute(0), minute(5_010), options)).candles).toHaveLength(9);
    expect(asked).toEqual({ pages: pages + 1, reports: 1 });
  });

  it("costs one request and one report where it ends before the creation, too", async () => {
    const { reader, asked } = archive({ ...strict, createdAt });
    const one = reader();
    expect((await one.read(minute(0), minute(10), options)).candles).toEqual([]);
    expect(asked).toEqual({ pages: 1, reports: 1 });
    // Its margin begins before the creation that is known by now.
    expect((await one.read(minute(5_001), minute(5_010), options)).candles).toHaveLength(9);
  });

  it("is not walked through before a creation that is known", async () => {
    const { asked } = await slicesOf({ times, createdAt }, minute(-5_000_000), minute(5_500));
    expect(asked.pages).toBeLessThan(4);
  });

  it.each([-1, 0, 1, 2, 3])("loses nothing where it starts %d minutes from the creation", async (offset) => {
    const habits = { ...strict, createdAt };
    const { got } = await slicesOf(habits, minute(5_000 + offset), minute(8_000));
    expect(got).toEqual(run(Math.max(5_001, 5_000 + offset), 8_000 - Math.max(5_001, 5_000 + offset)));
  });

  it.each([
    { network: "mainnet", createdAt: undefined },
    { network: "mainnet", createdAt: null },
    { network: "devnet", createdAt: undefined },
  ] as const)("is found where no report tells of it: %o", async ({ network, ...report }) => {
    const habits: Habits = { ...strict, series: { network } };
    const shop = archive(report.createdAt === undefined ? habits : { ...habits, createdAt: null });
    const { got, asked } = await slicesOf(habits, minute(0), minute(8_000), shop);
    expect(got).toEqual(run(5_001, 2_999));
    expect(asked.reports > 0).toBe(network === "mainnet");
    expect(asked.pages).toBeLessThan(100);
  });

  it.each(bounds)("costs no candle of a service that answers anyway: %o", async (bound) => {
    const habits = { times, createdAt, ...bound };
    expect((await slicesOf(habits, minute(0), minute(8_000))).got).toEqual(times);
  });

  it("needs one report for all timeframes of a pair, and none of another network's", async () => {
    const shop = archive({ ...strict, createdAt });
    await slicesOf(strict, minute(0), minute(8_000), shop);
    await slicesOf(strict, minute(0), minute(8_000), shop);
    expect(shop.asked.reports).toBe(1);
    expect(shop.reader({ skipsRows: true }, { timeframe: "1h" }).birth).toBe(minute(4_980));
    expect(shop.reader({ skipsRows: true }, { network: "devnet" }).birth).toBeUndefined();
  });

  it("that is silent to the end is empty", async () => {
    const { got, asked } = await slicesOf({ times: [], createdAt: null }, minute(0), minute(500));
    expect(got).toEqual([]);
    expect(asked.pages).toBeLessThan(12);
  });
});

describe("readLast", () => {
  const last = async (habits: Habits, count: number, until: number) => {
    const shop = archive(habits);
    const reads = await readLast(shop.reader(), shop.intervals, count, until, options);
    reads.forEach((read, index) => {
      if (index > 0) expect(read.from).toBe(reads[index - 1]!.to);
    });
    return { reads, got: timesOf(reads), ...shop };
  };

  it.each([1, 2, 100, 996, 2_500])("gives exactly the last %d", async (count) => {
    const { got, reads, asked } = await last({ times: run(0, 5_000) }, count, minute(4_000));
    expect(got).toEqual(run(4_000 - count, count));
    expect(reads[0]!.from).toBe(got[0]);
    expect(reads.at(-1)!.to).toBe(minute(4_000));
    expect(asked).toEqual({ pages: Math.ceil(count / FULL_PAGE), reports: 0 });
  });

  it("reaches as far back as it takes", async () => {
    const times = [...run(0, 40), ...run(100_000, 10, 1_000)];
    const { got, asked } = await last({ times, createdAt: null }, 30, minute(200_000));
    expect(got).toEqual(times.slice(-30));
    expect(asked.pages).toBeLessThan(60);
  });

  it("gives fewer where there are fewer, and asks for nothing before the creation", async () => {
    const times = run(5_000, 20);
    const { got, asked } = await last({ times, createdAt: minute(5_000) }, 30, minute(6_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(4);
    expect((await last({ times: [], createdAt: minute(5_000) }, 30, minute(6_000))).got).toEqual([]);
  });

  it.each([minute(5_000), null])(
    "finds candles that a range from before the creation hides (report: %s)",
    async (createdAt) => {
      const times = run(5_000, 200);
      const { got } = await last({ times, strictBefore: minute(5_000), createdAt }, 500, minute(5_200));
      expect(got).toEqual(times);
    },
  );

  it("gives the last ones of any market", async () => {
    const gap = fc.constantFrom(1, 1, 1, 2, 60, 5_000);
    await fc.assert(
      fc.asyncProperty(
        fc.array(gap, { maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        async (gaps, count) => {
          let at = 0;
          const times = gaps.map((step) => {
            at += step;
            return minute(at);
          });
          const { got } = await last({ times, createdAt: START }, count, minute(at + 5));
          expect(got).toEqual(times.slice(-count));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("rows that break the contract", () => {
  const bad = rowOf(minute(3), { close: "1" });
  const habits: Habits = { times: run(0, 10), broken: new Map([[minute(3), bad]]) };
  const read = (reader: ReturnType<ReturnType<typeof archive>["reader"]>, from = 0, to = 10) =>
    reader.read(minute(from), minute(to), options);

  it("fail a read that is not to skip them, however often", async () => {
    const reader = archive({ ...habits, attempts: 9 }).reader({ skipsRows: false });
    await expect(read(reader)).rejects.toThrow(ContractError);
    await expect(read(reader)).rejects.toThrow("result[6].close");
  });

  it("are skipped at the third read, named as unreadable, and reported once", async () => {
    const { reader, told } = archive(habits);
    const one = reader();
    await expect(read(one)).rejects.toThrow(ContractError);
    await expect(read(one)).rejects.toThrow(ContractError);
    expect(told).toEqual([]);
    for (let more = 0; more < 3; more += 1) {
      const { candles, unreadable, hasUnplaced } = await read(one);
      expect(candles).toHaveLength(9);
      expect([...unreadable]).toEqual([minute(3)]);
      expect(hasUnplaced).toBe(false);
    }
    expect(told).toEqual([expect.objectContaining({ type: "dropped", what: "row", key: minute(3) })]);
  });

  it("are read three times by a client's own retries, too", async () => {
    const { reader } = archive({ ...habits, attempts: 3 });
    expect((await read(reader())).unreadable.size).toBe(1);
  });

  it("do not matter outside the range", async () => {
    const { reader, told } = archive(habits);
    expect((await read(reader(), 4, 10)).candles).toHaveLength(6);
    expect((await read(reader(), 0, 3)).candles).toHaveLength(3);
    expect(told).toEqual([]);
  });

  it("name their interval where they are off its start", async () => {
    const broken = new Map([[minute(3), rowOf(minute(3) + 20_000)]]);
    const { reader } = archive({ ...habits, broken, attempts: 3 });
    const { unreadable, candles } = await read(reader());
    expect([...unreadable]).toEqual([minute(3)]);
    expect(candles).toHaveLength(9);
  });

  it("that cannot be placed say so", async () => {
    const broken = new Map([[0, { open: 1 }]]);
    const { reader, told } = archive({ ...habits, broken, attempts: 3 });
    const { hasUnplaced, unreadable, candles } = await read(reader());
    expect([hasUnplaced, unreadable.size, candles.length]).toEqual([true, 0, 10]);
    expect(told).toEqual([expect.objectContaining({ key: null })]);
  });

  it("do not hide a good row of the same interval", async () => {
    const { reader, told } = archive({ ...habits, broken: new Map([[0, bad]]) });
    const one = reader();
    await expect(read(one)).rejects.toThrow(ContractError);
    await expect(read(one)).rejects.toThrow(ContractError);
    const { unreadable, candles } = await read(one);
    expect([unreadable.size, candles.length, told.length]).toEqual([0, 10, 1]);
  });

  it("are counted anew once their interval is forgotten, and not before", async () => {
    const [kept, forgotten] = [archive(habits).reader(), archive(habits).reader()];
    for (const one of [kept, forgotten]) {
      await expect(read(one)).rejects.toThrow(ContractError);
      await expect(read(one)).rejects.toThrow(ContractError);
    }
    kept.forgetBefore(minute(3));
    expect((await read(kept)).unreadable.size).toBe(1);
    forgotten.forgetBefore(minute(4));
    await expect(read(forgotten)).rejects.toThrow(ContractError);
  });

  it("are counted anew once their interval was read well", async () => {
    const broken = new Map<number, object>([[minute(3), bad]]);
    const one = archive({ ...habits, broken }).reader();
    await expect(read(one)).rejects.toThrow(ContractError);
    await expect(read(one)).rejects.toThrow(ContractError);
    broken.set(minute(3), rowOf(minute(3)));
    expect((await read(one)).candles).toHaveLength(10);
    broken.set(minute(3), bad);
    await expect(read(one)).rejects.toThrow(ContractError);
  });

  it("of two rows for one interval the fuller one counts", async () => {
    const fuller = rowOf(minute(3), { swaps: 5, close: 1 });
    const broken = new Map([[0, fuller]]);
    const { reader } = archive({ times: run(0, 10), broken });
    expect((await read(reader())).candles[3]).toMatchObject({ swaps: 5 });
  });
});
