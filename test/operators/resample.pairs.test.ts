import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyBook } from "../../src/candles/read/book.js";
import { judge } from "../../src/candles/read/judge.js";
import { longerBook } from "../../src/candles/read/longer-book.js";
import {
  type AnyTimeframe,
  applyCandleEvent,
  type Candle,
  replayCandles,
  resample,
  TIMEFRAMES,
} from "../../src/index.js";
import { intervalsOf, nests } from "../../src/timeframe.js";
import { pageOf } from "../candles/minute-candles.js";

/** Timeframes of every unit. */
const ANY: readonly AnyTimeframe[] = [
  ...TIMEFRAMES,
  ...(["2s", "15s", "45s", "90s", "2min", "3min", "15min", "20min", "45min", "90min"] as const),
  ...(["2h", "3h", "6h", "8h", "2d", "3d", "7d", "14d", "2w", "4w", "2M", "3M", "4M", "6M"] as const),
];
const PAIRS = ANY.flatMap((source) =>
  ANY.filter((target) => target !== source && nests(source, target)).map(
    (target) => [source, target] as const,
  ),
);
const START = Date.UTC(2023, 11, 27, 22);

/** Candles of a timeframe, some intervals without. */
const candlesOf = (timeframe: AnyTimeframe) => {
  const row = fc.record({ skipped: fc.nat(3), price: fc.integer({ min: 1, max: 99 }), range: fc.nat(9) });
  return fc.array(row, { minLength: 1, maxLength: 30 }).map((rows) => {
    const { start, shift } = intervalsOf(timeframe);
    let timestamp = start(START);
    return rows.map(({ skipped, price, range }): Candle => {
      timestamp = shift(timestamp, 1 + skipped);
      return {
        timestamp,
        open: price,
        high: price + range,
        low: price,
        close: price + range,
        volume: price,
        swaps: 1,
      };
    });
  });
};

/** Made anew of all of them, by the plainest code. */
function batch(candles: readonly Candle[], target: AnyTimeframe): Candle[] {
  const { start } = intervalsOf(target);
  return [...new Set(candles.map(({ timestamp }) => start(timestamp)))].map((timestamp) => {
    const inside = candles.filter((candle) => start(candle.timestamp) === timestamp);
    return {
      timestamp,
      open: inside[0]!.open,
      high: Math.max(...inside.map(({ high }) => high)),
      low: Math.min(...inside.map(({ low }) => low)),
      close: inside.at(-1)!.close,
      volume: inside.reduce((sum, { volume }) => sum + volume, 0),
      swaps: inside.length,
    };
  });
}

describe("every pair of timeframes that nests", () => {
  it("is many", () => {
    expect(PAIRS.length).toBeGreaterThan(300);
  });

  it.each(PAIRS)("%s in %s: events and books give what a batch gives", (source, target) => {
    const series = { network: "mainnet", pairAddress: "pair", currency: "usd" } as const;
    const [intervals, frames] = [intervalsOf(source), intervalsOf(target)];
    fc.assert(
      fc.property(candlesOf(source), fc.nat(30), (candles, cut) => {
        const expected = batch(candles, target);
        const longer = new Map<number, Candle>();
        replayCandles(candles, { ...series, timeframe: source })
          .pipe(resample(target))
          .subscribe((event) => applyCandleEvent(longer, event));
        expect([...longer.values()]).toEqual(expected);

        // The same out of two answers: the first may end within a longer candle.
        const rules = { intervals, settle: 0, revisionWindow: 0, frames };
        const begin = frames.start(candles[0]!.timestamp);
        let [book, shown] = [emptyBook(begin), emptyBook(begin)];
        const made = new Map<number, Candle>();
        const ends = [
          intervals.end((candles[cut] ?? candles[0]!).timestamp),
          frames.end(candles.at(-1)!.timestamp),
        ];
        for (const to of ends) {
          const known = candles.filter(({ timestamp }) => timestamp < to);
          const range = { from: book.finalUntil, to, bornAt: candles[0]!.timestamp, isEmpty: false };
          book = judge(rules, book, pageOf(to, [0, 0], {}, { ...range, candles: known })).book;
          const step = longerBook(frames, intervals, shown, book);
          shown = step.book;
          for (const { candle } of step.changes) made.set(candle.timestamp, candle);
        }
        expect([...made.values()]).toEqual(expected);
        expect(shown.entries).toEqual([]);
      }),
      { numRuns: 10 },
    );
  });
});
