import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SeriesRead } from "../../../src/candles/read/range-reader.js";
import { readLast, readSlices } from "../../../src/candles/read/slices.js";
import { PairstreamError } from "../../../src/errors.js";
import { archive, bounds, type Habits, minute, NOW, options, run, slicesOf, timesOf } from "./archive.js";

/** What reads again, on from where it stopped, for as long as requests fail. */
type Walk = (shop: ReturnType<typeof archive>) => Promise<unknown>;

/** More than any of these walks meets. */
const MOST_FAILURES = 500;

async function untilRead<T>(walk: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await walk();
    } catch (error) {
      if (!(error instanceof PairstreamError) || failures > MOST_FAILURES) throw error;
    }
  }
}

const allSlices =
  (from: number, to: number): Walk =>
  async ({ reader, intervals }) => {
    const one = reader();
    const reads: SeriesRead[] = [];
    await untilRead(async () => {
      const reached = reads.at(-1)?.to ?? from;
      for await (const read of readSlices(one, intervals, reached, () => to, options)) reads.push(read);
    });
    return timesOf(reads);
  };

const lastCandles =
  (count: number, until: number): Walk =>
  async ({ reader, intervals }) => {
    const one = reader();
    const found: SeriesRead[] = [];
    return timesOf([...(await untilRead(() => readLast(one, intervals, count, until, options, found)))]);
  };

const bareSearch =
  (from: number, answered: number, end: number): Walk =>
  ({ reader }) => {
    const { seriesStart } = reader();
    return untilRead(() => seriesStart.findFirstAnswered(from, answered, end, options));
  };

describe("a search that failures interrupt", () => {
  const series = { network: "devnet" } as const;
  const opening = minute(5_000) + 20_000;
  const long: Habits = { times: run(5_000, 3_000), strictBefore: opening, series };
  const brief: Habits = { ...long, times: run(5_000, 300) };
  const short: Habits = { times: [...run(5_000, 4), minute(100_000)], strictBefore: minute(5_000), series };
  const seconds = { ...series, timeframe: "1s" } as const;
  const years = 10 * 365 * 86_400_000;

  /** With what a failure costs besides the request that failed: what leads to where it struck. */
  const searches: [string, number, Habits, Walk][] = [
    ["that goes through the halves", 2, long, bareSearch(minute(0), minute(7_000), minute(8_000))],
    ["in which candles are met", 5, long, allSlices(minute(0), minute(8_000))],
    ["which no candle ends", 5, short, allSlices(minute(0), minute(9_000))],
    ["that begins with the last candles", 8, long, lastCandles(5_000, minute(8_000))],
    ["of an old pair", 9, { ...short, series: seconds }, lastCandles(30, minute(100_001))],
    ["that finds nothing at all", 4, { times: [], series: seconds }, lastCandles(9, NOW)],
    ["of years of silence", 9, { times: [], series: seconds }, allSlices(NOW - years, NOW)],
  ];

  describe.each(searches)("%s", (_, again, habits, walk) => {
    describe.each(bounds)("%o", (bound) => {
      const played = async (failures: ReadonlySet<number>, more: Partial<Habits> = {}) => {
        const shop = archive({ ...habits, ...bound, ...more, failures }, NOW);
        const got = await walk(shop);
        return { got, pages: shop.asked.pages };
      };

      it("goes on wherever one strikes, for a few requests", async () => {
        const whole = await played(new Set());
        for (let failure = 0; failure < whole.pages; failure += 1) {
          const { got, pages } = await played(new Set([failure]));
          expect(got).toEqual(whole.got);
          expect(pages).toBeLessThanOrEqual(whole.pages + 1 + again);
        }
      });

      it("goes on however often they strike", async () => {
        const whole = await played(new Set());
        const strikes = Array.from({ length: 400 }, (_, index) => 11 * (index + 1));
        for (let first = 0; first < 11; first += 1) {
          const failures = new Set(strikes.map((strike) => strike - first));
          const { got, pages } = await played(failures);
          expect(got).toEqual(whole.got);
          const struck = [...failures].filter((failure) => failure < pages).length;
          expect(pages).toBeLessThanOrEqual(whole.pages + struck * (1 + again));
        }
      });
    });
  });

  it("is not cut short for good by answers that were empty for no reason as well", async () => {
    const strikes = fc.uniqueArray(fc.nat(70), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(strikes, strikes, fc.constantFrom(...bounds), async (whims, failures, bound) => {
        const troubles = { whims: new Set(whims), failures: new Set(failures) };
        const habits: Habits = { ...brief, ...bound, ...troubles };
        const shop = archive(habits);
        await allSlices(minute(0), minute(5_500))(shop);
        await lastCandles(900, minute(5_500))(shop);
        for (const trouble of Object.values(troubles)) trouble.clear();
        const { got } = await slicesOf(habits, minute(0), minute(5_500), shop);
        expect(got).toEqual(run(5_001, 299));
      }),
      { numRuns: 200 },
    );
  });
});
