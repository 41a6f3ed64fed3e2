import { type ClientCore, serviceNow } from "../client/core.js";
import { HttpError, type PairstreamError, QuotaExceededError } from "../errors.js";

/** The longest wait after a failure, in ms. */
const LONGEST_RECOVERY = 60_000;
/**
 * How long after spent units should be back to ask for more, in ms: a moment too early, and a whole period is lost.
 * Longer where the service said so, as its answer may have taken its way from one period into the next.
 */
const RESET_SETTLE = { counted: 1_000, told: 10_000 };

/**
 * When, by the service's clock, to try again what has failed for good `failures` times in a row, a client's own
 * retries included: after the longest delay of a retry, then after twice that, up to a minute.
 */
export function retryAt(core: ClientCore, error: PairstreamError, failures: number): number {
  const now = serviceNow(core);
  if (error instanceof QuotaExceededError) return quotaProbeAt(core, error.body === "" ? "counted" : "told");
  if (isNotFound(error)) return now + LONGEST_RECOVERY;
  const delay = Math.max(1_000, core.retry.maxDelay) * 2 ** (failures - 1);
  return now + Math.min(LONGEST_RECOVERY, delay);
}

/** When, by the service's clock, to ask for the first time after units were spent. */
export function quotaProbeAt(core: ClientCore, spent: keyof typeof RESET_SETTLE): number {
  const settle = RESET_SETTLE[spent];
  return core.spending.resetsAt(settle) + settle;
}

export function isNotFound(error: PairstreamError): boolean {
  return error instanceof HttpError && error.status === 404;
}

/** Whether retrying cannot mend it: a request that the service does not take, or a key that it does not know. */
export function isFatal(error: PairstreamError): boolean {
  return error instanceof HttpError && [400, 401, 403, 424].includes(error.status);
}
