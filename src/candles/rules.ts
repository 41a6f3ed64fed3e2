import type { Intervals } from "../timeframe.js";

/** When candles of a series close, and how long they may change after that. */
export interface CandleRules {
  readonly intervals: Intervals;
  /** How long after the end of an interval an answer can close its candle, in ms. */
  readonly settle: number;
  /** How many intervals before the running one may still change. */
  readonly revisionWindow: number;
}

/** The oldest interval that may still change at an instant: in the revision window, or not settled yet. */
export function windowStart(rules: CandleRules, instant: number): number {
  const window = rules.intervals.shift(rules.intervals.start(instant), -rules.revisionWindow);
  return Math.min(window, settledUntil(rules, instant));
}

/** The end of the intervals that an answer made at `instant` can close: they have been over for `settle` ms. */
export function settledUntil(rules: CandleRules, instant: number): number {
  return rules.intervals.start(instant - rules.settle);
}
