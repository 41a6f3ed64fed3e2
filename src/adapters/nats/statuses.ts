import { type NetworkError, PairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import type { Intervals } from "../../timeframe.js";
import { makeStatus } from "./message.js";

/**
 * How a feed stands that a collector has taken over, from how it stood and how the collector's own reading stands.
 *
 * While that begins, the feed as a whole stands as it did. What was covered before and joins what is covered now is
 * covered still.
 */
export function carriedStatus(before: FeedStatus | undefined, own: FeedStatus): FeedStatus {
  if (before === undefined) return own;
  if (own.state === "starting") {
    const { failures, lastError } = own;
    return failures === 0 ? before : makeStatus({ ...before, state: "stalled", failures, lastError });
  }
  const { coveredFrom, coveredUntil = Number.NEGATIVE_INFINITY } = before;
  const joins = own.coveredFrom !== undefined && coveredFrom !== undefined && own.coveredFrom <= coveredUntil;
  return joins ? makeStatus({ ...own, coveredFrom: Math.min(coveredFrom, own.coveredFrom!) }) : own;
}

/** How a feed stands at the moment in which it is taken over: it is late where answers were due since it was told. */
export function takenOverStatus(before: FeedStatus, dueUntil: number): FeedStatus {
  if (before.state !== "live" || (before.coveredUntil ?? dueUntil) >= dueUntil) return before;
  return makeStatus({ ...before, state: "stalled" });
}

/** A status that claims no more than what is still kept of a series whose candles are kept for `retention` ms. */
export function keptStatus(status: FeedStatus, intervals: Intervals, retention: number): FeedStatus {
  const { coveredFrom, coveredUntil } = status;
  if (retention === 0 || coveredFrom === undefined || coveredUntil === undefined) return status;
  // A candle was stored last after its interval had begun; this status may be read until about an interval later.
  const keptFrom = Math.min(coveredUntil, intervals.shift(intervals.end(coveredUntil - retention), 1));
  return keptFrom <= coveredFrom ? status : makeStatus({ ...status, coveredFrom: keptFrom });
}

/** How a feed stands whose publisher does not answer. */
export function stalledStatus(last: FeedStatus | undefined, lastError: PairstreamError): FeedStatus {
  const { coveredFrom, coveredUntil, failures = 0 } = last ?? {};
  return makeStatus({
    state: "stalled",
    coveredFrom,
    coveredUntil,
    failures: Math.max(1, failures),
    lastError,
  });
}

/** The status of a feed whose source has failed for good. */
export function failedStatus(last: FeedStatus | undefined, error: unknown): FeedStatus {
  const lastError =
    error instanceof PairstreamError ? error : new PairstreamError("The source failed", { cause: error });
  return stalledStatus(last, lastError);
}

/** What a subscriber has heard of a published feed. */
export interface Heard {
  readonly status: FeedStatus | undefined;
  readonly publisher: string | undefined;
  /** Whether the publisher has said so since this subscriber listens. */
  readonly isFresh: boolean;
  /** Whether it answers; `undefined` while that is not known. */
  readonly isAlive: boolean | undefined;
}

export const nothingHeard: Heard = {
  status: undefined,
  publisher: undefined,
  isFresh: false,
  isAlive: undefined,
};

/** How a feed stands by what a subscriber has heard; `silence`: the error to tell of where nobody answers. */
export function heardStatus({ status, isFresh, isAlive }: Heard, silence: NetworkError): FeedStatus {
  // What it has failed of is worth more than that it is silent since.
  if (isAlive === false) return stalledStatus(status, status?.lastError ?? silence);
  if (status !== undefined && (isAlive === true || isFresh)) return status;
  return makeStatus({ state: "starting", failures: 0 });
}
