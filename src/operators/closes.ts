import type { MonoTypeOperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { type CloseOptions, checkCloseOptions, mapBySeries } from "./by-series.js";

/**
 * Emits the first event of each candle that says closed or final, with all that is on it: each candle once.
 *
 * ```marbles
 * events    a-b-c-d-e-f-|
 * closes()  --b-------f-|
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   c: updated 12:00 = 7, closed
 * d: updated 12:00 = 7, final    e: new 12:01 = 8, open         f: updated 12:01 = 8, final
 * ```
 *
 * Later corrections of a candle are not emitted. A candle that is removed and comes back is not emitted again. With
 * `maxAge`, a close that comes later than that is left out, and its candle is not emitted as final either. The closes
 * of the history are emitted too, with `live` set to `false`. After an outage, only the newest of the closes that were
 * missed is live.
 *
 * Series may be merged; each is handled on its own. If an event is about a candle that is no newer than a final one, a
 * `new` event starts its series over, as after the service's clock was set back. Any other such event is left out, with
 * a warning of the process. Throws an `InvalidInputError` where `maxAge` is not a number of at least 0.
 *
 * ```ts
 * import { type CandleEvent, closes } from "pairstream";
 * import { filter, map, merge, type Observable } from "rxjs";
 *
 * const closingPrices = (...pairs: Observable<CandleEvent>[]) =>
 *   merge(...pairs).pipe(
 *     closes(),
 *     filter((event) => event.live),
 *     map(({ series, candle }) => [series.pairAddress, candle.close]),
 *   );
 * ```
 */
export function closes<E extends CandleEvent>(options: CloseOptions = {}): MonoTypeOperatorFunction<E> {
  const maxAge = checkCloseOptions(options);
  return mapBySeries<E, Set<number>, E>(
    (former) => new Set(former),
    (closed, event) => (isFirstClose(closed, event) && event.lateBy <= maxAge ? event : undefined),
  );
}

/** `closed` holds the timestamps of candles that have closed and are not final yet, so it stays small. */
function isFirstClose(closed: Set<number>, { type, status, candle: { timestamp } }: CandleEvent): boolean {
  if (type === "removed" || status === "open") return false;
  const isFirst = !closed.has(timestamp);
  if (status === "closed") closed.add(timestamp);
  // Candles become final in ascending order: no event follows about a candle that is no newer than a final one.
  else for (const older of closed) if (older <= timestamp) closed.delete(older);
  return isFirst;
}
