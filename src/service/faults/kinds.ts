/**
 * The kinds of faults that `withFaults` knows.
 *
 * - `delay`: the answer comes up to `longestDelay` ms later, held up partly on the way there and partly on the way back.
 * - `hang`: no answer, or no body, ever; rejects when the signal aborts.
 * - `reset`: rejects as a lost connection does: before the service has seen the request, after, or within the body.
 * - `408`, `425`, `429`, `5xx` (500, 502, 503, 504): such an answer in place of the service's. A 429 has a Retry-After of
 *   1 to 8 seconds, one as an HTTP date, or none; a 503 has one of seconds, or none; 502 and 504 come with HTML.
 * - `html`: status 200 with a page of HTML; `null`: with the body `null`; `errorBody`: with `{"message":"upstream timed
 *   out"}`; `nested`: with nothing but 20,000 `[`.
 * - `cached`: a cache answers, with status 200 and the body of the last such answer to the same URL, faults included. Only
 *   where that is at most a second old by the scheduler; an answer of the cache makes nothing in it younger.
 * - `empty`: no rows, and no cursor. This and all below down to `cutOff` change answers with status 200 only.
 * - `emptyPage`: no rows, but a cursor: the page's own, or a made-up one where it has none.
 * - `dropped`: some rows are missing.
 * - `cutShort`: no cursor any more, and the last rows as served are missing, or none of them where there was a cursor to
 *   lose. One row stays at least.
 * - `dripping`: one row only, and a made-up cursor. The next call with that cursor gives another row and another cursor,
 *   without end, as long as the fault befalls it.
 * - `broken`: some rows break the contract: a string or null for a number, a field missing, a timestamp that cannot be
 *   read, high below low, an amount that no market has, and the like.
 * - `duplicated`: some rows come twice; `shuffled`: they come in any order.
 * - `loopingCursor`: the cursor leads back: to this very page, or to the first one.
 * - `longCursor`: a made-up cursor of 5,000 to 20,000 characters.
 * - `flood`: after the rows come 25,000 more, each `0`.
 * - `cutOff`: the JSON ends too soon.
 * - `wrongDate`: this one answer's Date is off, by a second up to `furthestDate` ms, earlier or later.
 * - `jumpingDate`: from this request on all Dates are off, until the next jump, which may be back to the truth. Only the
 *   header is: the service still answers by its own clock. For a service whose clock really jumps, give
 *   `createPairService` a `clock` that does.
 * - `noDate`: this one answer has no Date.
 *
 * The four that give a page a cursor (`emptyPage`, `dripping`, `loopingCursor`, `longCursor`) leave sniper reports alone,
 * which have no pages. A cursor is made up where it begins with `withFaults.`. None reaches the service: a call that
 * carries one is asked there without it, whether a fault befalls that call or not, so that it gets the first page.
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
  "errorBody",
  "nested",
  "cached",
  "empty",
  "emptyPage",
  "dropped",
  "cutShort",
  "dripping",
  "broken",
  "duplicated",
  "shuffled",
  "loopingCursor",
  "longCursor",
  "flood",
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
