import type { SchedulerLike, Subscription } from "rxjs";
import { callAt } from "./schedule.js";

/** Who goes first when the rate limit lets only some go; the first named goes first. */
export type Priority = "close" | "refresh" | "history";

/** That requests have to wait: until when, why, and how many do. */
export interface Throttling {
  readonly until: number;
  readonly reason: "rate-limit" | "too-many-requests";
  readonly waiting: number;
}

/** At most `requests` starts in any window of `per` ms. */
export interface RateLimit {
  readonly requests: number;
  readonly per: number;
}

/** When requests have gone out, and until when none may. */
export interface Gate {
  /** The starts that the next window can still see, ascending. */
  readonly starts: readonly number[];
  readonly pausedUntil: number;
}

export const openGate: Gate = { starts: [], pausedUntil: Number.NEGATIVE_INFINITY };

/** The instant from which on the next request may start. */
export function opensAt({ starts, pausedUntil }: Gate, limit: RateLimit | undefined): number {
  const leaving = limit && starts[starts.length - limit.requests];
  return leaving === undefined ? pausedUntil : Math.max(pausedUntil, leaving + limit!.per);
}

/** The gate after a start. */
export function started(gate: Gate, limit: RateLimit | undefined, now: number): Gate {
  if (limit === undefined) return gate;
  const starts = gate.starts.filter((start) => start + limit.per > now);
  starts.push(now);
  return { ...gate, starts };
}

/** The gate after the scheduler's clock was set back, as a user may do: what has passed has passed. */
export function setBack(gate: Gate, by: number): Gate {
  return { starts: gate.starts.map((start) => start - by), pausedUntil: gate.pausedUntil - by };
}

/** What waits for its start, which it is told when it comes. */
type Waiter = (sent: number) => void;

/** Lets requests start: within the rate limit, not during a pause, by priority, and first come first served. */
export class Budget {
  readonly #scheduler: SchedulerLike;
  readonly #limit: RateLimit | undefined;
  readonly #report: (throttling: Throttling) => void;
  /** In the order in which they are served. */
  readonly #queues: Readonly<Record<Priority, Set<Waiter>>> = {
    close: new Set(),
    refresh: new Set(),
    history: new Set(),
  };
  #gate = openGate;
  #latest = Number.NEGATIVE_INFINITY;
  #timer: Subscription | undefined;
  #armedFor = Number.NaN;
  #reported = Number.NaN;

  constructor(
    scheduler: SchedulerLike,
    limit: RateLimit | undefined,
    report: (throttling: Throttling) => void,
  ) {
    this.#scheduler = scheduler;
    this.#limit = limit;
    this.#report = report;
  }

  /**
   * Calls `begin` as soon as a request may start, with that instant and without yielding in between, so that
   * the starts counted are the true ones. Resolves as `begin` does; rejects with the signal's reason if that
   * aborts first.
   */
  start<T>(
    priority: Priority,
    signal: AbortSignal | undefined,
    begin: (sent: number) => Promise<T>,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    // Nearly always it may start at once, and has nothing to wait or listen for.
    const now = this.#first() === undefined ? this.#pass() : undefined;
    if (now !== undefined) return begin(now);
    return new Promise((resolve, reject) => {
      const queue = this.#queues[priority];
      const leave = () => {
        // A recorded session takes note of when somebody leaves by this.
        this.#scheduler.now();
        queue.delete(waiter);
        if (this.#first() === undefined) this.#disarm();
        reject(signal?.reason);
      };
      const waiter: Waiter = (sent) => {
        queue.delete(waiter);
        signal?.removeEventListener("abort", leave);
        resolve(begin(sent));
      };
      queue.add(waiter);
      signal?.addEventListener("abort", leave, { once: true });
      this.#serve();
    });
  }

  /** Tells when the request that started last went out, which may be a little after it was let go. */
  wentOut(sent: number): void {
    const starts = this.#gate.starts.slice(0, -1);
    if (this.#limit !== undefined) this.#gate = { ...this.#gate, starts: [...starts, sent] };
  }

  /** Lets nothing start before `instant`; a pause that lasts longer stays. */
  pause(instant: number): void {
    if (instant <= this.#gate.pausedUntil) return;
    this.#gate = { ...this.#gate, pausedUntil: instant };
    this.#tell(instant, "too-many-requests");
    this.#serve();
  }

  #serve(): void {
    for (let waiter = this.#first(); waiter !== undefined; waiter = this.#first()) {
      const now = this.#pass();
      if (now === undefined) {
        this.#arm(opensAt(this.#gate, this.#limit));
        return;
      }
      waiter(now);
    }
    this.#disarm();
  }

  /** Counts a start where one is allowed now, and gives that instant. */
  #pass(): number | undefined {
    const now = this.#now();
    if (opensAt(this.#gate, this.#limit) > now) return undefined;
    this.#gate = started(this.#gate, this.#limit, now);
    return now;
  }

  #first(): Waiter | undefined {
    for (const queue of Object.values(this.#queues)) {
      for (const waiter of queue) return waiter;
    }
    return undefined;
  }

  #now(): number {
    const now = this.#scheduler.now();
    if (now < this.#latest) this.#gate = setBack(this.#gate, this.#latest - now);
    this.#latest = now;
    return now;
  }

  #arm(instant: number): void {
    if (this.#timer !== undefined && this.#armedFor === instant) return;
    this.#disarm();
    this.#armedFor = instant;
    this.#timer = callAt(this.#scheduler, instant, () => {
      this.#timer = undefined;
      this.#serve();
    });
    this.#tell(instant, instant === this.#gate.pausedUntil ? "too-many-requests" : "rate-limit");
  }

  #disarm(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
  }

  #tell(until: number, reason: Throttling["reason"]): void {
    if (this.#reported === until) return;
    this.#reported = until;
    const waiting = Object.values(this.#queues).reduce((sum, queue) => sum + queue.size, 0);
    this.#report({ until, reason, waiting });
  }
}
