import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CandleRead } from "../../../src/candles/read/range-reader.js";
import { FULL_PAGE } from "../../../src/candles/read/range-reader.js";
import { readSlices } from "../../../src/candles/read/slices.js";
import { ContractError } from "../../../src/errors.js";
import {
  archive,
  bounds,
  type Habits,
  lastOf,
  MINUTE,
  minute,
  NOW,
  options,
  rowOf,
  run,
  START,
  slicesOf,
  timesOf,
} from "./archive.js";

const largest = (reads: readonly CandleRead[]) => Math.max(...reads.map(({ candles }) => candles.length));

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

  it.each(bounds)("follows as many pages as there can be, of a candle each: %o", async (bound) => {
    const within = { times: run(0, 30), pageSize: 1, isEager: true, includesCut: true, ...bound };
    const plain = await slicesOf(within, minute(3), minute(8));
    expect(plain.got).toEqual(run(3, 5));
    // From the creation on, which is within an interval: its candle is one more than intervals begin.
    const hidden = { ...within, strictBefore: minute(3) + 20_000, createdAt: minute(3) + 20_000 };
    const { got } = await slicesOf(hidden, minute(0), minute(8));
    expect(got).toEqual(run(bound.includesFrom ? 3 : 4, bound.includesFrom ? 5 : 4));
  });

  it.each(bounds)("follows the pages of a range that has grown until it was asked for: %o", async (bound) => {
    const within = { times: run(0, 30), pageSize: 1, isEager: true, includesCut: true, ...bound };
    const shop = archive(within);
    const read = await shop.reader().read(minute(3), minute(8), { ...options, endAt: () => minute(15) });
    expect(read.to).toBe(minute(15));
    expect(timesOf([read])).toEqual(run(3, 12));
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

describe("readLast", () => {
  it.each([1, 2, 100, 996, 2_500])("gives exactly the last %d", async (count) => {
    const { got, reads, asked } = await lastOf({ times: run(0, 5_000) }, count, minute(4_000));
    expect(got).toEqual(run(4_000 - count, count));
    expect(reads[0]!.from).toBe(got[0]);
    expect(reads.at(-1)!.to).toBe(minute(4_000));
    expect(asked).toEqual({ pages: Math.ceil(count / FULL_PAGE), reports: 0 });
  });

  it("reaches as far back as it takes", async () => {
    const times = [...run(0, 40), ...run(100_000, 10, 1_000)];
    const { got, asked } = await lastOf({ times, createdAt: null }, 30, minute(200_000));
    expect(got).toEqual(times.slice(-30));
    expect(asked.pages).toBeLessThan(60);
  });

  it("gives fewer where there are fewer, and asks for nothing before the creation", async () => {
    const times = run(5_000, 20);
    const { got, asked } = await lastOf({ times, createdAt: minute(5_000) }, 30, minute(6_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(4);
    expect((await lastOf({ times: [], createdAt: minute(5_000) }, 30, minute(6_000))).got).toEqual([]);
    const young = await lastOf({ times, createdAt: minute(5_000) }, 30, minute(5_030));
    expect([young.got, young.asked]).toEqual([times, { pages: 2, reports: 1 }]);
  });

  it.each([minute(5_000), null])(
    "finds candles that a range from before the creation hides (report: %s)",
    async (createdAt) => {
      const times = run(5_000, 200);
      const { got } = await lastOf({ times, strictBefore: minute(5_000), createdAt }, 500, minute(5_200));
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
          const { got } = await lastOf({ times, createdAt: START }, count, minute(at + 5));
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
      const { candles, unreadable, hasUnidentifiedRow } = await read(one);
      expect(candles).toHaveLength(9);
      expect([...unreadable]).toEqual([minute(3)]);
      expect(hasUnidentifiedRow).toBe(false);
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
    const { hasUnidentifiedRow, unreadable, candles } = await read(reader());
    expect([hasUnidentifiedRow, unreadable.size, candles.length]).toEqual([true, 0, 10]);
    expect(told).toEqual([expect.objectContaining({ key: null })]);
  });

  it("that cannot be placed are counted anew, and reported again, once their range was read well", async () => {
    const broken = new Map([[0, { open: 1 }]]);
    const { reader, told } = archive({ ...habits, broken });
    const one = reader();
    for (let round = 1; round <= 3; round += 1) {
      broken.set(0, { open: 1 });
      await expect(read(one)).rejects.toThrow(ContractError);
      await expect(read(one)).rejects.toThrow(ContractError);
      expect((await read(one)).hasUnidentifiedRow).toBe(true);
      expect((await read(one)).hasUnidentifiedRow).toBe(true);
      expect(told).toHaveLength(round);
      broken.clear();
      expect((await read(one)).hasUnidentifiedRow).toBe(false);
    }
  });

  it("that cannot be placed are counted apart in ranges apart, whatever is read in between", async () => {
    const broken = new Map<number, object>();
    const { reader, told } = archive({ times: run(0, 40), broken });
    const one = reader();
    const readBad = async (from: number) => {
      broken.set(0, { open: 1 });
      await read(one, from, from + 10).finally(() => broken.clear());
    };
    for (let before = 0; before < 2; before += 1) {
      await expect(readBad(10)).rejects.toThrow(ContractError);
      await expect(readBad(30)).rejects.toThrow(ContractError);
      await read(one, 0, 10);
    }
    await readBad(10);
    await readBad(30);
    expect(told).toHaveLength(2);
    one.forgetBefore(minute(40));
    await expect(readBad(30)).rejects.toThrow(ContractError);
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
