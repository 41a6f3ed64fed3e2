import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BackwardWalk } from "../../../src/candles/read/backward.js";
import { FULL_PAGE } from "../../../src/candles/read/pages.js";
import { NetworkError } from "../../../src/errors.js";
import { archive, failingHabits, lastOf, minute, run, START, timesOf } from "./archive.js";

describe("the newest candles of a series", () => {
  it.each([1, 2, 100, 990, 2_500])("are exactly %d, a request a full page", async (count) => {
    const { got, parts, asked } = await lastOf({ times: run(0, 5_000) }, count, minute(4_000));
    expect(got).toEqual(run(4_000 - count, count));
    expect(parts[0]!.from).toBe(got[0]);
    expect(parts.at(-1)!.to).toBe(minute(4_000));
    expect(asked).toEqual({ pages: Math.ceil(count / FULL_PAGE), reports: 0 });
  });

  it("reads little too much where the market was busier before", async () => {
    for (const order of ["ascending", "descending"] as const) {
      const times = [...run(0, 20_000), ...run(20_000, 20, 20)];
      const { got, asked } = await lastOf({ times, order, pageSize: 100 }, 220, minute(20_400));
      expect(got).toEqual(times.slice(-220));
      expect(asked.pages).toBeLessThan(30);
    }
  });

  it("are found as far back as it takes", async () => {
    const times = [...run(0, 40), ...run(100_000, 10, 1_000)];
    const { got, asked } = await lastOf({ times, createdAt: null }, 30, minute(200_000));
    expect(got).toEqual(times.slice(-30));
    expect(asked.pages).toBeLessThan(60);
  });

  it("are fewer where there are fewer, and nothing is asked for before the creation", async () => {
    const times = run(5_000, 20);
    const { got, asked } = await lastOf({ times, createdAt: minute(5_000) }, 30, minute(6_000));
    expect(got).toEqual(times);
    expect(asked.pages).toBeLessThan(6);
    expect((await lastOf({ times: [], createdAt: minute(5_000) }, 30, minute(6_000))).got).toEqual([]);
  });

  it.each([minute(5_000), null])(
    "are found where a range from before the creation hides them (report: %s)",
    async (createdAt) => {
      const times = run(5_000, 200);
      const { got } = await lastOf({ times, strictBefore: minute(5_000), createdAt }, 500, minute(5_200));
      expect(got).toEqual(times);
    },
  );

  it("are those of any market", async () => {
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

  it("are not lost where an answer is empty for no reason", async () => {
    for (let whim = 0; whim < 6; whim += 1) {
      const habits = { times: run(0, 3_000), createdAt: minute(0), whims: new Set([whim]) };
      expect((await lastOf(habits, 2_000, minute(3_000))).got).toEqual(run(1_000, 2_000));
    }
  });

  it("are read on from where a failure struck", async () => {
    const habits = { times: run(0, 5_000), failures: new Set([1, 3]) };
    const shop = archive(habits);
    const walk: BackwardWalk = { parts: [] };
    for (let failures = 0; failures < 2; failures += 1)
      await expect(shop.backward(3_000, minute(5_000), walk)).rejects.toThrow(NetworkError);
    expect(timesOf(await shop.backward(3_000, minute(5_000), walk))).toEqual(run(2_000, 3_000));
    expect(shop.asked.pages).toBe(Math.ceil(3_000 / FULL_PAGE) + 2);
  });

  it("keep what the first pages of an answer have told where a later one fails", async () => {
    const shop = archive({ times: run(0, 5_000), pageSize: 100, failures: new Set([7]) });
    const walk: BackwardWalk = { parts: [] };
    await expect(shop.backward(900, minute(5_000), walk)).rejects.toThrow(NetworkError);
    expect(timesOf(walk.parts)).toEqual(run(4_300, 700));
    expect(timesOf(await shop.backward(900, minute(5_000), walk))).toEqual(run(4_100, 900));
  });

  it("keep what one page of an answer has told whose rows descend, where the next one fails", async () => {
    const habits = { times: run(0, 5_000), pageSize: 500, failures: new Set([1]) };
    const told = async (order: "ascending" | "descending" | "shuffled") => {
      const shop = archive({ ...habits, order });
      const walk: BackwardWalk = { parts: [] };
      await expect(shop.backward(900, minute(5_000), walk)).rejects.toThrow(NetworkError);
      const before = timesOf(walk.parts);
      expect(timesOf(await shop.backward(900, minute(5_000), walk))).toEqual(run(4_100, 900));
      return before;
    };
    expect(await told("descending")).toEqual(run(4_500, 500));
    // Nobody knows at which end of the range it lies.
    for (const order of ["ascending", "shuffled"] as const) expect(await told(order)).toEqual([]);
  });

  it("keep it where a service gives the oldest first, too", async () => {
    const shop = archive({ times: run(0, 5_000), pageSize: 100, order: "ascending", failures: new Set([7]) });
    const walk: BackwardWalk = { parts: [] };
    await expect(shop.backward(900, minute(5_000), walk)).rejects.toThrow(NetworkError);
    expect(timesOf(await shop.backward(900, minute(5_000), walk))).toEqual(run(4_100, 900));
    // Seven pages and the one that failed, then the last two, and a row more that joins them.
    expect(shop.asked.pages).toBeLessThanOrEqual(7 + 1 + 3);
  });

  it("are found up to the end though answers that give the oldest first are cut there, each after another row", async () => {
    const times = run(0, 2_000);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 12, max: 300 }),
        fc.nat(3),
        fc.nat(2),
        async (count, silent, cuts) => {
          const until = minute(2_000 + silent);
          // Each shows two rows of the range at least.
          const cut = (answer: number) =>
            times.slice(2_000 - count + silent + 2 + Math.floor((count * answer) / 4));
          const lacking = new Map(Array.from({ length: cuts }, (_, answer) => [answer, cut(answer)]));
          const { got } = await lastOf({ times, order: "ascending", lacking }, count, until);
          expect(got).toEqual(times.slice(-count));
        },
      ),
    );
  });

  it("are asked for in other words behind a cache that would give an answer again that is not whole", async () => {
    const lacking = new Map([[1, [minute(5_000 - FULL_PAGE)]]]);
    const habits = { times: run(0, 5_000), lacking, keeps: 60_000 };
    const { got, asked } = await lastOf(habits, 2_000, minute(5_000));
    expect(got).toEqual(run(3_000, 2_000));
    expect(asked.pages).toBe(4);
    // The third time, too: by the first words the first answer would come again.
    const twice = { ...habits, lacking: new Map([...lacking, [2, [minute(3_400)]]]) };
    const again = await lastOf(twice, 2_000, minute(5_000));
    expect(again.got).toEqual(run(3_000, 2_000));
    expect(again.asked.pages).toBe(5);
  });

  it("are those that any answer has shown, though the reading has failed since", async () => {
    const times = run(0, 5_000);
    // First the candle that the part after it begins with, then others that an answer before has shown.
    const failing = [5_000 - FULL_PAGE, 3_400, 3_500].map(
      (at, index) => [index + 1, [minute(at)]] as [number, number[]],
    );
    for (const lacked of [[], [minute(3_700)], run(3_500, 7, 71)]) {
      const shop = archive({ times, lacking: new Map([...failing, [4, lacked]]) });
      const walk: BackwardWalk = { parts: [] };
      await expect(shop.backward(2_000, minute(5_000), walk)).rejects.toThrow("it is not whole");
      expect(timesOf(await shop.backward(2_000, minute(5_000), walk))).toEqual(run(3_000, 2_000));
      expect(shop.asked.pages).toBeLessThanOrEqual(lacked.length === 0 ? 6 : 7);
    }
  });

  it("are those that any answer has shown, though the candle that the answers have to show is gone since", async () => {
    const gone = 5_000 - FULL_PAGE;
    const lacking = [1, 2, 3, 4, 5, 6].map(
      (page) => [page, [gone, ...(page === 4 ? [3_700] : [])].map(minute)] as const,
    );
    const { got } = await lastOf({ times: run(0, 5_000), lacking: new Map(lacking) }, 2_000, minute(5_000));
    expect(got).toEqual(run(2_999, 2_001).filter((timestamp) => timestamp !== minute(gone)));
  });

  it.each(["ascending", "descending"] as const)(
    "cost their pages, and those of a range that is half full, of a service with pages of 100 rows: %s",
    async (order) => {
      for (const count of [100, 900, 1_000, 3_000]) {
        const habits = { times: run(0, 20_000), pageSize: 100, order };
        const { got, asked } = await lastOf(habits, count, minute(20_000));
        expect(got).toEqual(run(20_000 - count, count));
        expect(asked.pages).toBeLessThanOrEqual(count / 100 + 4);
      }
    },
  );

  it("are not asked for in the same pages again where the pair is younger than they reach", async () => {
    // Nobody has traded for days, and many did before.
    const times = [...run(0, 1_300), minute(9_050), minute(9_080)];
    const habits = { times, createdAt: minute(0), pageSize: 79, order: "ascending" } as const;
    const { got, asked } = await lastOf(habits, 40, minute(9_100));
    expect(got).toEqual(times.slice(-40));
    expect(asked.pages).toBeLessThanOrEqual(Math.ceil(1_300 / 79) + 6);
  });

  it("are each given once, on from where a failure struck, whatever the pages and their order", async () => {
    const times = [...run(0, 60, 300), ...run(18_000, 5_000), ...run(23_000, 30, 100)];
    await fc.assert(
      fc.asyncProperty(failingHabits, fc.integer({ min: 1, max: 5_090 }), async (habits, count) => {
        const readOn = async (failures: ReadonlySet<number>) => {
          const shop = archive({ times, ...habits, createdAt: minute(0), failures });
          const walk: BackwardWalk = { parts: [] };
          for (let failed = 0; ; failed += 1) {
            try {
              const parts = await shop.backward(count, minute(26_100), walk);
              return { got: timesOf(parts), pages: shop.asked.pages, failed };
            } catch (error) {
              if (!(error instanceof NetworkError)) throw error;
            }
          }
        };
        const even = await readOn(new Set());
        const { got, pages, failed } = await readOn(habits.failures);
        expect(got).toEqual(times.slice(-count));
        expect(pages).toBeLessThanOrEqual(even.pages + 4 * failed + 12);
      }),
      { numRuns: 60 },
    );
  });

  it("keep what the first pages have told of a range that holds too many", async () => {
    // Denser the further back it goes.
    const times = [...run(0, 40_000), ...run(40_000, 20, 400)];
    const { got, asked } = await lastOf({ times }, 900, minute(48_000));
    expect(got).toEqual(times.slice(-900));
    expect(asked.pages).toBeLessThanOrEqual(5);
  });

  it.each([1_000, 8_000, 60_000])(
    "take one request for a silence of %i intervals at the end of an answer that gives the oldest first",
    async (silence) => {
      const times = run(0, 30, 3);
      const [from, until] = [minute(0), minute(90 + silence)];
      const read = async (order: "ascending" | "descending") => {
        const { got, asked } = await lastOf({ times, order, createdAt: from }, 20, until);
        expect(got).toEqual(times.slice(-20));
        return asked.pages;
      };
      expect(await read("ascending")).toBeLessThanOrEqual((await read("descending")) + 1);
    },
  );

  it("are found where a page ends just with the range, and the known candle after that is on the next one", async () => {
    const times = [...run(491, 378, 4), ...run(2_000, 172, 2)];
    for (let pageSize = 180; pageSize < 200; pageSize += 1) {
      const habits = { times, order: "ascending", pageSize, createdAt: START } as const;
      expect((await lastOf(habits, 423, minute(2_423))).got).toEqual(times.slice(-423));
      // Where that page fails nobody knows whether an answer lacks that candle.
      for (const failure of [3, 4, 5]) {
        const shop = archive({ ...habits, failures: new Set([failure]) });
        const walk: BackwardWalk = { parts: [] };
        const read = () => shop.backward(423, minute(2_423), walk);
        const parts = await read().catch((error) => {
          expect(error).toBeInstanceOf(NetworkError);
          return read();
        });
        expect(timesOf(parts)).toEqual(times.slice(-423));
      }
    }
  });

  it.each(["descending", "shuffled"] as const)(
    "cost little more than their pages, however uneven the market is: %s",
    async (order) => {
      const part = fc.record({
        step: fc.integer({ min: 1, max: 500 }),
        length: fc.integer({ min: 300, max: 30_000 }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(part, { minLength: 2, maxLength: 10 }),
          fc.integer({ min: 10, max: 2_000 }),
          fc.integer({ min: 100, max: 1_000 }),
          async (parts, count, pageSize) => {
            const times: number[] = [];
            let end = 0;
            for (const { step, length } of parts) {
              times.push(...run(end, Math.ceil(length / step), step));
              end += length;
            }
            const { got, asked } = await lastOf(
              { times, pageSize, order, createdAt: minute(0) },
              count,
              minute(end),
            );
            expect(got).toEqual(times.slice(-count));
            expect(asked.pages).toBeLessThanOrEqual(count / pageSize + 10);
          },
        ),
      );
    },
  );
});
