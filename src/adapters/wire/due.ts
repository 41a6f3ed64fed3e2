import type { CandleEvent } from "../../candles/event.js";
import { isInTime, lateness } from "../../candles/lateness.js";
import { intervalsOf } from "../../timeframe.js";

/** When an event was due, by the clock that showed `received` when the event came. */
export function dueOf({ status, lateBy, observedAt, candle, series }: CandleEvent, received: number): number {
  if (lateBy > 0) return received - lateBy;
  // An open candle that came in time is late only if it is passed on after its interval has ended.
  return status === "open" ? received + (endOf(candle.timestamp, series.timeframe) - observedAt) : received;
}

/** How late an event is if it is passed on at `now`, and whether that is in time; `now` and `due` are by one clock. */
export function toldAt(
  now: number,
  due: number,
  timestamp: number,
  timeframe: CandleEvent["series"]["timeframe"],
): { readonly lateBy: number; readonly isInTime: boolean } {
  const lateBy = lateness(now, due);
  return { lateBy, isInTime: isInTime(lateBy, endOf(timestamp, timeframe) - timestamp) };
}

/** The end of the interval that begins at `timestamp`. It needs no `weekStart`, because all weeks have one length. */
function endOf(timestamp: number, timeframe: CandleEvent["series"]["timeframe"]): number {
  return intervalsOf(timeframe).shift(timestamp, 1);
}
