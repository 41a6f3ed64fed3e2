import { defer, filter, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import type { Candle } from "../contract/model.js";

/**
 * Emits each candle of one series once, when it is first known as closed or final.
 *
 * ```text
 * events    a(open)---a(closed)---a(closed, corrected)---b(open)---b(final)--|
 *           closes()
 *           ----------a-----------------------------------------------b------|
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
