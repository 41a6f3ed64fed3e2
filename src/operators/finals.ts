import { filter, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import type { Candle } from "../contract/model.js";

/**
 * Emits each candle once, when it can no longer change.
 *
 * ```text
 * events    a(open)---a(closed)---a(closed, corrected)---a(final)---b(final)--|
 *           finals()
 *           ----------------------------------------------a---------b---------|
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
