import type { Intervals } from "../timeframe.js";

/** When candles of a series close, and how long they may change after that. */
export interface CandleRules {
  readonly intervals: Intervals;
  /** How long after the end of an interval an answer can close its candle, in ms. */
  readonly settle: number;
  /** How many intervals before the running one may still change. */
  readonly revisionWindow: number;
  /** The longer intervals whose candles are made of these. `revisionWindow` counts them, and each of them may change as a whole. */
  readonly frames?: Intervals;
}

/** So many intervals before the running one fit one page, with those that have not settled. */
export const MOST_WINDOW = 900;

/** The oldest interval that may still change at an instant: in the revision window, or not settled yet. */
export function windowStart(rules: CandleRules, instant: number): number {
  const { intervals, settle, revisionWindow, frames = intervals } = rules;
  const window = frames.shift(frames.start(instant), -revisionWindow);
  // A frame may hold more than one answer does.
  const most = intervals.shift(intervals.start(instant), -MOST_WINDOW);
  return Math.min(
    Math.max(Math.min(window, frames.start(instant - settle)), most),
    settledUntil(rules, instant),
  );
}

/** The end of the intervals that an answer made at `instant` can close: they have been over for `settle` ms. */
export function settledUntil(rules: CandleRules, instant: number): number {
  return rules.intervals.start(instant - rules.settle);
}
