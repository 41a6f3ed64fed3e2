import type { MonoTypeOperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkTimeframe, checkWeekStart } from "../contract/input.js";
import type { AnyTimeframe, WeekStart } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { reduceBySeries } from "./by-series.js";
import { Resampler } from "./resampler.js";

/** How to resample. */
export interface ResampleOptions {
  /** The day on which weeks begin, in the source too; default `"monday"`. */
  weekStart?: WeekStart;
}

/**
 * Turns the candles of each series into those of a longer timeframe: 1min into 5min.
 *
 * ```marbles
 * events            a-b-c-d-e-f-|
 * resample("5min")  p-q-r-s-t---|
 *
 * a: new 12:00 = 1, closed       b: new 12:03 = 4, closed          c: new 12:04 = 3, open
 * d: updated 12:04 = 2, closed   e: new 12:05 = 6, open            f: updated 12:05 = 6, closed
 * p: new 12:00 = 1, open         q: updated 12:00 = 1→4, open      r: updated 12:00 = 1→3, open
 * s: updated 12:00 = 1→2, closed                                   t: new 12:05 = 6, open
 * ```
 *
 * Open comes from the first candle and close from the last one. High and low are the highest and the lowest of all. Flat
 * candles that fill gaps before the first swap of an interval do not count.
 * Volume and swaps are sums, added up again after each change. The source's timeframe has to nest in `timeframe`: that
 * is longer or the same, and 1w does not nest in 1M. Corrections and removals carry through to the longer candle: it is
 * `removed` with its last candle, and `new` with revision 0 if one comes back. `observedAt` is that of the event that
 * it follows from. `lateBy` and `live` are its own: it is due at the end of its interval, and its close is due the
 * source's `settle` later. An event that changes neither its values nor its status emits nothing.
 *
 * - *Open* while one of its candles is open, or while its end is not known to have passed.
 * - *Closed* once none in it is open, and the candle of its last interval has closed or any event of a later
 *   one has come. Where its last intervals hold no candle it closes with that event, as late as the next
 *   swap, or on time over a source with `fillGaps`. What comes after it has closed is a correction.
 * - *Final* once a candle of its last interval or of a later one is final; before that one a late candle
 *   could still turn up.
 *
 * If the source begins inside an interval, the first longer candle holds only the part that was seen; to avoid that,
 * let `since` be the start of an interval. The operator holds every candle until it is final, so do not filter out the
 * final events before it.
 *
 * Series may be merged; each is handled on its own. If an event is about a candle that is no newer than a final one, a
 * `new` event starts its series over, as after the service's clock was set back. Any other such event is left out, with
 * a warning of the process.
 *
 * Throws an `InvalidInputError` for an unknown timeframe or week start. The stream fails with that error at the first
 * event of a series whose candles do not nest.
 *
 * ```ts
 * import { type CandleEvent, closes, resample } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const fiveMinutes = (minutes: Observable<CandleEvent>) => minutes.pipe(resample("5min"), closes());
 * ```
 */
export function resample(
  timeframe: AnyTimeframe,
  options: ResampleOptions = {},
): MonoTypeOperatorFunction<CandleEvent> {
  checkTimeframe("timeframe", timeframe);
  checkNames(options, ["weekStart"]);
  const weekStart = checkWeekStart(options.weekStart);
  return reduceBySeries(() => new Resampler(timeframe, weekStart));
}
