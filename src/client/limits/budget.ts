import type { SchedulerLike, Subscription } from "rxjs";
import { onAbort } from "../../aborts.js";
import { RateLimitError } from "../../errors.js";
import type { Priority, ThrottledActivity } from "../activity.js";
import { callAt } from "../timers.js";
import {
  allowed,
  ended,
  entered,
  grown,
  halved,
  noPlaces,
  opensAt,
  type RateLimit,
  setBack,
} from "./places.js";

/**
 * One start in so many goes to whoever has waited longest, if that is so many ms: else the closings of other streams could leave
 * a new stream, and a history, nothing.
 */
const SHARE = 4;
const LONG_WAIT = 2_000;
/** Requests that wait for so long without a break, in ms, are told of: more are due than the limit allows. */
const OVERLOAD = 60_000;

/** What may wait for its turn. Direct calls count as polls. */
export type Waiting = "polls" | "histories";

const PRIORITIES: readonly Priority[] = ["close", "refresh", "history"];

/** Requests have to wait: until when, why, and how many. */
export type Throttling = Omit<ThrottledActivity, "type" | "at">;

/**
 * What to do once a request may start, which is `now`. It calls `end` with the instant of the answer's head, or of the
 * failure: from then on the request can no longer reach the service. If it never calls `end`, nothing was sent.
 */
export type Begin<T> = (now: number, end: (at: number) => void) => Promise<T>;

/** A request that waits; it is called with the instant at which it may start, or with none: then it asks anew. */
type Waiter = (now: number | undefined) => void;

/** Lets requests start: within the rate limit, not during a pause, by priority, a long wait and first come first served. */
export class Budget {
  readonly #scheduler: SchedulerLike;
  readonly #limit: RateLimit | undefined;
  readonly #report: (throttling: Throttling) => void;
  readonly #overloaded: (what: Waiting, waiting: number) => void;
  readonly #longestPause: number;
  /** In the order in which they are served, each waiter with when it came. */
  readonly #queues = PRIORITIES.map(() => new Map<Waiter, number>());
  /** How many waiters have started. */
  #served = 0;
  #places = noPlaces;
  /** The share of the limit that may be used, as the service has refused requests. */
  #share = 1;
  /** Since when polls, and histories, have waited without a break; `Infinity` once that was told. */
  readonly #busySince = new Map<Waiting, number>();
  #pausedUntil = -Infinity;
  #latest = -Infinity;
  #timer: Subscription | undefined;
  #armedFor = Number.NaN;
  #reported: number | undefined = Number.NaN;

  constructor(
    scheduler: SchedulerLike,
    limit: RateLimit | undefined,
    report: (throttling: Throttling) => void,
    overloaded: (what: Waiting, waiting: number) => void = () => {},
    longestPause = Infinity,
  ) {
    this.#scheduler = scheduler;
    this.#limit = limit;
    this.#report = report;
    this.#overloaded = overloaded;
    this.#longestPause = longestPause;
  }

