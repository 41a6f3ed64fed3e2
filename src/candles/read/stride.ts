import type { Span } from "../../contract/store.js";
import type { Intervals } from "../../timeframe.js";
import type { Page } from "./page.js";
import { FULL_PAGE, type Wanted } from "./pages.js";

/** Ranges are sized to hold about this many candles, and are at most so many times longer than the one before. */
const AIMED_CANDLES = 900;
const GROWTH = 8;
/** The same after an answer with candles, which tells how densely they lie. */
const SPARSE_GROWTH = 64;
/** So many times as far as is likely needed, as candles lie unevenly. */
const SPARE = 4;
/** So many rows services give at least: a shorter range saves nothing. */
const SMALL_PAGE = 100;
/** A long range with more candles than this is read again in shorter ones. */
const MOST_CANDLES = 3_000;

/** How far a walk along a series goes with its next range. */
export interface Stride {
  /** In intervals. */
  readonly length: number;
  /** How far the last ranges were silent, in the walk's direction; what comes next shows whether that is so. */
  readonly silentTo?: number | undefined;
  /** How many more ranges of this length lie in a longer one that held too many candles; none of them is longer. */
  readonly left?: number | undefined;
}

/** One page, however many candles there are. */
export const FIRST_STRIDE: Stride = { length: FULL_PAGE };

/** The stride after an answer. */
export function strideAfter({ length, left }: Stride, page: Page): Stride {
  const found = inRange(page);
  const fitting = Math.floor((length * AIMED_CANDLES) / Math.max(1, found));
  const growth = left !== undefined ? 1 : found > 0 ? SPARSE_GROWTH : GROWTH;
  return {
    length: Math.max(FULL_PAGE, Math.min(fitting, length * growth)),
    left: left !== undefined && left > 1 ? left - 1 : undefined,
  };
}

/** The stride for a range that holds too many candles. */
export function shorterStride(stride: Stride, intervals: Intervals, range: Span): Stride {
  const { length, silentTo } = coveredBy(stride, intervals, range);
  return { length: Math.max(FULL_PAGE, Math.floor(length / GROWTH)), silentTo, left: GROWTH };
}

/** As far as a range has gone, where its answer is about a part of it. */
export function coveredBy(stride: Stride, intervals: Intervals, { from, to }: Span): Stride {
  return { ...stride, length: Math.min(stride.length, intervals.count(from, to)) };
}

/** How many candles an answer shows, besides known ones from before its range. */
function inRange({ candles, from }: Page): number {
  return candles.filter(({ timestamp }) => timestamp >= from).length;
}

/** The stride to so many more candles, if they lie as densely as those of an answer that has shown some. */
export function strideToFind(stride: Stride, page: Page, missing: number): Stride {
  const { length, left } = strideAfter(stride, page);
  const needed = Math.ceil((SPARE * stride.length * missing) / Math.max(1, inRange(page)));
  return { length: Math.max(SMALL_PAGE, Math.min(needed, length)), left };
}

/** Whether an answer shows nothing before the end of its range, and nothing says that it should. */
export function isSilent(page: Page): boolean {
  const isEmpty = page.candles.length + page.broken.length + page.lacking.length === 0;
  return isEmpty && !page.hasUnplaced && !page.isInDoubt && !page.isUnfinished;
}

/** Of a range that may hold more than a page, no more is read than a few pages; `missing`: how many candles are wanted of it. */
export function limitOf({ length }: Stride, missing = MOST_CANDLES): Pick<Wanted, "mostCandles"> {
  return { mostCandles: length <= FULL_PAGE ? Infinity : Math.min(MOST_CANDLES, missing) };
}

/** The end of the range that begins at `from`, ascending; `opening`: where the series begins, as far as that is known. */
export function endOfRange(
  intervals: Intervals,
  { length, silentTo = -Infinity }: Stride,
  from: number,
  opening: number | undefined,
  until: number,
): number {
  const begin = intervals.start(Math.min(until, Math.max(from, silentTo, opening ?? from)));
  const end = intervals.shift(begin, Math.min(length, intervals.count(begin, until)));
  return Math.max(end, intervals.end(from));
}

/** The start of the range that ends at `to`, descending. */
export function startOfRange(
  intervals: Intervals,
  { length, silentTo = Infinity }: Stride,
  to: number,
  earliest: number,
): number {
  const begin = Math.min(to, silentTo);
  return intervals.shift(begin, -Math.min(length, intervals.count(earliest, begin)));
}
