import { concat, defer, EMPTY, finalize, from, map, type Observable, of, tap } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { safeSendTimeFor } from "../../client/service-clock.js";
import type { StoredSeries } from "../../client/stored-series.js";
import { sleepUntil } from "../../client/timers.js";
import { PairstreamError, QuotaExceededError, RateLimitError } from "../../errors.js";
import { isFatal } from "../../poll/fatal.js";
import { retryAt } from "../../poll/retry-at.js";
import { SECOND_LOOK } from "../../poll/shared-poll.js";
import type { CandleBook } from "../live/book.js";
import type { CandleState } from "../live/poll-candles.js";
import type { CandleWatch } from "../options.js";
import { type SeriesRead, SeriesReader } from "../read/range-reader.js";
import { PastReader } from "../read/stored.js";
import { type CandleRules, windowStart } from "../rules.js";
import type { HistoryProgress } from "./history-progress.js";
import type { ViewStep } from "./view.js";

/** How often the pause doubles before a history is read again whose last answer was too old. */
const MOST_DOUBLINGS = 6;

interface HistoryPlan {
  /** Nothing older is shown. */
  readonly start: number;
  /** Where the book begins. */
  readonly until: number;
  /** An answer from then on, by the service's clock, proves all of it final. */
  readonly provenFrom: number;
  /** How many candles before the book are wanted; absent if they are wanted from `start` on. */
  readonly count?: number;
  /** Those of them that were read before a failure. */
  readonly found: SeriesRead[];
}

/** Reads for one subscriber what comes before the book, from its `since` on. */
export class HistoryReading {
  readonly #core: ClientCore;
  readonly #watch: CandleWatch;
  readonly #past: PastReader;
  readonly #progress: HistoryProgress;
  #plan: HistoryPlan;
  #isOver = false;
  /** Ends a wait for what may be proven by now. */
  #wake = () => {};

  /** `running`: the interval in which the subscriber came. */
  constructor(
    core: ClientCore,
    watch: CandleWatch,
    stored: StoredSeries | undefined,
    progress: HistoryProgress,
    { book, running }: { readonly book: CandleBook; readonly running: number },
  ) {
    this.#core = core;
    this.#watch = watch;
    this.#progress = progress;
    const { series, rules } = watch;
    const patient = inPatience(core, progress);
    const reader = new SeriesReader(patient, series, rules.intervals, { skipsRows: true });
    this.#past = new PastReader(patient, reader, rules, stored, { takesTurns: true });
    this.#plan = planHistory(watch, book, running, serviceNow(core));
  }

  /** Nothing older is shown. */
  get start(): number {
    return this.#plan.start;
  }

