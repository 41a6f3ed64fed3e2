/**
 * The kinds of faults that `withFaults` knows.
 *
 * - `delay`: the answer comes up to `longestDelay` ms later, held up partly on the way there and partly on the way back.
 * - `hang`: no answer, or no body, ever; rejects when the signal aborts.
 * - `reset`: rejects as a lost connection does: before the service has seen the request, after, or within the body.
 * - `408`, `425`, `429`, `5xx` (500, 502, 503, 504): such an answer in place of the service's. A 429 has a Retry-After of
 *   1 to 8 seconds, one as an HTTP date, or none; a 503 has one of seconds, or none; 502 and 504 come with HTML.
 * - `html`: status 200 with a page of HTML; `null`: with the body `null`.
 * - `empty`: no rows, and no cursor. This and all below down to `shuffled` change answers with status 200 only.
 * - `dropped`: some rows are missing.
 * - `broken`: some rows break the contract: a string or null for a number, a field missing, a timestamp that cannot be
 *   read, high below low, and the like.
 * - `duplicated`: some rows come twice; `shuffled`: they come in any order.
 * - `cutOff`: the JSON ends too soon.
 * - `wrongDate`: this one answer's Date is off, by a second up to `furthestDate` ms, earlier or later.
 * - `jumpingDate`: from this request on all Dates are off, until the next jump, which may be back to the truth. Only the
 *   header is: the service still answers by its own clock. For a service whose clock really jumps, give
 *   `createPairService` a `clock` that does.
 * - `noDate`: this one answer has no Date.
 */
export const FAULT_KINDS = [
  "delay",
  "hang",
  "reset",
  "408",
  "425",
  "429",
  "5xx",
  "html",
  "null",
  "empty",
  "dropped",
  "broken",
  "duplicated",
  "shuffled",
  "cutOff",
  "wrongDate",
  "jumpingDate",
  "noDate",
] as const;

/** A kind of fault; see `FAULT_KINDS`. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault that has taken effect. */
export interface Fault {
  /** What kind of fault. */
  readonly kind: FaultKind;
  /** Which call it befell, counted from 1. */
  readonly call: number;
  /** What was asked for. */
  readonly url: string;
  /** When, by the scheduler, ms since the epoch. */
  readonly at: number;
}
