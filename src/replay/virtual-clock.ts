import type { SchedulerAction, SchedulerLike, Subscription } from "rxjs";
import { show } from "../contract/input.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { macrotask } from "./event-loop.js";
import { type Timer, TimerAction, TimerQueue } from "./timers.js";

/**
 * A scheduler on which time passes only when you advance it; for tests and replays of RxJS operators and promises.
 *
 * After each step it waits for one macrotask. By then everything that a timer started (promises, `await`, async
 * iterators) has settled, and the next timer fires. One clock can serve a client, `replayCandles` and RxJS operators at
 * once. If your code waits for a promise that needs virtual time, advance the clock first and await the promise then.
 *
 * ```ts
 * import { VirtualClock } from "pairstream";
 * import { firstValueFrom, interval, take } from "rxjs";
 *
 * const clock = new VirtualClock(Date.UTC(2024, 0, 1));
 * interval(60_000, clock).subscribe(() => console.log(new Date(clock.now())));
 * const hour = firstValueFrom(interval(3_600_000, clock).pipe(take(1)));
 * await clock.advanceBy(3_600_000); // sixty lines, at once
 * await hour;
 * ```
 */
export class VirtualClock implements SchedulerLike {
  #now: number;
  #born = 0;
  #isRunning = false;
  readonly #queue = new TimerQueue<Timer>();

  /**
   * Sets the first instant, ms since the epoch; default 0. Throws an `InvalidInputError` if it is not a finite number.
   */
  constructor(start = 0) {
    if (!Number.isFinite(start)) {
      throw new InvalidInputError("start", "a number of ms since the epoch", `is ${show(start)}`);
    }
    this.#now = start;
  }

  /** The present instant, ms since the epoch. */
  now(): number {
    return this.#now;
  }

  /** How many timers are set; 0 once all users of the clock have cleaned up. */
  get pending(): number {
    return this.#queue.size;
  }

  /**
   * Sets a timer as RxJS operators do, `delay` ms from now. Throws an `InvalidInputError` if the delay is not a finite
   * number.
   */
  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const arm = (fire: () => void, after: number) => {
      if (!Number.isFinite(after))
        throw new InvalidInputError("delay", "a number of ms", `is ${show(after)}`);
      const timer = { due: this.#now + Math.max(0, after), order: this.#born++, fire, place: -1 };
      this.#queue.add(timer);
      return () => this.#queue.remove(timer);
    };
    return new TimerAction(work, arm).schedule(state, delay);
  }

  /** Advances by `ms`; see `advanceTo`. */
  advanceBy(ms: number): Promise<void> {
    return this.advanceTo(this.#now + ms);
  }

  /**
   * Fires everything due up to and including `instant`, in order, and leaves the clock there. Rejects with an error
   * thrown by a timer; with an `InvalidInputError` for an instant that is past or not finite; and with a
   * `PairstreamError` while another call is advancing the clock.
   */
  advanceTo(instant: number): Promise<void> {
    return this.advanceUnless(() => false, instant);
  }

  /** Like `advanceTo`, but stops at the present instant once `isOver` returns true. */
  protected async advanceUnless(isOver: () => boolean, instant: number): Promise<void> {
    if (!(instant >= this.#now && instant < Infinity)) {
      const allowed = `an instant in ms since the epoch, not before the present one (${this.#now})`;
      throw new InvalidInputError("instant", allowed, `is ${show(instant)}`);
    }
    await this.#alone(async () => {
      await macrotask();
      while (!isOver()) {
        const next = this.#queue.first;
        if (next === undefined || next.due > instant) {
          this.#now = Math.max(this.#now, instant);
          return;
        }
        await this.#fire(next, Math.max(this.#now, next.due));
      }
    });
  }

  /** Fires the next timer, whenever it is due. Returns whether there was one. */
  protected async fireNext(): Promise<boolean> {
    const next = this.#queue.first;
    if (next !== undefined) await this.#alone(() => this.#fire(next, Math.max(this.#now, next.due)));
    return next !== undefined;
  }

  /**
   * Sets the clock to another instant, as a user may set a machine's clock. Due instants of timers stay as they are.
   */
  protected set(instant: number): void {
    this.#now = instant;
  }

  #fire(timer: Timer, at: number): Promise<void> {
    this.#queue.remove(timer);
    this.#now = at;
    timer.fire();
    return macrotask();
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isRunning)
      throw new PairstreamError("The clock is already being advanced: await one call before the next");
    this.#isRunning = true;
    try {
      await work();
    } finally {
      this.#isRunning = false;
    }
  }
}
