import { defer, EMPTY, finalize, from, type Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { safeSendTimeFor } from "../../client/service-clock.js";
import { sleepUntil } from "../../client/timers.js";
import {
  type AnyPairstreamError,
  isPairstreamError,
  QuotaExceededError,
  RateLimitError,
} from "../../errors.js";
import { asOfRunning, isFatal, retryAt } from "../../poll/failure.js";
import { joinTeller } from "../../poll/shared-poll.js";
import type { Tell } from "../../poll/teller.js";
import type { CandleWatch } from "../options.js";
import { type BackwardWalk, newestOf, type PastReader } from "../read/backward.js";
import type { CandleBook } from "../read/book.js";
import type { FinalPart } from "../read/forward.js";
import type { ReadOptions } from "../read/pages.js";
import { pastOf, type StoredSeries } from "../read/past.js";
import type { HistoryProgress } from "./history-progress.js";
import type { ViewStep } from "./view.js";

/** Reads for one subscriber what comes before the book, from its `since` on. */
export class HistoryReading {
  readonly #core: ClientCore;
  readonly #watch: CandleWatch;
  readonly #stored: StoredSeries | undefined;
  /** Absent where nobody looks. */
  readonly #progress: HistoryProgress | undefined;
  /** Nothing older is shown. */
  readonly start: number;
  /** How many candles before the book are wanted; 0 where they are wanted from `start` on. */
  readonly #count: number;
  /** Where the book takes over, and its newest final candles. */
  #until: number;
  #known: readonly number[];
  /** Absent until it is read, and where nobody is warned. */
  #tell: Tell | undefined;

  /** `running`: the interval in which the subscriber came. */
  constructor(
    core: ClientCore,
    watch: CandleWatch,
    stored: StoredSeries | undefined,
    progress: HistoryProgress | undefined,
    { book, running }: { readonly book: CandleBook; readonly running: number },
  ) {
    this.#core = core;
    this.#watch = watch;
    this.#progress = progress;
    this.#stored = stored;
    const { since } = watch;
    const inBook = book.entries.filter(({ candle }) => candle.timestamp < running);
    const isCounted = typeof since === "object";
    const first = isCounted ? inBook.at(-since.candles) : undefined;
    this.#count = isCounted && first === undefined ? since.candles - inBook.length : 0;
    this.start = isCounted ? (first?.candle.timestamp ?? -Infinity) : (since ?? running);
    const isInBook = since === undefined || first !== undefined;
    this.#until = isInBook ? this.start : book.finalUntil;
    this.#known = book.anchors;
  }

  /** Whether there is anything to read before the book. */
  get isNeeded(): boolean {
    return this.start < this.#until;
  }

  /** Takes note of a later book: where that has been set back, it takes over sooner. */
  follow({ finalUntil, anchors }: CandleBook): void {
    if (finalUntil >= this.#until) return;
    this.#until = finalUntil;
    this.#known = anchors;
  }

  /** The history in steps; once all of it has been delivered, tells how far back that reaches. */
  steps(): Observable<ViewStep> {
    if (!this.isNeeded)
      return defer(() => {
        this.#deliver(this.start);
        return EMPTY;
      });
    return defer(() => {
      const abort = new AbortController();
      return from(this.#steps(abort.signal)).pipe(finalize(() => abort.abort()));
    });
  }

  async *#steps(signal: AbortSignal): AsyncGenerator<ViewStep> {
    const { intervals } = this.#watch.rules;
    let coveredFrom = Number.isFinite(this.start) ? this.start : this.#until;
    for await (const part of this.#parts(signal)) {
      coveredFrom = Math.min(coveredFrom, part.from);
      for (const broken of part.unreadable) coveredFrom = Math.max(coveredFrom, intervals.end(broken));
      yield { type: "history", part };
    }
    yield { type: "history-end", received: serviceNow(this.#core) };
    this.#deliver(coveredFrom);
  }

  /** Tells how far back all of the history reaches that has been delivered. */
  #deliver(coveredFrom: number): void {
    this.#progress?.next({ delivered: { from: coveredFrom, until: this.#until }, failures: 0 });
  }

  /** Reads until the book begins, on from where it stopped after every failure that passes. */
  async *#parts(signal: AbortSignal): AsyncGenerator<FinalPart> {
    const walk: BackwardWalk = { parts: [] };
    const [tell, leave] = joinTeller(this.#core, this.#watch.pollKey) ?? [];
    this.#tell = tell;
    const past = pastOf(this.#core, this.#watch, this.#stored);
    const options = { priority: "history", signal, tell, send: this.#send } as const;
    let reached: FinalPart | undefined;
    try {
      for (let failures = 0; ; ) {
        try {
          for await (const part of this.#ask(past, reached, walk, options)) {
            this.#well(failures);
            failures = 0;
            reached = part;
            yield part;
          }
          return;
        } catch (error) {
          if (signal.aborted || !isPairstreamError(error)) throw error;
          failures += 1;
          if (!isFatal(error, true)) await this.#pauseAfter(asOfRunning(error), failures, signal);
          else {
            tell?.({ type: "failure", error, failures });
            throw error;
          }
        }
      }
    } finally {
      leave?.();
    }
  }

  async *#ask(
    past: PastReader,
    reached: FinalPart | undefined,
    walk: BackwardWalk,
    options: ReadOptions,
  ): AsyncGenerator<FinalPart> {
    const common = { known: this.#known, skipsRows: true };
    if (this.#count > 0 && reached === undefined) {
      const query = { ...common, count: this.#count, until: () => this.#until, walk };
      yield* newestOf(await past.newest(query, options), query.count);
      return;
    }
    const newest = reached?.candles.at(-1);
    const query = {
      ...common,
      from: reached?.to ?? this.start,
      anchors: newest === undefined ? [] : [newest.timestamp],
      until: () => this.#until,
    };
    yield* past.parts(query, options);
  }

  /** Tells that the history comes on again, after so many failures. */
  #well(failures: number): void {
    if (failures > 0) this.#progress?.next({ failures: 0 });
    this.#tell?.({ type: "page" });
  }

  /** Tells of a failure, and waits until it is time to try again. */
  #pauseAfter(error: AnyPairstreamError, failures: number, signal: AbortSignal | undefined): Promise<void> {
    const core = this.#core;
    this.#progress?.next({ failures, lastError: error });
    const recovery = safeSendTimeFor(core.serviceClock(), retryAt(core, error, failures));
    this.#tell?.({ type: "failure", error, failures, again: Math.max(0, recovery - core.scheduler.now()) });
    return sleepUntil(core.scheduler, recovery, signal);
  }

  /**
   * Waits where it has asked for too much, and asks on: a search that began anew would spend what it is allowed next on what it
   * has found out already. A walk does begin anew, as its cursors may be forgotten meanwhile.
   */
  readonly #send: ClientCore["send"] = async (ask) => {
    for (let failures = 0; ; ) {
      try {
        const exchange = await this.#core.send(ask);
        if (failures > 0) this.#well(failures);
        return exchange;
      } catch (thrown) {
        const error = isPairstreamError(thrown) ? asOfRunning(thrown) : thrown;
        const isTooMuch = error instanceof QuotaExceededError || error instanceof RateLimitError;
        if (ask.signal?.aborted || !isTooMuch) throw thrown;
        failures += 1;
        await this.#pauseAfter(error, failures, ask.signal);
      }
    }
  };
}
