import { filter, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import type { Candle } from "../contract/model.js";

/**
 * Emits each candle once, when it can no longer change.
 *
 * ```marbles
 * events    a-b-c-d-e-f-|
 * finals()  ------p---q-|
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   c: updated 12:00 = 7, closed
 * d: updated 12:00 = 7, final    e: new 12:01 = 8, open         f: new 12:02 = 9, final
 * p: 12:00 = 7                   q: 12:02 = 9
 * ```
 *
 * ```ts
 * import { type CandleEvent, finals } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const store = (events: Observable<CandleEvent>, write: (line: string) => void) =>
 *   events.pipe(finals()).subscribe((candle) => write(JSON.stringify(candle)));
 * ```
 */
export function finals(): OperatorFunction<CandleEvent, Candle> {
  // No state: a final candle is never emitted again, so that the event which says so is the only one.
  return (events) =>
    events.pipe(
      filter((event) => event.status === "final" && event.type !== "removed"),
      map((event) => event.candle),
    );
}
