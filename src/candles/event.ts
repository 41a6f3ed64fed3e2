import type { Candle, Series } from "../contract/model.js";

/**
 * How far a candle has come: `open` while its interval runs, `closed` once that has ended and a page read after
 * its end has shown it, `final` when it will not be emitted again.
 */
export type CandleStatus = "open" | "closed" | "final";

/** What every event about a candle holds, whatever its type. */
export interface CandleEventBase {
  /** The candle as it now is; of a `removed` one, as last known. */
  readonly candle: Candle;
  /** Of a `removed` candle, the last one that it had. */
  readonly status: CandleStatus;
  /** How many changes this life of the candle has seen: 0 at its birth, one more with each event after it. */
  readonly revision: number;
  /**
   * Whether it comes in time to act upon: it is none of the history, its `lateBy` is at most half an interval (no less
   * than 5 s, no more than 60 s or a hundredth of the interval), and of the candles that one answer shows as closed for
   * the first time it is the newest.
   */
  readonly live: boolean;
  /**
   * For how long it had been due when this subscriber got it, by the service's clock, in ms; at least 0. An open candle
   * is due until its interval ends, a closed one `settle` after that, a final one with the first closing poll that finds
   * it out of the revision window, or as it should have closed where that was never shown.
   */
  readonly lateBy: number;
  /** When this was true by the service's clock, in ms since the epoch. */
  readonly observedAt: number;
  /** What its candle is one of; frozen. */
  readonly series: Series;
}

/** One change of one candle; folded in order, the events of a series give its candles as they now stand. */
export type CandleEvent = CandleEventBase &
  (
    | {
        /** `new` for the first event of a life, `removed` for the last of a candle that went. */
        readonly type: "new" | "removed";
      }
    | {
        /** Each later event of a life. */
        readonly type: "updated";
        /** The version before. */
        readonly previous: Candle;
      }
  );

/**
 * Makes an event, frozen. `change`: what happened to the candle; of one that was updated, the version before.
 *
 * Each shape is written out, as an object that is spread takes several times as long to make and to freeze.
 */
export function frozenEvent(
  change: "new" | "removed" | Candle,
  candle: Candle,
  status: CandleStatus,
  revision: number,
  live: boolean,
  lateBy: number,
  observedAt: number,
  series: Series,
): CandleEvent {
  return Object.freeze(
    typeof change === "string"
      ? { type: change, candle, status, revision, live, lateBy, observedAt, series }
      : { type: "updated", candle, previous: change, status, revision, live, lateBy, observedAt, series },
  );
}

/**
 * Folds one event into candles kept by timestamp; changes the map that it is given.
 *
 * ```ts
 * import { applyCandleEvent, type Candle, type CandleEvent } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * const keepCandles = (events: Observable<CandleEvent>) => {
 *   const candles = new Map<number, Candle>();
 *   events.subscribe((event) => applyCandleEvent(candles, event));
 *   return candles;
 * };
 * ```
 */
export function applyCandleEvent(candles: Map<number, Candle>, event: CandleEvent): void {
  if (event.type === "removed") candles.delete(event.candle.timestamp);
  else candles.set(event.candle.timestamp, event.candle);
}
