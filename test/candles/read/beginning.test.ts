import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  archive,
  bounds,
  type Habits,
  lastOf,
  minute,
  NOW,
  partsOf,
  rowOf,
  run,
  timesOf,
} from "./archive.js";

/** What a search may cost. */
const SEARCH = 45;

describe("a range that starts before the pair's creation", () => {
  // Within the minute 5,000; its first candle may start before it.
  const createdAt = minute(5_000) + 20_000;
  const times = run(5_000, 3_000);
  const strict = { times, strictBefore: createdAt };

  it.each([
    ["an interval", minute(5_000), minute(5_000), 5_000],
    ["an interval, though it was later", createdAt, minute(5_000), 5_000],
  ])("is read from the creation on, at the start of %s", async (_, creation, strictBefore, first) => {
    const habits = { times, strictBefore, createdAt: creation };
    const { got, asked } = await partsOf(habits, minute(0), minute(8_000));
    expect(got).toEqual(run(first, 8_000 - first));
    expect(asked.reports).toBe(1);
    expect(asked.pages).toBeLessThan(12);
  });

  it.each([minute(5_004), minute(5_009)])(
    "is found where one that begins later has shown something, and asked from there at once",
    async (shown) => {
      const { newPages, asked } = archive({ ...strict, series: { network: "devnet" } });
      const pages = newPages();
      const read = (from: number) =>
        pages.read(
          { from, to: minute(5_010), anchors: [], shown },
          { priority: "refresh", signal: new AbortController().signal },
        );
      const seen = async (from: number) => (await read(from)).candles.map(({ timestamp }) => timestamp);
      expect(await seen(minute(5_004))).toEqual(run(5_003, 7));
      expect(await seen(minute(4_990))).toEqual(run(5_001, 9));
      expect(asked.pages).toBeLessThan(SEARCH);
      const { pages: before } = asked;
      expect(await seen(minute(4_990))).toEqual(run(5_001, 9));
      expect(asked.pages).toBe(before + 1);
    },
  );

  it("is not walked through before a creation that is known", async () => {
    const { asked } = await partsOf({ times, createdAt }, minute(-5_000_000), minute(5_500));
    expect(asked.pages).toBeLessThan(6);
  });

  it.each([-3, 0, 1, 2, 3])(
    "loses nothing that shows from %d minutes after the creation on",
    async (offset) => {
      const { got } = await partsOf({ ...strict, createdAt }, minute(5_000 + offset), minute(8_000));
      const first = Math.max(5_001, 5_000 + offset);
      expect(got).toEqual(run(first, 8_000 - first));
    },
  );

  it.each(bounds)("costs no candle of a service that answers anyway: %o", async (bound) => {
    expect((await partsOf({ times, createdAt, ...bound }, minute(0), minute(8_000))).got).toEqual(times);
  });

  it.each([
    { network: "mainnet", createdAt: null },
    { network: "devnet", createdAt: undefined },
  ] as const)("is found where no report tells of it: %o", async ({ network, ...report }) => {
    const habits: Habits = {
      ...strict,
      series: { network },
      ...(report.createdAt === null && { createdAt: null }),
    };
    const { got, asked } = await partsOf(habits, minute(0), minute(8_000));
    expect(got).toEqual(run(5_001, 2_999));
    expect(asked.reports).toBe(network === "mainnet" ? 1 : 0);
    expect(asked.pages).toBeLessThan(SEARCH);
  });

  it("needs one report, and is asked for from where it answers the next time", async () => {
    const shop = archive({ ...strict, createdAt });
    await partsOf(strict, minute(0), minute(8_000), shop);
    const { pages } = shop.asked;
    await partsOf(strict, minute(0), minute(8_000), shop);
    expect(shop.asked.reports).toBe(1);
    expect(shop.asked.pages - pages).toBeLessThanOrEqual(5);
  });

  it("is found, though it was searched for in vain before any candle had shown", async () => {
    const times = run(4_000, 50, 20);
    for (const network of ["mainnet", "devnet"] as const)
      for (const silent of [110, 300, 900]) {
        const habits: Habits = { times, strictBefore: minute(4_000), createdAt: null, series: { network } };
        const { got } = await lastOf(habits, 100, minute(5_000 + silent));
        expect(got).toEqual(times);
      }
  });

  it("that is silent to the end is empty", async () => {
    const { got, asked } = await partsOf({ times: [], createdAt: null }, minute(0), minute(500));
    expect([got, asked.reports]).toEqual([[], 1]);
    expect(asked.pages).toBeLessThan(14);
  });

  it("costs few requests for ten silent years of seconds", async () => {
    for (const network of ["mainnet", "devnet"] as const) {
      const habits: Habits = { times: [], series: { timeframe: "1s", network } };
      const { asked } = await partsOf(habits, NOW - 10 * 365 * 86_400_000, NOW - 200_000);
      expect(asked.pages + asked.reports).toBeLessThan(SEARCH);
    }
  });

  it("costs few requests for the last candles of a pair that is nearly empty", async () => {
    for (const some of [[], run(199_990, 5), run(190_000, 5), [minute(5), minute(199_999)]]) {
      const { got, asked } = await lastOf(
        { times: some, series: { network: "devnet" } },
        30,
        minute(200_000),
      );
      expect(got).toEqual(some);
      expect(asked.pages).toBeLessThan(SEARCH);
    }
  });

  it("is answered where its only row is broken", async () => {
    const broken = new Map([[minute(5_000), rowOf(minute(5_000), { close: "x" })]]);
    const habits: Habits = { times: [minute(5_000)], broken, series: { network: "devnet" } };
    const { parts, dropped } = await partsOf(habits, minute(4_900), minute(5_100));
    expect(parts.flatMap(({ unreadable }) => [...unreadable])).toEqual([minute(5_000)]);
    expect(dropped).toEqual([minute(5_000)]);
  });

  it.each(bounds)("costs no candle though two answers are empty for no reason: %o", async (bound) => {
    const created = minute(5_000) + 20_000;
    for (let at = 1; at < 8; at += 1) {
      const habits = { times, createdAt: created, ...bound, whims: new Set([0, at]) };
      const { got } = await partsOf(habits, minute(0), minute(5_010));
      expect(got).toEqual(run(5_000, 10));
    }
  });

  it("costs no candle, and two requests more, though an answer is empty for no reason where it hides rows", async () => {
    for (let whim = -1; whim < 12; whim += 1) {
      const habits = { times, strictBefore: minute(5_000), createdAt, whims: new Set([whim]) };
      const { got, asked } = await lastOf(habits, 3_500, minute(8_000));
      expect(got).toEqual(times);
      expect(asked.pages).toBeLessThanOrEqual(8 + 2);
      expect((await partsOf(habits, minute(0), minute(8_000))).got).toEqual(times);
    }
  });

  it.each(["mainnet", "devnet"] as const)("is over where its first candle is known: %s", async (network) => {
    for (const [first, strictBefore] of [
      [5_000, minute(5_000)],
      [5_001, createdAt],
    ] as const) {
      const habits: Habits = { times, strictBefore, createdAt, series: { network } };
      const { parts } = await lastOf(habits, 3_000, minute(8_000));
      expect(timesOf(parts)[0]).toBe(minute(first));
      // Another process knows what was stored, and nothing else.
      const again = archive(habits);
      const known = parts.filter(({ candles }) => candles.length > 0);
      const all = await again.backward(5_000, minute(8_000), { parts: known });
      expect(timesOf(all)).toEqual(timesOf(parts));
      expect(again.asked.pages).toBeLessThan(12);
    }
  });

  it.each([0, 5_000])(
    "is not cut short for good by an answer that was empty for no reason, nor by its copies: a cache of %i ms",
    async (keeps) => {
      const habits: Habits = { times, strictBefore: createdAt, series: { network: "devnet" }, keeps };
      for (let whim = 0; whim < 20; whim += 1) {
        const whims = new Set([whim]);
        const shop = archive({ ...habits, whims });
        // What it finds meanwhile may be short, or fail.
        await partsOf(habits, minute(0), minute(8_000), shop).catch(() => {});
        await lastOf(habits, 5_000, minute(8_000), shop).catch(() => {});
        whims.clear();
        const { got } = await partsOf(habits, minute(0), minute(8_000), shop);
        expect(got).toEqual(run(5_001, 2_999));
      }
    },
  );

  it("cuts no reading a minute after the service has shown nothing for a while", async () => {
    const all = run(0, 8_000);
    const habits = { times: all, strictBefore: minute(5_000), series: { network: "devnet" } as const };
    for (const read of [
      partsOf,
      (...[, , until, shop]: Parameters<typeof partsOf>) => lastOf(habits, 8_000, until, shop),
    ]) {
      habits.strictBefore = minute(5_000);
      const shop = archive(habits);
      expect((await read(habits, minute(0), minute(8_000), shop)).got).toEqual(run(5_000, 3_000));
      habits.strictBefore = 0;
      await shop.wait(60_000);
      expect((await read(habits, minute(0), minute(8_000), shop)).got).toEqual(all);
    }
  });

  it.each(bounds)("is not where a cache shows what lies after what it is asked for: %o", async (bound) => {
    const all = [minute(100), minute(200)];
    const series = { network: "devnet" } as const;
    const habits: Habits = { times: all, series, ...bound, keeps: 60_000, ignoresEnd: true };
    const shop = archive(habits);
    await partsOf(habits, minute(197), minute(203), shop);
    await partsOf(habits, minute(191), minute(197), shop);
    expect((await partsOf(habits, minute(50), minute(203), shop)).got).toEqual(all);
  });

  it("hides nothing of a market that is silent for less than a quarter of its age", async () => {
    const market = fc.record({
      born: fc.integer({ min: 10, max: 300_000 }),
      burst: fc.constantFrom(1, 1, 500, 3_000),
      gaps: fc.array(fc.constantFrom(1, 1, 1, 2, 40, 700, 30_000), { maxLength: 40 }),
      before: fc.nat(300_000),
      network: fc.constantFrom("mainnet" as const, "devnet" as const),
      order: fc.constantFrom("descending" as const, "ascending" as const, "shuffled" as const),
    });
    await fc.assert(
      fc.asyncProperty(market, async ({ born, burst, gaps, before, network, order }) => {
        const all = run(born, burst);
        let at = born + burst + 9;
        for (const gap of [0, ...gaps]) {
          at += gap;
          all.push(minute(at));
        }
        const habits: Habits = { times: all, series: { network }, order, strictBefore: minute(born) };
        const [from, now] = [minute(Math.max(0, born - before)), minute(at + 9)];
        const { got } = await partsOf(habits, from, minute(at + 1), archive(habits, now));
        expect(got).toEqual(all);
      }),
      { numRuns: 60 },
    );
  });
});
