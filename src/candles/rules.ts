import type { Intervals } from "../timeframe.js";

/** How long candles of a series stay open, and under watch. */
export interface CandleRules {
  readonly intervals: Intervals;
  /** ms after the end of an interval before a look at it can close its candle. */
  readonly settle: number;
  /** How many intervals before the running one may still change. */
  readonly revisionWindow: number;
}

/** The oldest interval that may still change at an instant: in the revision window, or not settled yet. */
export function windowStart(rules: CandleRules, instant: number): number {
  const window = rules.intervals.shift(rules.intervals.start(instant), -rules.revisionWindow);
  return Math.min(window, settledUntil(rules, instant));
}

/** The end of the intervals that can be closed by a look at `instant`: those over for `settle` ms. */
export function settledUntil(rules: CandleRules, instant: number): number {
  return rules.intervals.start(instant - rules.settle);
}
