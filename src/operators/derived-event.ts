import type { CandleEvent, CandleStatus } from "../candles/event.js";
import type { Candle, Series } from "../contract/model.js";

/** An event that follows from another one, frozen; `previous` is given for `updated`. */
export function derivedEvent(
  cause: CandleEvent,
  type: CandleEvent["type"],
  candle: Candle,
  previous: Candle | undefined,
  status: CandleStatus,
  revision: number,
  series: Series,
): CandleEvent {
  const { live, observedAt } = cause;
  return Object.freeze(
    previous === undefined
      ? { type, candle, status, revision, live, observedAt, series }
      : { type, candle, previous, status, revision, live, observedAt, series },
  );
}
