import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSlices } from "../../../src/candles/read/slices.js";
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
  slicesOf,
} from "./archive.js";

/** What a search may cost: two requests for every halving of the range, twelve to confirm, and a few. */
const searchCost = (from: number, to: number) => 37 + 2 * Math.log2((to - from) / MINUTE);

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
    const { reader, asked } = archive({ times, strictBefore: minute(5_000), createdAt: minute(5_000) });
    await reader().read(minute(0), minute(5_010), options);
    const { pages } = asked;
    expect((await reader().read(minute(0), minute(5_010), options)).candles).toHaveLength(10);
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
    expect(asked.reports).toBe(network === "mainnet" ? 1 : 0);
    expect(asked.pages).toBeLessThan(37);
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
    expect(shop.reader({ skipsRows: true }, { timeframe: "1h" }).startsAt).toBe(minute(4_980));
    expect(shop.reader({ skipsRows: true }, { network: "devnet" }).startsAt).toBeUndefined();
  });

  it("that is silent to the end is empty", async () => {
    const { reads, asked } = await slicesOf({ times: [], createdAt: null }, minute(0), minute(500));
    expect(reads).toEqual([expect.objectContaining({ from: minute(0), to: minute(500), candles: [] })]);
    expect(asked).toEqual({ pages: 10, reports: 1 });
  });

  describe("that is polled", () => {
    const light = { ...options, probes: "lightly" } as const;

    it("is searched once its last interval holds a candle, all of it ever more seldom", async () => {
      const times = run(5_000, 3);
      const habits: Habits = { times, strictBefore: createdAt, series: { network: "devnet" } };
      const { reader, asked } = archive(habits);
      const one = reader();
      expect((await one.read(minute(4_980), minute(5_000), light)).candles).toEqual([]);
      expect((await one.read(minute(4_980), minute(5_003), light)).candles).toEqual([]);
      expect(asked.pages).toBe(5);
      expect((await reader().read(minute(4_980), minute(5_003), light)).candles).toHaveLength(2);
      expect(asked.pages).toBeLessThan(29);
      const { pages } = asked;
      expect((await reader().read(minute(4_980), minute(5_003), light)).candles).toHaveLength(2);
      expect(asked.pages).toBe(pages + 1);
    });

    it("is searched though its last interval is empty, as it is just after its start", async () => {
      const habits: Habits = { times: run(5_000, 3), strictBefore: createdAt, series: { network: "devnet" } };
      const { reader } = archive(habits);
      expect((await reader().read(minute(4_980), minute(5_004), light)).candles).toHaveLength(2);
    });

    it("is searched at once where rows have been seen that its answer should hold", async () => {
      const habits: Habits = { times: run(5_000, 3), strictBefore: createdAt, series: { network: "devnet" } };
      const { reader, asked } = archive(habits);
      const one = reader();
      expect((await one.read(minute(4_980), minute(5_000), light)).candles).toEqual([]);
      expect((await one.read(minute(5_002), minute(5_003), light)).candles).toHaveLength(1);
      expect((await one.read(minute(4_980), minute(5_003), light)).candles).toHaveLength(2);
      expect(asked.pages).toBeLessThan(32);
    });

    it("is not searched again and again for rows that have gone", async () => {
      const times = run(5_000, 3);
      const habits: Habits = { times, strictBefore: createdAt, series: { network: "devnet" } };
      const { reader, asked } = archive(habits);
      const one = reader();
      await one.read(minute(4_980), minute(5_000), light);
      await one.read(minute(5_002), minute(5_003), light);
      times.length = 0;
      await one.read(minute(4_980), minute(5_003), light);
      const { pages } = asked;
      for (let read = 0; read < 5; read += 1) await one.read(minute(4_980), minute(5_003), light);
      expect(asked.pages).toBe(pages + 5);
    });

    it("costs one request where that is not asked for", async () => {
      const { reader, asked } = archive({ ...strict, createdAt });
      const never = { ...options, probes: "never" } as const;
      expect((await reader().read(minute(0), minute(5_010), never)).candles).toEqual([]);
      expect(asked).toEqual({ pages: 1, reports: 0 });
    });
  });

  describe("that no report tells of", () => {
    const devnet = { network: "devnet" } as const;

    it("is read again with the candles that follow where nothing is hidden", async () => {
      const habits: Habits = { times: run(5_000, 100), series: devnet };
      const { reads, asked } = await slicesOf(habits, minute(4_990), minute(5_500));
      expect(asked.pages).toBe(1);
      const late = await slicesOf(habits, minute(0), minute(5_500));
      expect(late.got).toEqual(run(5_000, 100));
      expect([reads.length, late.reads.length, late.asked.pages]).toEqual([1, 1, 4]);
    });

    it("loses nothing of a short life that ends within the range, if a later candle tells of it", async () => {
      const few = run(5_000, 4);
      for (const witness of [8_990, 9_000, 100_000]) {
        const habits: Habits = {
          times: [...few, minute(witness)],
          strictBefore: minute(5_000),
          series: devnet,
        };
        const { got, asked, reads } = await slicesOf(habits, minute(0), minute(9_000));
        expect(got).toEqual(witness < 9_000 ? [...few, minute(witness)] : few);
        expect(reads[0]).toMatchObject({ from: minute(0), to: minute(5_000), candles: [] });
        expect(asked.pages).toBeLessThan(37);
      }
    });

    it("loses nothing of a life that has been over for less than a quarter of its age", async () => {
      for (const candles of [3_010, 3_300, 3_999]) {
        const times = [minute(5_000), minute(5_000 + candles)];
        const habits: Habits = { times, strictBefore: times[0]!, series: devnet };
        const now = minute(9_000);
        expect((await slicesOf(habits, minute(0), now, archive(habits, now))).got).toEqual(times);
      }
    });

    it("costs few requests for ten silent years of seconds", async () => {
      for (const network of ["mainnet", "devnet"] as const) {
        const habits: Habits = { times: [], series: { timeframe: "1s", network } };
        const { reads, asked } = await slicesOf(habits, NOW - 10 * 365 * 86_400_000, NOW);
        expect(reads).toHaveLength(1);
        expect(asked.pages + asked.reports).toBeLessThan(30);
      }
    });

    it("costs few requests for the last candles of a pair that is nearly empty, or hides nothing", async () => {
      const until = minute(200_000);
      const ages = minute(-5_200_000);
      for (const times of [[], run(199_990, 5), run(190_000, 5), [minute(5), minute(199_999)], [ages]]) {
        for (const timeframe of ["1min", "1s"] as const) {
          const { got, asked } = await lastOf({ times, series: { ...devnet, timeframe } }, 30, until);
          expect(got).toEqual(times);
          expect(asked.pages).toBeLessThan(37);
        }
      }
    });

    it("costs few requests for the last candles where they are hidden", async () => {
      for (const age of [1, 10, 29, 30, 31, 100, 1_000, 10_000, 100_000]) {
        const until = minute(100_000 + age);
        const times = run(100_000, 5, Math.ceil(age / 5)).filter((time) => time < until);
        const habits: Habits = { times, strictBefore: minute(100_000), series: devnet };
        const { got, asked } = await lastOf(habits, 30, until, archive(habits, until));
        expect(got).toEqual(times);
        expect(asked.pages).toBeLessThan(searchCost(times[0]!, until));
      }
    });

    it("is searched through no further once that is aborted", async () => {
      const abort = new AbortController();
      const { reader, intervals, asked } = archive({ times: [], series: devnet });
      const ends = () => {
        if (asked.pages === 3) abort.abort(new Error("enough"));
        return minute(1_000_000);
      };
      const slices = readSlices(reader(), intervals, minute(0), ends, { ...options, signal: abort.signal });
      await expect(slices.next()).rejects.toThrow("enough");
      expect(asked.pages).toBe(3);
    });

    it("costs one request where it is known to end before the opening", async () => {
      const habits: Habits = { times, strictBefore: createdAt, series: devnet };
      const shop = archive(habits);
      await slicesOf(habits, minute(0), minute(8_000), shop);
      const { pages } = shop.asked;
      await slicesOf(habits, minute(0), minute(900), shop);
      expect(shop.asked.pages).toBe(pages + 1);
    });

    it("is answered where its only row is broken", async () => {
      const broken = new Map([[minute(5_000), rowOf(minute(5_000), { close: "1" })]]);
      const habits: Habits = { times: [minute(5_000)], broken, attempts: 3, series: devnet };
      const { reads, asked } = await slicesOf(habits, minute(4_900), minute(5_100));
      expect(reads).toMatchObject([{ candles: [], unreadable: new Set([minute(5_000)]) }]);
      expect(asked.pages).toBe(4);
    });

    it("is not cut short for good by answers that were empty for no reason", async () => {
      const habits: Habits = { times, strictBefore: createdAt, series: devnet };
      for (const spell of [1, 60]) {
        for (let whim = 0; whim < 20; whim += 1) {
          const whims = new Set(Array.from({ length: spell }, (_, index) => whim + index));
          const shop = archive({ ...habits, whims });
          await slicesOf(habits, minute(0), minute(8_000), shop);
          await lastOf(habits, 5_000, minute(8_000), shop);
          whims.clear();
          const { got } = await slicesOf(habits, minute(0), minute(8_000), shop);
          expect(got).toEqual(run(5_001, 2_999));
        }
      }
    });
  });
});

