import type { SchedulerLike } from "rxjs";
import { BoundedMap } from "../bounded-map.js";
import { SharedAsks } from "./shared-asks.js";

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

/** What was asked of one source: callers at once share a request and its failure, and later ones its answer. */
export class Answers<T extends Answer> {
  readonly #scheduler: SchedulerLike;
  readonly #kept = new BoundedMap<string, Kept<T>>(ANSWERS_KEPT);
  readonly #asking = new SharedAsks<T>();

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
  }

  /** A kept answer that is no older than `maxAge` ms. */
  get(key: string, maxAge: number): T | undefined {
    const answer = this.#kept.get(key)?.answer;
    return answer !== undefined && answer.age() <= maxAge ? answer : undefined;
  }

  /**
   * What `ask` brings, or what is under way already, or has just failed. It is aborted once nobody waits for it any more;
   * whoever leaves gets the signal's reason.
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
    return this.#asking.ask(key, signal, async (left) => {
      const keep = (kept: Kept<T>) => {
        if (!left.aborted) this.#kept.set(key, kept);
      };
      try {
        const answer = await ask(left);
        keep({ answer });
        return answer;
      } catch (error) {
        keep({ answer: this.#kept.get(key)?.answer, failure: { error, at: this.#scheduler.now() } });
        throw error;
      }
    });
  }
}