  /** Whether there is anything to read before the book. */
  get isNeeded(): boolean {
    return isBefore(this.#plan, Number.NEGATIVE_INFINITY);
  }

  /**
   * Takes note of a later state. If the book has begun anew, as the service's clock was set back, the history ends where
   * the new one begins. Gives from where candles are shown then.
   */
  follow({ book, jump }: CandleState, running: number): number | undefined {
    if (jump === undefined || this.#isOver || !this.isNeeded) return undefined;
    this.#wake();
    if (jump.ranAheadUntil === undefined) return undefined;
    this.#plan = planHistory(this.#watch, book, running, serviceNow(this.#core));
    return this.#plan.start;
  }

  /** The history in steps; once all of it has been delivered, tells how far back that reaches. */
  steps(): Observable<ViewStep> {
    const { rules } = this.#watch;
    const { start, until } = this.#plan;
    let coveredFrom = Number.isFinite(start) ? start : until;
    const learnCoverage = (read: SeriesRead) => {
      coveredFrom = Math.min(coveredFrom, read.from);
      for (const broken of read.unreadable) coveredFrom = Math.max(coveredFrom, rules.intervals.end(broken));
    };
    const delivered = defer(() => {
      const { until } = this.#plan;
      this.#progress.next({ delivered: { from: Math.min(coveredFrom, until), until }, failures: 0 });
      return EMPTY;
    });
    if (!this.isNeeded) return delivered;
    const steps = defer(() => {
      const abort = new AbortController();
      const reads = from(this.#reads(abort.signal)).pipe(
        tap(learnCoverage),
        map((read): ViewStep => ({ type: "history", read })),
      );
      const handOver = defer(() => {
        this.#isOver = true;
        return of<ViewStep>({ type: "history-end", received: serviceNow(this.#core) });
      });
      return concat(reads, handOver).pipe(finalize(() => abort.abort()));
    });
    return concat(steps, delivered);
  }

  /** Reads until the book begins, on from where it stopped after every failure that passes. */
  async *#reads(signal: AbortSignal): AsyncGenerator<SeriesRead> {
    let reached = Number.NEGATIVE_INFINITY;
    let [failures, waits] = [0, 0];
    while (isBefore(this.#plan, reached)) {
      const plan = this.#plan;
      let isProven = true;
      try {
        for await (const read of this.#ask(plan, reached, signal)) {
          if (plan !== this.#plan) break;
          const proven = provenPart(this.#watch.rules, read, plan);
          if (proven.to > read.from) {
            yield proven;
            reached = proven.to;
          }
          if (failures > 0) this.#progress.next({ failures: 0 });
          failures = 0;
          isProven = proven === read;
          waits = isProven ? 0 : waits + 1;
          if (!isProven) break;
        }
        if (plan !== this.#plan) continue;
        if (isProven) return;
        await this.#untilProven(plan, waits, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof PairstreamError) || isFatal(error)) throw error;
        failures += 1;
        await pauseAfter(this.#core, error, failures, this.#progress, signal);
      }
    }
  }

  async *#ask(plan: HistoryPlan, reached: number, signal: AbortSignal): AsyncGenerator<SeriesRead> {
    const { start, until, count, found } = plan;
    const options = { priority: "history", signal } as const;
    if (count !== undefined && !Number.isFinite(reached))
      yield* await this.#past.last(count, until, options, found);
    else yield* this.#past.slices(Math.max(start, reached), () => until, options);
  }

  /**
   * Waits until an answer may prove all of a plan, or another plan has taken its place. `waits`: how often in a row; a
   * cache may give the same answer again.
   */
  async #untilProven(plan: HistoryPlan, waits: number, signal: AbortSignal): Promise<void> {
    plan.found.length = 0;
    const { scheduler } = this.#core;
    const { intervals, revisionWindow, settle } = this.#watch.rules;
    const target = Math.max(intervals.shift(plan.until, revisionWindow), plan.until + settle);
    const due = safeSendTimeFor(this.#core.serviceClock(), target);
    const nap = new AbortController();
    this.#wake = () => nap.abort();
    signal.addEventListener("abort", this.#wake, { once: true });
    const pause = SECOND_LOOK * 2 ** Math.min(waits - 1, MOST_DOUBLINGS);
    await sleepUntil(scheduler, Math.max(due, scheduler.now() + pause), nap.signal).catch(() => {});
    signal.removeEventListener("abort", this.#wake);
    signal.throwIfAborted();
  }
}

/** What a subscriber has to read for itself: from its `since` until the book begins. */
function planHistory(
  { since, rules }: CandleWatch,
  { entries, finalUntil: until, observedAt }: CandleBook,
  running: number,
  now: number,
): HistoryPlan {
  // A book that begins later than it should, as the service's clock was set back, proves nothing about what is before it.
  const provenFrom = until <= windowStart(rules, now) ? observedAt : Number.POSITIVE_INFINITY;
  const plan = { until, provenFrom, found: [] };
  if (since === undefined) return { ...plan, start: running, until: running };
  if (typeof since === "number") return { ...plan, start: since };
  const inBook = entries.filter(({ candle }) => candle.timestamp < running);
  const count = since.candles - inBook.length;
  if (count > 0) return { ...plan, start: Number.NEGATIVE_INFINITY, count };
  const start = inBook[inBook.length - since.candles]!.candle.timestamp;
  return { ...plan, start, until: start };
}

/** Whether a plan goes on after an instant. */
function isBefore({ start, until }: HistoryPlan, reached: number): boolean {
  return Math.max(start, reached) < until;
}

/**
 * The part of a read that is proven final. An answer from before the book began proves less of it: a cache has given it, or
 * the service's clock was set back.
 */
function provenPart(rules: CandleRules, read: SeriesRead, { provenFrom }: HistoryPlan): SeriesRead {
  const to = windowStart(rules, read.observedAt);
  if (read.isStored || read.to <= to || read.observedAt >= provenFrom) return read;
  const candles = read.candles.filter(({ timestamp }) => timestamp < to);
  return { ...read, to, candles };
}

/**
 * A client that waits where it has asked for too much, and asks on: a history that began anew would spend what it is
 * allowed next on what it has found out already.
 */
function inPatience(core: ClientCore, progress: HistoryProgress): ClientCore {
  const send: ClientCore["send"] = async (ask) => {
    for (let failures = 0; ; ) {
      try {
        const exchange = await core.send(ask);
        if (failures > 0) progress.next({ failures: 0 });
        return exchange;
      } catch (error) {
        const isTooMuch = error instanceof QuotaExceededError || error instanceof RateLimitError;
        if (ask.signal?.aborted || !isTooMuch) throw error;
        failures += 1;
        await pauseAfter(core, error, failures, progress, ask.signal);
      }
    }
  };
  // A walk begins anew, as its cursors may be forgotten meanwhile.
  return { ...core, send };
}

/** Tells of a failure, and waits until it is time to try again. */
function pauseAfter(
  core: ClientCore,
  error: PairstreamError,
  failures: number,
  progress: HistoryProgress,
  signal: AbortSignal | undefined,
): Promise<void> {
  progress.next({ failures, lastError: error });
  const recovery = safeSendTimeFor(core.serviceClock(), retryAt(core, error, failures));
  return sleepUntil(core.scheduler, recovery, signal);
}
