/**
 * The kinds of faults that `withFaults` knows.
 *
 * - `delay`: the answer comes up to `longestDelay` ms later. A part of the delay is before the service gets the
 *   request, the rest after.
 * - `hang`: the answer or its body never comes; rejects when the signal aborts.
 * - `reset`: rejects like a lost connection: before the service gets the request, after that, or within the body.
 * - `408`, `425`, `429`, `5xx` (500, 502, 503, 504): an answer with that status replaces the service's. A 429 has a
 *   Retry-After of 1 to 8 seconds, one as an HTTP date, or none; a 503 has one of seconds, or none; 502 and 504 come
 *   with HTML.
 * - `html`: status 200 with a page of HTML; `null`: with the body `null`; `errorBody`: with `{"message":"upstream timed
 *   out"}`; `nested`: with nothing but 20,000 `[`.
 * - `cached`: a cache answers, with status 200 and the body of the last such answer to the same URL, faults included.
 *   Only if that answer is at most a second old by the scheduler; a cached answer is not cached again.
 * - `empty`: no rows, and no cursor. This and all below down to `cutOff` change answers with status 200 only.
 * - `emptyPage`: no rows, but a cursor: the page's own, or a made-up one where it has none.
 * - `dropped`: some rows are missing.
 * - `cutShort`: the cursor is missing, and some of the last rows as served. If there was a cursor, the rows may all
 *   stay. At least one row stays.
 * - `dripping`: one row only, and a made-up cursor. The next call with that cursor gives another row and another
 *   cursor, without end, as long as the call has the fault.
 * - `broken`: some rows break the contract: a string or null for a number, a field missing, a timestamp that cannot be
 *   read, high below low, an amount that no market has, and the like.
 * - `duplicated`: some rows come twice; `shuffled`: the rows come in any order.
 * - `loopingCursor`: the cursor leads back: to this very page, or to the first one.
 * - `longCursor`: a made-up cursor of 5,000 to 20,000 characters.
 * - `flood`: after the rows come 25,000 more, each `0`.
 * - `cutOff`: the JSON ends too soon.
 * - `wrongDate`: this one answer's Date is off, by a second up to `furthestDate` ms, earlier or later.
 * - `jumpingDate`: from this request on all Dates are off, until the next jump, which may be back to the truth. Only
 *   the header is wrong: the service still answers by its own clock. For a clock that really jumps, give
 *   `createPairService` such a `clock`.
 * - `noDate`: this one answer has no Date.
 *
 * The four kinds that add a cursor (`emptyPage`, `dripping`, `loopingCursor`, `longCursor`) do not change sniper
 * reports, which have no pages. A made-up cursor begins with `withFaults.` and never reaches the service: it is removed
 * from the request, with or without a fault, so the service answers with its first page.
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

/** A fault that took effect. */
export interface Fault {
  /** The kind of the fault. */
  readonly kind: FaultKind;
  /** The number of the call, from 1. */
  readonly call: number;
  /** The URL of the call. */
  readonly url: string;
  /** The instant by the scheduler, ms since the epoch. */
  readonly at: number;
}
