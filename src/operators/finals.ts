import type { MonoTypeOperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { type CloseOptions, checkCloseOptions, mapBySeries } from "./by-series.js";

/**
 * Emits, for each candle, the event that makes it final, with everything that is on that event.
 *
 * ```marbles
 * events    a-b-c-d-e-f-|
 * finals()  ------d---f-|
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   c: updated 12:00 = 7, closed
 * d: updated 12:00 = 7, final    e: new 12:01 = 8, open         f: new 12:02 = 9, final
 * ```
 *
 * With `maxAge`, an event that comes later than that is left out. Series may be merged; each is handled on its own. If
 * an event is about a candle that is no newer than a final one, a `new` event starts its series over, as after the
 * service's clock was set back. Any other such event is left out, with a warning of the process. Throws an
 * `InvalidInputError` if `maxAge` is not a number of at least 0.
 *
 * ```ts
 * import { type CandleEvent, finals } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const store = (events: Observable<CandleEvent>, write: (line: string) => void) =>
 *   events.pipe(finals()).subscribe(({ candle }) => write(JSON.stringify(candle)));
 * ```
 */
export function finals<E extends CandleEvent>(options: CloseOptions = {}): MonoTypeOperatorFunction<E> {
  const maxAge = checkCloseOptions(options);
  return mapBySeries<E, object, E>(
    () => NOTHING,
    (_, event) =>
      event.status === "final" && event.type !== "removed" && event.lateBy <= maxAge ? event : undefined,
  );
}

/** It remembers nothing but which candle is final. */
const NOTHING = Object.freeze({});
