import fc from "fast-check";
import { type CandleBook, emptyBook } from "../../../src/candles/live/book.js";
import type { ClockReading, ReadVerdict, WholeRead } from "../../../src/candles/live/plan-read.js";
import type { SeriesRead } from "../../../src/candles/read/range-reader.js";
import { MINUTE, MINUTES, minuteCandle, readOf } from "../minute-candles.js";

/** All instants lie in these minutes, half of them among the last ones, and so do all candles. */
export const FIRST = 1_000;
export const LAST = 3_000;

export const instants = fc.oneof(
  fc.integer({ min: FIRST * MINUTE, max: LAST * MINUTE }),
  fc.integer({ min: (LAST - 8) * MINUTE, max: LAST * MINUTE }),
);

const minutes = fc.integer({ min: LAST - 8, max: LAST });
export const epochs = fc.constantFrom(0, 1);

export const clocks: fc.Arbitrary<ClockReading> = fc.record({
  now: instants,
  epoch: epochs,
  isConfirmed: fc.boolean(),
  isContradicted: fc.boolean(),
});

/** The clock a poll mostly has: it runs on, and nothing contradicts it. */
export const steady = (now: number): ClockReading => ({
  now,
  epoch: 0,
  isConfirmed: true,
  isContradicted: false,
});

export const books: fc.Arbitrary<CandleBook> = fc
  .record({
    from: instants,
    covered: fc.nat(5),
    entries: fc.uniqueArray(minutes, { maxLength: 4 }),
    epoch: epochs,
  })
  .map(({ from, covered, entries, epoch }) => {
    const start = Math.min(MINUTES.start(from), ...entries.map((minute) => minute * MINUTE));
    const kept = entries
      .sort((a, b) => a - b)
      .map((minute) => ({
        candle: minuteCandle(minute),
        status: "open" as const,
        revision: 0,
        isMissing: false,
      }));
    return { ...emptyBook(start), coveredUntil: start + covered * MINUTE, entries: kept, epoch };
  });

export const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined, freq: 2 });

export const reads: fc.Arbitrary<SeriesRead> = fc
  .record({
    at: instants,
    length: fc.nat(8),
    end: fc.constantFrom(LAST + 1, LAST + 1, LAST, LAST - 2),
    candles: fc.uniqueArray(minutes, { maxLength: 4 }),
    unreadable: fc.uniqueArray(minutes, { maxLength: 1 }),
    hasUnidentifiedRow: fc.boolean(),
    isWitnessed: fc.boolean(),
    lacks: maybe(minutes),
    epoch: epochs,
  })
  .map(({ at, length, end, candles, unreadable, lacks, ...rest }) => {
    const [from, to] = [end - 1 - length, end];
    const inside = candles.filter((minute) => minute >= from && minute < to);
    const shown = Object.fromEntries(inside.map((minute) => [minute, 1]));
    return {
      ...readOf(at, [from, to], shown, { unreadable: new Set(unreadable.map((minute) => minute * MINUTE)) }),
      ...rest,
      lacks: lacks && lacks * MINUTE,
      sentAt: at,
    };
  });

export const isWhole = (verdict: ReadVerdict): verdict is WholeRead =>
  typeof verdict === "object" && "isLast" in verdict;
