import type { Intervals } from "../timeframe.js";

/** When candles of a series close, and how long they may change after that. */
export interface CandleRules {
  readonly intervals: Intervals;
  /** How long after the end of an interval an answer can close its candle, in ms. */
  readonly settle: number;
  /** So many intervals before the running one may still change. */
  readonly revisionWindow: number;
  /** Longer intervals, whose candles are made of these candles. Then `revisionWindow` counts longer intervals. */
  readonly frames?: Intervals;
}

/** The longest window, in intervals. With those that have not settled it fits one page. */
export const MOST_WINDOW = 900;

/** The oldest interval that may still change at an instant: in the revision window, or not settled yet. */
export function windowStart(rules: CandleRules, instant: number): number {
  const { intervals, settle, revisionWindow, frames = intervals } = rules;
  const window = frames.shift(frames.start(instant), -revisionWindow);
  const unsettled = frames.start(instant - settle);
  // A longer interval may not fit one page.
  const earliest = intervals.shift(intervals.start(instant), -MOST_WINDOW);
  return Math.max(Math.min(window, unsettled), earliest);
}

/** The end of the intervals that an answer made at `instant` can close: they have been over for `settle` ms. */
export function settledUntil(rules: CandleRules, instant: number): number {
  return rules.intervals.start(instant - rules.settle);
}
