import { defer, filter, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import type { Candle } from "../contract/model.js";

/**
 * Emits each candle of one series once, when it is first known as closed or final.
 *
 * ```marbles
 * events    a-b-c-d-e-f-|
 * closes()  --p-------q-|
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   c: updated 12:00 = 7, closed
 * d: updated 12:00 = 7, final    e: new 12:01 = 8, open         f: updated 12:01 = 8, final
 * p: 12:00 = 6                   q: 12:01 = 8
 * ```
 *
 * A correction of a candle that has been emitted is not emitted. A candle that was removed and comes back has a new
 * life and closes anew.
 *
 * ```ts
 * import { type CandleEvent, closes } from "pairstream";
 * import { map, type Observable } from "rxjs";
 *
 * const closingPrices = (events: Observable<CandleEvent>) =>
 *   events.pipe(
 *     closes(),
 *     map((candle) => candle.close),
 *   );
 * ```
 */
export function closes(): OperatorFunction<CandleEvent, Candle> {
  return (events) =>
    defer(() => {
      const closed = new Set<number>();
      return events.pipe(
        filter((event) => isFirstClose(closed, event)),
        map((event) => event.candle),
      );
    });
}

/** Keeps in `closed` the timestamps of candles that have closed and are not final yet, so that it stays small. */
function isFirstClose(closed: Set<number>, { type, status, candle: { timestamp } }: CandleEvent): boolean {
  if (type === "removed") {
    closed.delete(timestamp);
    return false;
  }
  if (status === "open") return false;
  const isFirst = !closed.has(timestamp);
  if (status === "closed") {
    closed.add(timestamp);
    return isFirst;
  }
  // Candles become final in ascending order: what is not newer than a final one is not heard of again.
  for (const older of closed) {
    if (older > timestamp) break;
    closed.delete(older);
  }
  return isFirst;
}
