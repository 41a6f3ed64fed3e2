import { raced } from "./raced.js";

/** A question that is under way. */
interface Asking<T> {
  readonly answer: Promise<T>;
  readonly abort: AbortController;
  /** How many wait for it. */
  waiting: number;
}

/** Questions that are under way: all who ask the same at once share one, which is aborted once nobody waits for it any more. */
export class SharedAsks<T> {
  readonly #asking = new Map<string, Asking<T>>();

  /** What `ask` brings, or what is under way already. Whoever leaves gets the signal's reason. */
  async ask(
    key: string,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const asking = this.#asking.get(key) ?? this.#begin(key, ask);
    asking.waiting += 1;
    try {
      return await (signal === undefined ? asking.answer : raced(asking.answer, signal));
    } finally {
      asking.waiting -= 1;
      if (asking.waiting === 0) {
        this.#end(key, asking);
        asking.abort.abort(signal?.reason);
      }
    }
  }

  #begin(key: string, ask: (signal: AbortSignal) => Promise<T>): Asking<T> {
    const abort = new AbortController();
    const asking: Asking<T> = { answer: ask(abort.signal), abort, waiting: 0 };
    this.#asking.set(key, asking);
    const end = () => this.#end(key, asking);
    asking.answer.then(end, end);
    return asking;
  }

  #end(key: string, asking: Asking<T>): void {
    if (this.#asking.get(key) === asking) this.#asking.delete(key);
  }
}
