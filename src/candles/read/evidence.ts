import type { CandleRules } from "../rules.js";
import type { Page } from "./pages.js";

/** Two answers are two only if the service made them so far apart, in ms: a cache gives the same one again. */
export const APART = 1_000;
/** A candle after which nothing is shown is gone after so long, in ms, or after an interval if that is longer: a replica may lag. */
const NEWEST_END = 5_000;
/** In so many answers a row is read before it is given up. */
const BROKEN_READS = 3;

export function isApart(at: number, before: number, by = APART): boolean {
  return at >= before + by;
}

/**
 * Whether a candle that an answer lacks is gone, if answers have lacked it since `missedAt`. An answer up to now
 * that shows nothing newer is likelier to come from a machine that is behind.
 */
export function isGone({ intervals }: CandleRules, page: Page, timestamp: number, missedAt: number): boolean {
  const { at, to } = page;
  const behind = Math.max(NEWEST_END, intervals.end(timestamp) - timestamp);
  const mayBeBehind = to > at - behind;
  return isApart(at, missedAt, mayBeBehind && isNewestEnd(page, timestamp) ? behind : APART);
}

/** Whether an answer shows nothing newer. */
export function isNewestEnd({ candles, broken }: Page, timestamp: number): boolean {
  return timestamp > Math.max(candles.at(-1)?.timestamp ?? 0, broken.at(-1) ?? 0);
}

/** A row that breaks the contract. */
export interface BrokenRow {
  /** How many answers in a row have held it, and when the last of them was made. */
  readonly reads: number;
  readonly at: number;
  /** When the first answer was made that lacks it. */
  readonly missedAt?: number | undefined;
}

/** A row that is broken in another answer as well. A copy of one answer is none. */
export function readAgain(before: BrokenRow | undefined, at: number): BrokenRow {
  if (before === undefined) return { reads: 1, at };
  return isApart(at, before.at) ? { reads: before.reads + 1, at } : { reads: before.reads, at: before.at };
}

/** Whether a broken row may still turn out to be readable. */
export function isDoubted(row: BrokenRow | undefined): boolean {
  return row !== undefined && row.reads < BROKEN_READS;
}
