import { from, type ObservableInput } from "rxjs";
import { onAbort } from "../aborts.js";
import { checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { PairstreamError } from "../errors.js";

/** Options for reading a stream with `for await`. */
export interface AsyncIterableOptions {
  /**
   * Ends the reading when it aborts: the stream is unsubscribed, and the loop throws the signal's reason. Default: only
   * the loop ends it.
   */
  signal?: AbortSignal;
  /** How many events may wait to be read; default 100,000. */
  buffer?: number;
}

/**
 * Reads a stream with `for await`.
 *
 * Each loop subscribes on its own when it begins, and unsubscribes when it is left. Events that come while the loop is
 * busy wait in order. If more than `buffer` events wait, the stream is unsubscribed, and the loop throws a
 * `PairstreamError` after the last waiting event, so nothing is lost silently. The loop ends with the stream, and
 * throws the stream's error.
 *
 * Throws an `InvalidInputError` if `buffer` is not a whole number of at least 1.
 *
 * ```ts
 * import { type CandleEvent, closes, toAsyncIterable } from "pairstream";
 * import type { Observable } from "rxjs";
 *
 * async function act(events: Observable<CandleEvent>, place: (close: number) => Promise<void>, signal: AbortSignal) {
 *   for await (const { live, candle } of toAsyncIterable(events.pipe(closes()), { signal })) {
 *     if (live) await place(candle.close);
 *   }
 * }
 * ```
 */
export function toAsyncIterable<T>(
  stream: ObservableInput<T>,
  options: AsyncIterableOptions = {},
): AsyncIterable<T> {
  checkNames(options, ["signal", "buffer"]);
  const { signal } = options;
  const buffer = checkNumber("buffer", options.buffer ?? 100_000, { min: 1, integer: true });
  return { [Symbol.asyncIterator]: () => new Reading(stream, buffer, signal) };
}

interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

class Reading<T> implements AsyncIterator<T, undefined> {
  /** Events that have come and are not read yet: those from index `read` on. */
  private unread: T[] = [];
  private read = 0;
  /** The readers that wait for the next event. */
  private readonly waiting: Waiting<T>[] = [];
  private ended: { readonly error?: unknown } | undefined;
  private readonly leave: () => void;

  constructor(stream: ObservableInput<T>, buffer: number, signal: AbortSignal | undefined) {
    const abort = () => {
      this.unread = [];
      this.read = 0;
      this.end({ error: signal!.reason });
    };
    const stay = onAbort(signal, abort);
    let subscription: { unsubscribe(): void } | undefined;
    this.leave = () => {
      stay();
      subscription?.unsubscribe();
    };
    if (signal?.aborted) {
      abort();
      return;
    }
    subscription = from(stream).subscribe({
      next: (value) => this.take(value, buffer),
      error: (error: unknown) => this.end({ error }),
      complete: () => this.end({}),
    });
    if (this.ended !== undefined) this.leave();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.read < this.unread.length) {
      const value = this.unread[this.read]!;
      this.read += 1;
      // The list is cut only now and then, so that a read costs the same however many events wait.
      if (this.read * 2 >= this.unread.length) {
        this.unread = this.unread.slice(this.read);
        this.read = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    const { ended } = this;
    if (ended === undefined) return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    this.ended = {};
    return "error" in ended ? Promise.reject(ended.error) : Promise.resolve(DONE);
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.unread = [];
    this.read = 0;
    this.end({});
    return Promise.resolve(DONE);
  }

  private take(value: T, buffer: number): void {
    if (this.ended !== undefined) return;
    const reader = this.waiting.shift();
    if (reader !== undefined) {
      reader.resolve({ done: false, value });
    } else if (this.unread.length - this.read < buffer) {
      this.unread.push(value);
    } else {
      const message = `More than ${buffer} events wait to be read: read faster, or raise the option buffer of toAsyncIterable`;
      this.end({ error: new PairstreamError(message) });
    }
  }

  private end(ended: { readonly error?: unknown }): void {
    if (this.ended !== undefined) return;
    this.ended = ended;
    this.leave();
    for (const { resolve, reject } of this.waiting.splice(0)) {
      if ("error" in this.ended) reject(this.ended.error);
      else resolve(DONE);
      this.ended = {};
    }
  }
}
