import type { MonoTypeOperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkChoice, checkWeekStart } from "../contract/input.js";
import { TIMEFRAMES, type Timeframe, type WeekStart } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { reduceBySeries } from "./by-series.js";
import { Resampler } from "./resampler.js";

/** How to resample. */
export interface ResampleOptions {
  /** Where `1w` begins, in the source too; default `"monday"`. */
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
 * Open is that of the first candle and close that of the last one, high and low are the outermost, volume and
 * swaps are sums, added up anew after each change. `timeframe` is one in which the source's nests: longer or
 * the same, and 1w not in 1M. A candle of the longer timeframe carries corrections and removals through: it
 * is `removed` with its last candle, and `new` with revision 0 should one come back. `observedAt` is that of
 * the event that it follows from; `lateBy` and `live` are its own: it is due with its interval's end, and as closed
 * the source's `settle` later. An event that changes neither its values nor its status emits nothing.
 *
 * - *Open* while a candle in it is open, or its end is not known to have passed.
 * - *Closed* once none in it is open, and the candle of its last interval has closed or any event of a later
 *   one has come. Where its last intervals hold no candle it closes with that event, as late as the next
 *   swap, or on time over a source with `fillGaps`. What comes after it has closed is a correction.
 * - *Final* once a candle of its last interval or of a later one is final; before that one a late candle
 *   could still turn up.
 *
 * Where the source begins inside an interval its first candle holds the part that was seen; let `since` be
 * the start of one. Do not filter out the final events before it: what is not final is held.
 *
 * Series may be merged; each is on its own. An event about a candle no newer than a final one begins its series anew
 * where it is `new`, as after the service's clock was set back; any other is left out, with a warning of the process.
 *
 * Throws an `InvalidInputError` for what is no timeframe or week start. The stream fails with one at the first event of
 * a series whose candles do not nest.
 *
 * ```ts
 * import { type CandleEvent, closes, resample } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const fiveMinutes = (minutes: Observable<CandleEvent>) => minutes.pipe(resample("5min"), closes());
 * ```
 */
export function resample(
  timeframe: Timeframe,
  options: ResampleOptions = {},
): MonoTypeOperatorFunction<CandleEvent> {
  checkChoice("timeframe", timeframe, TIMEFRAMES);
  checkNames(options, ["weekStart"]);
  const weekStart = checkWeekStart(options.weekStart);
  return reduceBySeries(() => new Resampler(timeframe, weekStart));
}
