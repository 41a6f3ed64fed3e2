import { type ClientCore, serviceNow } from "../client/core.js";
import { type PairstreamError, QuotaExceededError, RateLimitError } from "../errors.js";

/** The longest wait after a failure, in ms. */
const LONGEST_WAIT = 60_000;
/**
 * How long to wait once a new period should have begun, in ms. A request a moment too early loses a whole period. The
 * service's own word needs longer: its answer may have been under way from one period into the next.
 */
const RESET_SETTLE = { counted: 1_000, reported: 10_000 };

/**
 * When to try again, by the service's clock, after `failures` calls in a row have used up their retries. The first wait
 * is the longest delay between retries; each further one is twice as long, up to a minute.
 */
export function retryAt(core: ClientCore, error: PairstreamError, failures: number): number {
  const now = serviceNow(core);
  if (error instanceof QuotaExceededError) {
    const spent = error.body === "" ? "counted" : "reported";
    const { resetsAt } = error;
    return spent === "counted" || resetsAt === undefined
      ? quotaProbeAt(core, spent)
      : Math.max(now, resetsAt) + RESET_SETTLE.reported;
  }
  const delay = Math.max(1_000, core.retry.maxDelay) * 2 ** (failures - 1);
  return now + Math.max(heldFor(error), Math.min(LONGEST_WAIT, delay));
}

/** How long a service that has answered 429 asks to wait, in ms. */
export function heldFor(error: PairstreamError): number {
  return error instanceof RateLimitError ? (error.retryAfter ?? 0) : 0;
}

/** When to ask for the first time after a quota was spent, up to `ago` ms before now; by the service's clock. */
export function quotaProbeAt(
  core: ClientCore,
  spent: keyof typeof RESET_SETTLE,
  ago = RESET_SETTLE[spent],
): number {
  return core.spending.resetsAt(ago) + RESET_SETTLE[spent];
}