  /**
   * Calls `begin` as soon as a request may start. Resolves as `begin` does; rejects with the signal's reason if that aborts
   * first, and with a `RateLimitError` where a pause lasts for longer than `longestPause`.
   */
  start<T>(priority: Priority, signal: AbortSignal | undefined, begin: Begin<T>): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const held = this.pausedFor;
    if (held > this.#longestPause) {
      const text = `The service has answered 429: nothing is sent for ${Math.ceil(held / 1_000)} s`;
      return Promise.reject(new RateLimitError(text, "", held));
    }
    // Nearly always a request may start at once: it needs no queue and no listener.
    const now = this.#first() === undefined ? this.#enter() : undefined;
    if (now !== undefined) return this.#follow(now, begin);
    return new Promise((resolve, reject) => {
      const queue = this.#queues[PRIORITIES.indexOf(priority)]!;
      const leave = () => {
        // By this call a recorded session notes when somebody leaves.
        this.#scheduler.now();
        queue.delete(waiter);
        if (this.#first() === undefined) this.serve();
        reject(signal!.reason);
      };
      const waiter: Waiter = (sent) => {
        queue.delete(waiter);
        stay();
        resolve(sent === undefined ? this.start(priority, signal, begin) : this.#follow(sent, begin));
      };
      queue.set(waiter, this.#latest);
      const what = priority === "history" ? "histories" : "polls";
      if (!this.#busySince.has(what)) this.#busySince.set(what, this.#latest);
      const stay = onAbort(signal, leave);
      this.serve();
    });
  }

  /** Lets nothing start before `instant`, or before the end of a longer pause. */
  pause(instant: number): void {
    if (instant <= this.#pausedUntil) return;
    this.#pausedUntil = instant;
    this.#reportWait(instant, "too-many-requests");
    this.serve();
  }

  /** Starts half as many in a window from now on, and then ever more: the service has refused a request. */
  slowDown(): void {
    if (this.#limit !== undefined) this.#share = halved(this.#share, this.#limit);
  }

  /** For how many ms more nothing may start because of a pause; 0 where there is none. */
  get pausedFor(): number {
    // If the clock was set back, the pause moves with it.
    const now = this.#now();
    return Math.max(0, this.#pausedUntil - now);
  }

  /** Starts what may start. */
  serve(): void {
    for (let waiter = this.#first(); waiter !== undefined; waiter = this.#first()) {
      const now = this.#enter();
      if (now === undefined && this.pausedFor <= this.#longestPause) {
        const at = this.#now();
        this.#noteWait(at);
        this.#arm(this.#opensAt(at), at);
        return;
      }
      this.#served += 1;
      waiter(now);
    }
    this.#busySince.clear();
    this.#disarm();
  }

  /** Tells once of polls, and once of histories, that have waited for a minute, not counting pauses. */
  #noteWait(now: number): void {
    for (const [what, since] of this.#busySince) {
      const queues = what === "polls" ? this.#queues.slice(0, -1) : this.#queues.slice(-1);
      const waiting = queues.reduce((sum, { size }) => sum + size, 0);
      if (waiting === 0) this.#busySince.delete(what);
      else if (now - Math.max(since, this.#pausedUntil) >= OVERLOAD) {
        this.#busySince.set(what, Infinity);
        this.#overloaded(what, waiting);
      }
    }
  }

  /** Counts a start where one is allowed now, and gives that instant. */
  #enter(): number | undefined {
    const now = this.#now();
    if (this.#opensAt(now) > now) return undefined;
    if (this.#limit !== undefined) {
      this.#places = entered(this.#places, now);
      this.#share = grown(this.#share, this.#limit);
    }
    return now;
  }

  async #follow<T>(now: number, begin: Begin<T>): Promise<T> {
    let hasEnded = this.#limit === undefined;
    const end = (at?: number) => {
      if (!hasEnded) this.#leave(at);
      hasEnded = true;
    };
    try {
      return await begin(now, end);
    } finally {
      end();
    }
  }

  /** Ends a request that was counted; `at`: when, where it was sent. */
  #leave(at: number | undefined): void {
    const now = this.#now();
    // If the clock was set back since, the instant may lie in its future.
    const until = at === undefined ? undefined : Math.min(at, now) + this.#limit!.per;
    this.#places = ended(this.#places, until);
    this.serve();
  }

  #opensAt(now: number): number {
    return Math.max(this.#limitOpensAt(now, this.#share), this.#pausedUntil);
  }

  #limitOpensAt(now: number, share: number): number {
    return this.#limit === undefined ? now : opensAt(this.#places, allowed(share, this.#limit), now);
  }

  #first(): Waiter | undefined {
    let first: Waiter | undefined;
    let longest: Waiter | undefined;
    let since = this.#served % SHARE === 0 ? this.#latest - LONG_WAIT : -Infinity;
    for (const queue of this.#queues) {
      for (const [waiter, came] of queue) {
        first ??= waiter;
        if (came <= since) [longest, since] = [waiter, came];
        break;
      }
    }
    return longest ?? first;
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) {
      this.#places = setBack(this.#places, this.#latest - now);
      this.#pausedUntil -= this.#latest - now;
    }
    this.#latest = now;
    return now;
  }

  #arm(instant: number, now: number): void {
    if (this.#timer !== undefined && this.#armedFor === instant) return;
    this.#disarm();
    const isKnown = instant < Infinity;
    if (isKnown) {
      this.#armedFor = instant;
      this.#timer = callAt(this.#scheduler, instant, () => {
        this.#timer = undefined;
        this.serve();
      });
    }
    const reason = instant > this.#limitOpensAt(now, 1) ? "too-many-requests" : "rate-limit";
    this.#reportWait(isKnown ? instant : undefined, reason);
  }

  #disarm(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
  }

  #reportWait(until: number | undefined, reason: Throttling["reason"]): void {
    if (this.#reported === until) return;
    this.#reported = until;
    const waiting = this.#queues.reduce((sum, queue) => sum + queue.size, 0);
    this.#report({ ...(until !== undefined && { until }), reason, waiting });
  }
}
