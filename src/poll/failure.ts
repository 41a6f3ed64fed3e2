import { type ClientCore, serviceNow } from "../client/core.js";
import {
  type AnyPairstreamError,
  ContractError,
  HttpError,
  type PairstreamError,
  QuotaExceededError,
  RateLimitError,
} from "../errors.js";

export function isNotFound(error: PairstreamError): boolean {
  return error instanceof HttpError && error.status === 404;
}

/**
 * Whether a stream that has no page yet may ask for what is not there: no such pair or path, or no service of this kind. A
 * cursor that leads nowhere is that of a page.
 */
export function isUnknown(error: PairstreamError): boolean {
  return isNotFound(error) || (error instanceof ContractError && error.path[0] !== "cursor");
}

/**
 * Whether no retry can help: the service refuses the request itself, or the key. `hasPage`: whether the stream had a page
 * before, so that it is neither the plan nor the address.
 */
export function isFatal(error: PairstreamError, hasPage: boolean): boolean {
  if (!(error instanceof HttpError)) return false;
  const { status } = error;
  if ([400, 401, 403, 410, 424].includes(status)) return true;
  // A browser shows a redirect as status 0.
  return !hasPage && (status === 402 || status === 0 || (status >= 300 && status < 400));
}

/** What a failure is to a stream that had a page before: payment was not required then, so the plan's units are spent. */
export function asOfRunning(error: AnyPairstreamError): AnyPairstreamError {
  if (!(error instanceof HttpError) || error.status !== 402) return error;
  return new QuotaExceededError(error.message, error.body, undefined, { cause: error });
}

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

/** How long to wait for another side that does not answer, in ms. */
export interface Waits {
  readonly first: number;
  readonly longest: number;
  /** The longest that the other side can ask for. */
  readonly longestHint: number;
}

/** How long to wait after so many failures in a row, in ms: twice as long each time, and as long as the other side asks for. */
export function waitAfter(
  error: PairstreamError,
  failures: number,
  { first, longest, longestHint }: Waits,
): number {
  const wait = Math.min(first * 2 ** (failures - 1), longest);
  return Math.max(wait, Math.min(heldFor(error), longestHint));
}