/**
 * Markets whose creation no report tells, before a service that may hide what is asked for from before it; `shown` is
 * what can be had at all. They have been silent for less than a quarter of their age: who is not may be passed over.
 */
const unreported = fc
  .record({
    born: fc.integer({ min: 10, max: 300_000 }),
    within: fc.constantFrom(0, 0, 1, 20_000, 59_999),
    burst: fc.constantFrom(1, 1, 500, 3_000),
    gaps: fc.array(fc.constantFrom(1, 1, 1, 2, 40, 700, 30_000), { maxLength: 40 }),
    silent: fc.double({ min: 0, max: 1, noNaN: true }),
    before: fc.integer({ min: -20, max: 300_000 }),
    hides: fc.boolean(),
    network: fc.constantFrom("mainnet" as const, "devnet" as const),
    bound: fc.constantFrom(...bounds),
    order: fc.constantFrom("descending" as const, "ascending" as const, "shuffled" as const),
  })
  .map(({ born, within, burst, gaps, silent, before, hides, network, bound, order }) => {
    const times = run(born, burst);
    let at = born + burst + 9;
    for (const gap of [0, ...gaps]) {
      at += gap;
      times.push(minute(at));
    }
    const now = minute(at + 1 + Math.floor((silent * (at - born - 7)) / 3));
    const opening = Math.ceil((minute(born) + within) / 1_000) * 1_000;
    const shown = times.filter(
      (time) => !hides || time > opening || (time === opening && bound.includesFrom),
    );
    const habits: Habits = { times, series: { network }, order, ...bound };
    const from = minute(Math.max(0, Math.min(born - before, at)));
    return { habits: hides ? { ...habits, strictBefore: minute(born) + within } : habits, from, now, shown };
  });

