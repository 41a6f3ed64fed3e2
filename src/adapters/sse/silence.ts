import { type SchedulerLike, Subscription } from "rxjs";
import { callAt } from "../../client/timers.js";

/**
 * Aborts its signal with the outcome of `reasonOf` once nothing has been heard for `limit` ms, or with the reason of
 * the outer signal when that aborts.
 */
export class SilenceWatch {
  readonly #scheduler: SchedulerLike;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #reasonOf: (limit: number) => unknown;
  #limit: number;
  #heardAt: number;
  #timer = Subscription.EMPTY;

  constructor(
    scheduler: SchedulerLike,
    limit: number,
    outer: AbortSignal,
    reasonOf: (limit: number) => unknown,
  ) {
    this.#scheduler = scheduler;
    this.#limit = limit;
    this.#outer = outer;
    this.#reasonOf = reasonOf;
    this.#heardAt = scheduler.now();
    outer.addEventListener("abort", this.#leave, { once: true });
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Notes that something was heard. */
  hear(): void {
    this.#heardAt = this.#scheduler.now();
  }

  /** Changes how long silence is accepted. */
  bear(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#arm();
  }

  /** Settles as the promise does, or rejects when the signal aborts, as not every source obeys a signal. */
  race<T>(promise: Promise<T>): Promise<T> {
    return raced(promise, this.#controller.signal);
  }

  /** Ends the watch, and releases everything that its signal holds. */
  end(reason?: unknown): void {
    this.#timer.unsubscribe();
    this.#outer.removeEventListener("abort", this.#leave);
    this.#controller.abort(reason);
  }

  readonly #leave = () => this.end(this.#outer.reason);

  #arm(): void {
    this.#timer.unsubscribe();
    this.#timer = callAt(this.#scheduler, this.#heardAt + this.#limit, () => {
      if (this.#scheduler.now() >= this.#heardAt + this.#limit) this.end(this.#reasonOf(this.#limit));
      else this.#arm();
    });
  }
}

/** Settles as the promise does, or rejects with the signal's reason once that aborts, whichever comes first. */
export function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
