import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FinalPart } from "../../../src/candles/read/forward.js";
import { FULL_PAGE } from "../../../src/candles/read/pages.js";
import { ContractError, NetworkError } from "../../../src/errors.js";
import {
  archive,
  bounds,
  failingHabits,
  type Habits,
  lastOf,
  MINUTE,
  minute,
  NOW,
  partsOf,
  rowOf,
  run,
  timesOf,
} from "./archive.js";

const largest = (parts: readonly FinalPart[]) => Math.max(...parts.map(({ candles }) => candles.length));
/** What a range costs beyond its pages, where no candle from before it is known: a second answer for its beginning. */
const CONFIRMED = 1;

describe("a range that is read on", () => {
  it.each(bounds.flatMap((bound) => [false, true].map((isEager) => ({ ...bound, isEager }))))(
    "costs one request a full page where it is dense, whatever the bounds: %o",
    async (habits) => {
      const times = run(-2_000, 12_000);
      const { got, asked, parts } = await partsOf({ times, ...habits }, minute(0), minute(8_000));
      expect(got).toEqual(run(0, 8_000));
      expect(asked).toEqual({ pages: Math.ceil(8_000 / FULL_PAGE), reports: 0 });
      expect(largest(parts)).toBeLessThanOrEqual(FULL_PAGE);
    },
  );

  it("costs little of a sparse pair", async () => {
    const times = run(0, 2_000, 500);
    const { got, asked, parts } = await partsOf({ times }, minute(0), minute(1_000_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(10);
    expect(largest(parts)).toBeLessThan(3_000);
  });

  it.each(
    (["descending", "ascending", "shuffled"] as const).flatMap((order) =>
      [100, 200, 1_000].map((pageSize) => ({ order, pageSize })),
    ),
  )(
    "leaves a range that holds too many candles once, and reads nothing of it again: %o",
    async ({ order, pageSize }) => {
      // Sparse at first, and dense at its end.
      const times = [...run(0, 40, 500), ...run(20_000, 4_000)];
      const { got, asked } = await partsOf({ times, pageSize, order }, minute(0), minute(24_000));
      expect(got).toEqual(times);
      const [pages, parts] = [Math.ceil(4_040 / pageSize), 8];
      expect(asked.pages).toBeLessThanOrEqual(pages + parts + CONFIRMED);
    },
  );

  it("costs no more than its pages where these are small", async () => {
    const times = run(0, 5_000, 200);
    const { got, asked } = await partsOf({ times, pageSize: 100 }, minute(0), minute(1_000_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(75);
  });

  it.each(bounds)("takes as many pages as there can be, of a candle each: %o", async (bound) => {
    const within: Habits = { times: run(0, 30), pageSize: 1, isEager: true, includesCut: true, ...bound };
    expect((await partsOf(within, minute(3), minute(8))).got).toEqual(run(3, 5));
  });

  it("crosses ten silent years of seconds in a few requests", async () => {
    const times = [NOW - 10 * 365 * 86_400_000, NOW - 300_000];
    const habits: Habits = { times, series: { timeframe: "1s" } };
    const { got, asked } = await partsOf(habits, times[0]!, NOW - 200_000);
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(12);
  });

  it("comes back to short ranges where a burst follows months of silence", async () => {
    const times = [...run(0, 100), ...run(200_000, 20_000)];
    const { got, asked, parts } = await partsOf({ times }, minute(0), minute(220_000));
    expect(got).toEqual(times);
    expect(largest(parts)).toBeLessThan(4_000);
    expect(asked.pages).toBeLessThan(45);
  });

  it("follows an end that moves", async () => {
    const { forward } = archive({ times: run(0, 5_000) });
    let until = minute(10);
    const parts: FinalPart[] = [];
    for await (const part of forward(minute(0), () => until)) {
      parts.push(part);
      if (parts.length < 4) until += 500 * MINUTE;
    }
    expect(timesOf(parts)).toEqual(run(0, 1_510));
  });

  it("costs one request though candles have turned up between it and those that are known before it", async () => {
    const { forward, asked } = archive({ times: run(0, 200) });
    const parts: FinalPart[] = [];
    for await (const part of forward(minute(100), () => minute(110), { anchors: [minute(60)] }))
      parts.push(part);
    expect(timesOf(parts)).toEqual(run(100, 10));
    expect(asked.pages).toBe(1);
  });

  it("asks for nothing where there is nothing to read", async () => {
    const { forward, asked } = archive({ times: run(0, 10) });
    for await (const _ of forward(minute(5), () => minute(5))) expect.fail();
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
      fc.asyncProperty(market, habit, fc.nat(500), fc.nat(500), async (stretches, habits, early, late) => {
        const times: number[] = [];
        let at = 0;
        for (const { silence, candles, step } of stretches) {
          at += silence;
          times.push(...run(at, candles, step));
          at += candles * step;
        }
        const [from, to] = [minute(early), minute(Math.max(early, at - late) + 1)];
        const now = to + 10 * MINUTE;
        const { got, parts, asked } = await partsOf(
          { times, ...habits },
          from,
          to,
          archive({ times, ...habits }, now),
        );
        expect(got).toEqual(times.filter((time) => time >= from && time < to));
        expect(largest(parts)).toBeLessThan(4_000);
        expect(asked.pages).toBeLessThan(80 + (6 * got.length) / Math.min(habits.pageSize, 900));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a page of which nobody knows when it was made", () => {
  it.each(["ascending", "descending", "shuffled"] as const)(
    "takes nothing from those before it: %s",
    async (order) => {
      const habits: Habits = { times: run(0, 900), pageSize: 300, order, doubts: new Set([2]) };
      const { got, asked } = await partsOf(habits, minute(0), minute(900));
      expect(got).toEqual(run(0, 900));
      // Both of its pages, that page and what it should have told.
      expect(asked.pages).toBeLessThanOrEqual(4 + CONFIRMED);
    },
  );
});

describe("a walk that fails", () => {
  /** Reads a range to its end, on from where each failure struck. */
  async function readOn(habits: Habits, to: number) {
    const shop = archive(habits);
    const walk = shop.newWalk();
    const parts: FinalPart[] = [];
    let failures = 0;
    for (let isOver = false; !isOver; ) {
      const last = parts.at(-1);
      const anchors = last?.candles.slice(-1).map(({ timestamp }) => timestamp) ?? [];
      try {
        for await (const part of shop.forward(last?.to ?? minute(0), () => to, { anchors, walk }))
          parts.push(part);
        isOver = true;
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        failures += 1;
      }
    }
    return { got: timesOf(parts), pages: shop.asked.pages, failures };
  }

  it("goes on where it stood, with what it has been told: a failure costs a page, and itself", async () => {
    const times = [...run(0, 60, 300), ...run(18_000, 5_000), ...run(23_000, 30, 100)];
    await fc.assert(
      fc.asyncProperty(failingHabits, async (habits) => {
        const to = minute(26_100);
        const even = await readOn({ ...habits, times, failures: new Set() }, to);
        const { got, pages, failures } = await readOn({ times, ...habits }, to);
        expect(got).toEqual(times);
        expect(pages).toBeLessThanOrEqual(even.pages + 3 * failures + 8);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a silence at the beginning of a range", () => {
  it("is confirmed in seconds, though a cache gives the answer to the same question for a minute", async () => {
    for (const read of [
      (habits: Habits) => partsOf(habits, minute(50), minute(105)),
      (habits: Habits) => lastOf(habits, 100, minute(105)),
    ]) {
      const { got, took } = await read({ times: run(100, 5), createdAt: null, keeps: 60_000 });
      expect(got).toEqual(run(100, 5));
      expect(took()).toBeLessThanOrEqual(5_000);
    }
  });

  it("before a pair was created hides none of its candles, where the end moves there meanwhile", async () => {
    const createdAt = minute(2_000) + 20_000;
    const { forward } = archive({ times: run(2_000, 10), strictBefore: minute(2_000), createdAt });
    let asked = 0;
    const parts: FinalPart[] = [];
    for await (const part of forward(minute(0), () => minute(asked++ === 0 ? 900 : 2_010))) parts.push(part);
    expect(timesOf(parts)).toEqual(run(2_000, 10));
  });

  it("costs one more request, and that is all", async () => {
    const { got, asked } = await partsOf({ times: run(500, 100), createdAt: null }, minute(100), minute(600));
    expect(got).toEqual(run(500, 100));
    // The market before its first candle may be hidden: the report is asked, and the range from an hour later on.
    expect(asked.pages).toBeLessThanOrEqual(1 + CONFIRMED);
  });

  it.each(["descending", "ascending", "shuffled"] as const)(
    "costs what it is worth where the candle at its end is gone by its second answer: %s",
    async (order) => {
      const times = [minute(5), ...run(200, 50)];
      const shop = archive({
        order,
        get times() {
          return shop.asked.pages > 1 ? times.slice(1) : times;
        },
      });
      const { got, asked } = await partsOf({ times }, minute(0), minute(800), shop);
      expect(got).toEqual(times.slice(1));
      // The range, its beginning twice, as the candle is missed twice, and its end where the oldest come first.
      expect(asked.pages).toBeLessThanOrEqual(4);
    },
  );

  it("is counted by a candle that is known from before it", async () => {
    const shop = archive({ times: [minute(90), ...run(500, 100)] });
    const parts: FinalPart[] = [];
    for await (const part of shop.forward(minute(100), () => minute(600), { anchors: [minute(90)] }))
      parts.push(part);
    expect(timesOf(parts)).toEqual(run(500, 100));
    expect(shop.asked.pages).toBe(1);
  });

  it.each([0, 1, 2])("loses nothing where answer %i comes back empty for no reason", async (whim) => {
    const habits: Habits = { times: run(0, 3_000), whims: new Set([whim]) };
    expect((await partsOf(habits, minute(100), minute(2_900))).got).toEqual(run(100, 2_800));
  });
});

describe("a known candle that every answer has to show", () => {
  it.each([1, 2, 3])("is followed by all that there is after %i empty answers", async (count) => {
    const whims = new Set(Array.from({ length: count }, (_, index) => 1 + index));
    const { got } = await partsOf({ times: run(0, 3_000), whims }, minute(0), minute(3_000));
    expect(got).toEqual(run(0, 3_000));
  });

  it("fails the read where a third answer lacks it, though it shows when it is asked for alone", async () => {
    const { forward } = archive({ times: run(0, 3_000), whims: new Set([1, 2, 4]) });
    const parts: FinalPart[] = [];
    const walk = async () => {
      for await (const part of forward(minute(0), () => minute(3_000))) parts.push(part);
    };
    await expect(walk()).rejects.toThrow(ContractError);
    expect(timesOf(parts)).toEqual(run(0, FULL_PAGE));
  });

  it("is not asked for alone where an answer shows it of which nobody knows when it was made", async () => {
    const habits: Habits = { times: run(0, 3_000), whims: new Set([1]) };
    const { got, asked } = await partsOf(habits, minute(0), minute(3_000));
    const doubted = await partsOf({ ...habits, doubts: new Set([2]) }, minute(0), minute(3_000));
    expect(doubted.got).toEqual(got);
    expect(doubted.asked.pages).toBe(asked.pages + 1);
  });

  it("may be gone: what follows is read all the same", async () => {
    const shop = archive({ times: run(500, 2_000) });
    const gone = [minute(98), minute(99)];
    const parts: FinalPart[] = [];
    for await (const part of shop.forward(minute(100), () => minute(2_500), { anchors: gone }))
      parts.push(part);
    expect(timesOf(parts)).toEqual(run(500, 2_000));
    expect(shop.asked.pages).toBeLessThan(9);
  });
});

describe("an answer that is not whole", () => {
  it.each([1_000, 100])(
    "is asked for in other words behind a cache that would give it again: %o",
    async (pageSize) => {
      const times = run(0, 400);
      const shop = archive({ times, pageSize, lacking: new Map([[0, [minute(2)]]]), keeps: 60_000 });
      const parts: FinalPart[] = [];
      for await (const part of shop.forward(minute(3), () => minute(400), { anchors: [minute(2)] }))
        parts.push(part);
      expect(timesOf(parts)).toEqual(times.slice(3));
    },
  );
});

describe("known candles that polls have shown", () => {
  it.each(
    (["descending", "ascending", "shuffled"] as const).flatMap((order) =>
      [1_000, 100].map((pageSize) => ({ order, pageSize })),
    ),
  )("draw no question out to them that is about the beginning or the end of a range: %o", async (habits) => {
    const times = run(3, 500);
    const shop = archive({ times, ...habits });
    const asked = shop.asked;
    const parts: FinalPart[] = [];
    for await (const part of shop.forward(minute(0), () => minute(510), { known: times.slice(-4) }))
      parts.push(part);
    expect(timesOf(parts)).toEqual(times);
    // Where the oldest come first, a silence at the end takes a second answer, too.
    const ends = habits.order === "descending" ? 0 : 1;
    expect(asked.pages).toBeLessThanOrEqual(Math.ceil(500 / habits.pageSize) + CONFIRMED + ends);
  });
});

describe("rows that break the contract", () => {
  const bad = rowOf(minute(3), { close: "x" });
  const habits: Habits = { times: run(0, 10), broken: new Map([[minute(3), bad]]) };

  it("fail a read that is not to leave them out", async () => {
    const { forward } = archive(habits);
    const walk = async () => {
      for await (const _ of forward(minute(0), () => minute(10), { skipsRows: false }));
    };
    await expect(walk()).rejects.toThrow(ContractError);
    await expect(walk()).rejects.toThrow("result[6].close");
  });

  it("are left out after a third answer, named as unreadable, and said once", async () => {
    const { got, parts, dropped, asked } = await partsOf(habits, minute(0), minute(10));
    expect(got).toEqual(run(0, 10).filter((time) => time !== minute(3)));
    expect(parts.flatMap(({ unreadable }) => [...unreadable])).toEqual([minute(3)]);
    expect(dropped).toEqual([minute(3)]);
    expect(asked.pages).toBe(3);
  });

  it("are read where they are whole in a second answer", async () => {
    const broken = new Map<number, object>([[minute(3), bad]]);
    const shop = archive({ ...habits, broken });
    const parts: FinalPart[] = [];
    for await (const part of shop.forward(minute(0), () => minute(10))) {
      parts.push(part);
      broken.clear();
    }
    expect(timesOf(parts)).toEqual(run(0, 10));
    expect(shop.dropped).toEqual([]);
  });

  it("do not matter outside the range", async () => {
    for (const [from, to] of [
      [5, 10],
      [0, 2],
    ] as const) {
      const { got, dropped } = await partsOf(habits, minute(from), minute(to));
      expect([got, dropped]).toEqual([run(from, to - from), []]);
    }
  });

  it("name their interval where they are off its start", async () => {
    const broken = new Map([[minute(3), rowOf(minute(3) + 20_000)]]);
    const { parts } = await partsOf({ ...habits, broken }, minute(0), minute(10));
    expect(parts.flatMap(({ unreadable }) => [...unreadable])).toEqual([minute(3)]);
  });

  it("say so where they have no place", async () => {
    const broken = new Map([[0, { open: 1 }]]);
    const { parts, got, dropped } = await partsOf({ ...habits, broken }, minute(0), minute(10));
    expect(got).toEqual(run(0, 10));
    expect([parts.at(-1)!.hasUnplaced, dropped]).toEqual([true, [null]]);
  });

  it("do not hide a good row of the same interval, and of two good ones the fuller one counts", async () => {
    const one = await partsOf({ ...habits, broken: new Map([[0, bad]]) }, minute(0), minute(10));
    expect([one.got, one.dropped]).toEqual([run(0, 10), []]);
    const fuller = new Map([[0, rowOf(minute(3), { swaps: 5, close: 1 })]]);
    const two = await partsOf({ times: run(0, 10), broken: fuller }, minute(0), minute(10));
    expect(two.parts.flatMap(({ candles }) => candles)[3]).toMatchObject({ swaps: 5 });
  });
});