/** The same market before a service that hides nothing and tells the creation. */
const plain = ({ times, order, series }: Habits): Habits => {
  return { times, order: order!, series: { ...series, network: "mainnet" }, createdAt: times[0]! };
};

describe("candles that a range from before an unknown creation hides", () => {
  it("are all read, slice by slice, for twice the pages of the same market in the open, and the search", async () => {
    await fc.assert(
      fc.asyncProperty(unreported, async ({ habits, from, now, shown }) => {
        const { got, asked } = await slicesOf(habits, from, now, archive(habits, now));
        expect(got).toEqual(shown.filter((time) => time >= from));
        const { pages } = (await slicesOf(plain(habits), from, now, archive(plain(habits), now))).asked;
        expect(asked.pages).toBeLessThan(2 * pages + searchCost(from, now));
      }),
      { numRuns: 100 },
    );
  });

  it("are all among the last ones, for as much", async () => {
    const counts = fc.integer({ min: 1, max: 3_000 });
    await fc.assert(
      fc.asyncProperty(unreported, counts, async ({ habits, now, shown }, count) => {
        const { got, asked } = await lastOf(habits, count, now, archive(habits, now));
        expect(got).toEqual(shown.slice(-count));
        const { pages } = (await lastOf(plain(habits), count, now, archive(plain(habits), now))).asked;
        expect(asked.pages).toBeLessThan(2 * pages + searchCost(habits.times[0]!, now));
      }),
      { numRuns: 100 },
    );
  });
});
