import type { SchedulerLike } from "rxjs";
import { BoundedMap } from "../bounded-map.js";

/** So many answers are kept; those that were asked for last. */
const ANSWERS_KEPT = 1_000;
/** How long a failure is told to whoever asks the same, in ms. */
const FAILED_FOR = 1_000;

/** An answer, and how old it is by now, in ms; `Infinity` where that cannot be told any more. */
export interface Answer {
  readonly age: () => number;
}

interface Kept<T> {
  readonly answer?: T | undefined;
  readonly failure?: { readonly error: unknown; readonly at: number };
}

/** A question that is under way. */
interface Asking<T> {
  readonly answer: Promise<T>;
  readonly abort: AbortController;
  /** How many wait for it. */
  waiting: number;
}

/** What was asked of one source: callers at once share a request and its failure, and later ones its answer. */
export class Answers<T extends Answer> {
  readonly #scheduler: SchedulerLike;
  readonly #kept = new BoundedMap<string, Kept<T>>(ANSWERS_KEPT);
  readonly #asking = new Map<string, Asking<T>>();

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
  }

  /** A kept answer that is no older than `maxAge` ms. */
  get(key: string, maxAge: number): T | undefined {
    const answer = this.#kept.get(key)?.answer;
    return answer !== undefined && answer.age() <= maxAge ? answer : undefined;
  }

  /**
   * What `ask` brings, or what is under way already. It is aborted once nobody waits for it any more; whoever leaves gets the
   * signal's reason.
   */
  async ask(
    key: string,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const failure = this.#kept.get(key)?.failure;
    // By a clock that was set back a failure lies ahead: it is over.
    const since = failure === undefined ? FAILED_FOR : this.#scheduler.now() - failure.at;
    if (failure !== undefined && since >= 0 && since < FAILED_FOR) throw failure.error;
    const asking = this.#asking.get(key) ?? this.#begin(key, ask);
    return this.#join(key, asking, signal);
  }

  #begin(key: string, ask: (signal: AbortSignal) => Promise<T>): Asking<T> {
    const abort = new AbortController();
    const asking: Asking<T> = { answer: ask(abort.signal), abort, waiting: 0 };
    this.#asking.set(key, asking);
    const keep = (kept: Kept<T>) => {
      if (this.#asking.get(key) !== asking) return;
      this.#asking.delete(key);
      this.#kept.set(key, kept);
    };
    asking.answer.then(
      (answer) => keep({ answer }),
      (error: unknown) =>
        keep({ answer: this.#kept.get(key)?.answer, failure: { error, at: this.#scheduler.now() } }),
    );
    return asking;
  }

  #join(key: string, asking: Asking<T>, signal: AbortSignal | undefined): Promise<T> {
    asking.waiting += 1;
    if (signal === undefined) return asking.answer;
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(signal.reason);
        asking.waiting -= 1;
        if (asking.waiting > 0) return;
        if (this.#asking.get(key) === asking) this.#asking.delete(key);
        asking.abort.abort(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      const end = () => signal.removeEventListener("abort", leave);
      asking.answer.finally(end).then(resolve, reject);
    });
  }
}
