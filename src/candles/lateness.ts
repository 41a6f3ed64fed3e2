import { intervalsOf, startFrom } from "../timeframe.js";
import type { CandleEvent, CandleStatus } from "./event.js";
import type { CandleRules } from "./rules.js";

/** Bounds of how late an event may be and still be in time, in ms. */
const LEAST_PATIENCE = 5_000;
const MOST_PATIENCE = 60_000;
/** Where intervals are so long that this part of one is more, it is the bound. */
const MOST_PART = 0.01;

/**
 * When a candle is due with a status, by the service's clock: open until its interval ends; closed `settle` after that;
 * final at the first closing poll that finds it out of the revision window. One that skips `closed` (`isFirstClose`
 * with `final`) is due when it should have closed.
 */
export function dueAt(
  { intervals, settle, revisionWindow }: CandleRules,
  timestamp: number,
  status: CandleStatus,
  isFirstClose: boolean,
): number {
  const end = intervals.end(timestamp);
  if (status === "open") return end;
  if (status === "closed" || isFirstClose) return end + settle;
  const leavesWindow = intervals.shift(timestamp, revisionWindow + 1);
  return Math.max(end, startFrom(intervals, leavesWindow - settle)) + settle;
}

/** How late something comes that is due at one instant and received at another, in ms; never less than 0. */
export function lateness(received: number, due: number): number {
  return Math.max(0, received - due);
}

/** Whether what comes so late is in time for an interval of that length, all in ms. */
export function isInTime(lateBy: number, length: number): boolean {
  const most = Math.max(MOST_PATIENCE, MOST_PART * length);
  return lateBy <= Math.min(Math.max(length / 2, LEAST_PATIENCE), most);
}

/** When an event was due, by the clock that showed `received` when the event came. */
export function dueOf({ status, lateBy, observedAt, candle, series }: CandleEvent, received: number): number {
  if (lateBy > 0) return received - lateBy;
  // An open candle that came in time is late only if it is passed on after its interval has ended.
  return status === "open" ? received + (endOf(candle.timestamp, series.timeframe) - observedAt) : received;
}

/** The end of the interval that begins at `timestamp`. It needs no `weekStart`, because all weeks have one length. */
export function endOf(timestamp: number, timeframe: CandleEvent["series"]["timeframe"]): number {
  return intervalsOf(timeframe).shift(timestamp, 1);
}
