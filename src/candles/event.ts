import { showFields } from "../contract/input.js";
import type { Candle, Series } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/**
 * The status of a candle: `open` until it closes, `closed` when an answer shows it that the service made at least
 * `settle` after its end, and nothing before it is in doubt, `final` when no further event comes.
 */
export type CandleStatus = "open" | "closed" | "final";

/** The fields of every event about a candle. */
export interface CandleEventBase {
  /** The candle as it is now; a removed one as last known. */
  readonly candle: Candle;
  /** The status of the candle; of a removed one, its last. */
  readonly status: CandleStatus;
  /** The number of the event in this life of the candle: 0 for the first event, one more for each later one. */
  readonly revision: number;
  /**
   * Whether the event comes in time to act on it. It is not history, and its `lateBy` is at most half an interval (not less
   * than 5 s, and not more than 60 s or a hundredth of the interval). If one answer shows several candles as closed for the
   * first time, only the newest can be live.
   */
  readonly live: boolean;
  /**
   * How late the event reached this subscriber, in ms of the service's clock; at least 0. An open candle is due until its
   * interval ends. A closed candle is due `settle` after that. A final candle is due with the first closing poll that finds
   * it outside the revision window; if it was never shown as closed, when it should have closed.
   */
  readonly lateBy: number;
  /** The time of the service's clock at which this was true, in ms since the epoch. */
  readonly observedAt: number;
  /** The series of the candle; frozen. */
  readonly series: Series;
}

/** One change of one candle. Apply the events of a series in order, and you have its candles as they are now. */
export type CandleEvent = CandleEventBase &
  (
    | {
        /** `new`: the first event of a candle. `removed`: the candle is gone. */
        readonly type: "new" | "removed";
      }
    | {
        /** The candle has another value or another status. */
        readonly type: "updated";
        /** The candle before the change. */
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
 * Applies one event to a map of candles by timestamp. It changes that map. Throws an `InvalidInputError` for what is no event.
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
  if (typeof event?.candle?.timestamp !== "number")
    throw new InvalidInputError(
      "event",
      "an event of watchCandles or replayCandles",
      `is ${showFields(event)}`,
    );
  if (event.type === "removed") candles.delete(event.candle.timestamp);
  else candles.set(event.candle.timestamp, event.candle);
}

/** The later of two statuses: a candle never goes back to an earlier one. */
export function laterOf(before: CandleStatus | undefined, now: CandleStatus): CandleStatus {
  if (before === undefined || before === "open") return now;
  return before === "final" || now === "open" ? before : now;
}

/** Whether two candles of one interval have the same values. */
export function isSame(a: Candle, b: Candle): boolean {
  return (
    a.close === b.close &&
    a.volume === b.volume &&
    a.swaps === b.swaps &&
    a.high === b.high &&
    a.low === b.low &&
    a.open === b.open
  );
}
