import type { CandleEvent } from "../../candles/event.js";
import { isInTime, lateness } from "../../candles/lateness.js";
import { intervalsOf } from "../../timeframe.js";

/** When what an event says was due, by a clock that showed `received` as it came. */
export function dueOf({ status, lateBy, observedAt, candle, series }: CandleEvent, received: number): number {
  if (lateBy > 0) return received - lateBy;
  // Of what comes early only the running candle can be told late still, without a change of its own.
  return status === "open" ? received + (endOf(candle.timestamp, series.timeframe) - observedAt) : received;
}

/** How an event stands in time where it is told again, or late, by the clock of `due`. */
export function toldAt(
  now: number,
  due: number,
  timestamp: number,
  timeframe: CandleEvent["series"]["timeframe"],
): { readonly lateBy: number; readonly isInTime: boolean } {
  const lateBy = lateness(now, due);
  return { lateBy, isInTime: isInTime(lateBy, endOf(timestamp, timeframe) - timestamp) };
}

/** A week is as long wherever it begins. */
function endOf(timestamp: number, timeframe: CandleEvent["series"]["timeframe"]): number {
  return intervalsOf(timeframe).shift(timestamp, 1);
}
