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

export const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

/** The fields of a status, of which any may be absent. */
type StatusFields = Pick<FeedStatus, "state" | "failures"> & {
  readonly [name in "coveredFrom" | "coveredUntil"]?: number | undefined;
} & { readonly lastError?: PairstreamError | undefined };

/** A frozen status without its absent fields. */
export function makeStatus(fields: StatusFields): FeedStatus {
  const { state, coveredFrom, coveredUntil, failures, lastError } = fields;
  return Object.freeze({
    state,
    ...(coveredFrom === undefined ? {} : { coveredFrom }),
    ...(coveredUntil === undefined ? {} : { coveredUntil }),
    failures,
    ...(lastError === undefined ? {} : { lastError: lastError as AnyPairstreamError }),
  });
}

/** A status that covers nothing before an instant. */
export function coveredFromStatus(status: FeedStatus, from: number): FeedStatus {
  const { coveredFrom, coveredUntil } = status;
  if (coveredFrom === undefined || coveredUntil === undefined || from <= coveredFrom) return status;
  return makeStatus({ ...status, coveredFrom: Math.min(coveredUntil, from) });
}
