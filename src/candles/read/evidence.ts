import { APART, isApart, LONGEST_LAG } from "../../poll/apart.js";
import type { CandleRules } from "../rules.js";
import type { Page } from "./page.js";

/** After so many answers that hold it a broken row is given up. */
const BROKEN_READS = 3;

/** Where the silence ends that an answer begins with, if it does: at its first row, or its end. */
export function firstRowOf({ candles, broken, to }: Pick<Page, "candles" | "broken" | "to">): number {
  return Math.min(candles[0]?.timestamp ?? to, broken[0] ?? to);
}

/**
 * Whether a candle that an answer lacks is gone, if answers have lacked it since `missedAt`. That takes longer where the answer
 * is about the present and shows nothing newer: it may come from a machine that lags. Then it is an interval if that is longer; a
 * second less is enough of one: a `Date` tells no more, and of two polls that lie an interval apart the second counts.
 */
export function isGone({ intervals }: CandleRules, page: Page, timestamp: number, missedAt: number): boolean {
  const { at, to } = page;
  const lag = Math.max(LONGEST_LAG, intervals.end(timestamp) - timestamp - APART);
  const mayLag = to > at - lag && timestamp > lastRowOf(page);
  return isApart(at, missedAt, mayLag ? lag : APART);
}

/** The last row of an answer; 0 where there is none. */
export function lastRowOf({ candles, broken }: Page): number {
  return Math.max(candles.at(-1)?.timestamp ?? 0, broken.at(-1) ?? 0);
}

/** A row that breaks the contract. */
export interface BrokenRow {
  /** How many answers have held it, copies left out, and when the last of them was made. */
  readonly reads: number;
  readonly at: number;
  /** When the first answer was made that lacks it. */
  readonly missedAt?: number | undefined;
}

/** A broken row after one more answer that holds it. A copy of an answer does not count. */
export function readAgain(before: BrokenRow | undefined, at: number): BrokenRow {
  if (before === undefined) return { reads: 1, at };
  return isApart(at, before.at) ? { reads: before.reads + 1, at } : { reads: before.reads, at: before.at };
}

/** Whether a row is broken, and may turn out to be readable. */
export function mayBeReadYet(row: BrokenRow | undefined): boolean {
  return row !== undefined && row.reads < BROKEN_READS;
}
