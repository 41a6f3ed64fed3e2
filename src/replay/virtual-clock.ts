import type { SchedulerAction, SchedulerLike, Subscription } from "rxjs";
import { show } from "../contract/input.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { macrotask } from "./event-loop.js";
import { type Timer, TimerAction, TimerQueue } from "./timers.js";

/**
 * A scheduler on which time passes only when told to, for tests and replays of any RxJS operator and of promises.
 *
 * Between two of its steps one macrotask passes, so that all that a timer has set off (promises, `await`, async
 * iterators) has settled before the next one fires. It can be the `scheduler` of a client, of `replayCandles` and of
 * RxJS operators at once; code that waits for a promise which only virtual time settles advances the clock first and
 * awaits the promise then.
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

  /** `start`: the first instant, ms since the epoch; default 0. Throws an `InvalidInputError` for no finite number. */
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

  /** How many timers are set; 0 once everything that used the clock has cleaned up after itself. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Sets a timer as RxJS operators do, `delay` ms from now; a delay that is no finite number is refused. */
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

  /** Lets `ms` pass; see `advanceTo`. */
  advanceBy(ms: number): Promise<void> {
    return this.advanceTo(this.#now + ms);
  }

  /**
   * Fires, in order, everything due up to and at `instant`, and leaves the clock there. Rejects with what a
   * timer's work throws, with an `InvalidInputError` for an instant that has passed or is no finite number, and with a
   * `PairstreamError` while the clock is being advanced already.
   */
  advanceTo(instant: number): Promise<void> {
    return this.advanceUnless(() => false, instant);
  }

  /** The same; it stops where it is once it `isOver`. */
  protected async advanceUnless(isOver: () => boolean, instant: number): Promise<void> {
    if (!(instant >= this.#now && instant < Number.POSITIVE_INFINITY)) {
      const allowed = `a finite instant from the present one (${this.#now}) on`;
      throw new InvalidInputError("instant", allowed, `is ${show(instant)}`);
    }
    await this.#alone(async () => {
      await macrotask();
      for (
        let next = this.#queue.first;
        next !== undefined && next.due <= instant;
        next = this.#queue.first
      ) {
        if (isOver()) return;
        await this.#fire(next, Math.max(this.#now, next.due));
      }
      this.#now = Math.max(this.#now, instant);
    });
  }

  /** Fires the next timer, whenever it is due; says whether there was one. */
  protected async fireNext(): Promise<boolean> {
    const next = this.#queue.first;
    if (next !== undefined) await this.#alone(() => this.#fire(next, Math.max(this.#now, next.due)));
    return next !== undefined;
  }

  /** Shows another instant, as after somebody has set a machine's clock; timers stay due when they were. */
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
    if (this.#isRunning) throw new PairstreamError("This clock is already being advanced");
    this.#isRunning = true;
    try {
      await work();
    } finally {
      this.#isRunning = false;
    }
  }
}
