import type { PairstreamError } from "../../errors.js";
import { type FeedStatus, joinedStatus } from "../../feed-status.js";
import type { Intervals } from "../../timeframe.js";
import { coveredFromStatus, makeStatus, STARTING } from "../wire/status.js";
import type { FeedSignal } from "./feed-reader.js";

/**
 * The status of a feed that a collector has taken over, made from the status before and the status of the collector's
 * own reading.
 *
 * While the own reading is starting, the status stays as it was, but it is `stalled` if the reading fails. What the own
 * reading covers by then counts for nothing yet: its candles are stored once the history before them is. If the range
 * that was covered before meets the range that is covered now, both count as covered.
 */
export function carriedStatus(before: FeedStatus | undefined, own: FeedStatus): FeedStatus {
  if (own.state === "starting") {
    const { state, failures, lastError } = own;
    if (before === undefined) return makeStatus({ state, failures, lastError });
    return failures === 0 ? before : makeStatus({ ...before, state: "stalled", failures, lastError });
  }
  return joinedStatus(before ?? {}, own);
}

/** The status of a feed at the moment of a takeover. It is stalled if answers have been due since the last status. */
export function takenOverStatus(before: FeedStatus, dueUntil: number): FeedStatus {
  if (before.state !== "live" || (before.coveredUntil ?? dueUntil) >= dueUntil) return before;
  return makeStatus({ ...before, state: "stalled" });
}

/**
 * A status that covers only what the stream still keeps of a series, whose candles are kept for `retention` ms. `now`: the
 * service's time at which the status is stored. That may be long after the end of what it covers.
 */
export function keptStatus(
  status: FeedStatus,
  intervals: Intervals,
  { retention, now }: { readonly retention: number; readonly now: number },
): FeedStatus {
  const { coveredUntil } = status;
  if (retention === 0 || coveredUntil === undefined) return status;
  // A clock that is behind may show less than has passed.
  const oldest = Math.max(now, coveredUntil) - retention;
  // A candle was last stored after its interval had begun, and this status may be read for about one more interval.
  return coveredFromStatus(status, intervals.shift(intervals.end(oldest), 1));
}

/** The status of a feed whose publisher does not answer, or whose source has failed for good. */
export function stalledStatus(last: FeedStatus | undefined, lastError: PairstreamError): FeedStatus {
  return makeStatus({ ...last, state: "stalled", failures: last?.failures || 1, lastError });
}

/** What a subscriber has heard of a published feed. */
export interface Heard {
  readonly status?: FeedStatus;
  readonly publisher?: string;
  /** Whether a status has come since this subscriber began to listen. */
  readonly isFresh: boolean;
  /** Whether the publisher answers; absent until that is known. */
  readonly isAlive?: boolean | undefined;
  /** Why the server does not answer, where that is so. */
  readonly failure?: PairstreamError | undefined;
}

export const nothingHeard: Heard = { isFresh: false };

/** What a subscriber has heard with one signal more. */
export function heardAfter(heard: Heard, signal: FeedSignal<unknown>): Heard {
  if (signal.type === "server") return { ...heard, failure: signal.failure };
  if (signal.type === "alive") {
    const { isAlive } = signal;
    return { ...heard, isAlive, failure: isAlive ? undefined : heard.failure };
  }
  if (signal.type !== "status") return heard;
  const { status, publisher } = signal.record;
  // Of another publisher it is not known yet whether it is alive.
  const isAlive = publisher === heard.publisher ? heard.isAlive : undefined;
  return { status, publisher, isFresh: heard.isFresh || signal.isFresh, isAlive };
}

/** The status of a feed by what a subscriber has heard. `silence`: the error to report if nobody answers. */
export function heardStatus(
  { status, isFresh, isAlive, failure }: Heard,
  silence: PairstreamError,
): FeedStatus {
  // The error with which it failed says more than the silence after it, and a server that is gone is what to mend first.
  if (isAlive === false) return stalledStatus(status, failure ?? status?.lastError ?? silence);
  if (status !== undefined && (isAlive === true || isFresh)) return status;
  return STARTING;
}
