import * as z from "zod/mini";
import type { AnyPairstreamError, PairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { fromWireError, toWireError, wireError } from "./error.js";

const count = z.int().check(z.nonnegative());

/** A `FeedStatus` between two processes. */
export const wireStatus = z.object({
  state: z.enum(["starting", "live", "stalled"]),
  coveredFrom: z.optional(z.number()),
  coveredUntil: z.optional(z.number()),
  failures: count,
  lastError: z.optional(wireError),
});

/** The parts of a status that may leave the process. */
export function toWireStatus({ state, coveredFrom, coveredUntil, failures, lastError }: FeedStatus) {
  const error = lastError === undefined ? {} : { lastError: toWireError(lastError) };
  return { state, coveredFrom, coveredUntil, failures, ...error };
}

export function fromWireStatus({ lastError, ...status }: z.output<typeof wireStatus>): FeedStatus {
  return makeStatus({ ...status, lastError: lastError && fromWireError(lastError) });
}

/** A frozen status without its absent fields. */
export function makeStatus({
  state,
  coveredFrom,
  coveredUntil,
  failures,
  lastError,
}: {
  readonly state: FeedStatus["state"];
  readonly coveredFrom?: number | undefined;
  readonly coveredUntil?: number | undefined;
  readonly failures: number;
  readonly lastError?: PairstreamError | undefined;
}): FeedStatus {
  return Object.freeze({
    state,
    ...(coveredFrom === undefined ? {} : { coveredFrom }),
    ...(coveredUntil === undefined ? {} : { coveredUntil }),
    failures,
    ...(lastError === undefined ? {} : { lastError: lastError as AnyPairstreamError }),
  });
}
