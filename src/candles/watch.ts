import {
  concat,
  concatMap,
  defer,
  EMPTY,
  finalize,
  from,
  map,
  mergeMap,
  Observable,
  type ObservableInput,
  of,
  tap,
} from "rxjs";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import {
  type ServiceClock,
  safeSendTimeFor,
  serviceTime,
  serviceTimeBounds,
} from "../client/service-clock.js";
import type { StoredSeries } from "../client/stored-series.js";
import { sleepUntil } from "../client/timers.js";
import type { Series } from "../contract/model.js";
import { PairstreamError, QuotaExceededError, RateLimitError } from "../errors.js";
import { isFatal } from "../poll/fatal.js";
import { retryAt } from "../poll/retry-at.js";
import type { FeedUpdate } from "../poll/shared-poll.js";
import type { CandleEvent } from "./event.js";
import type { CandleBook } from "./live/book.js";
import { type CandleState, candleFeed } from "./live/poll-candles.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "./options.js";
import { type SeriesRead, SeriesReader } from "./read/range-reader.js";
import { PastReader } from "./read/stored.js";
import { enterHistory, type HistoryProgress } from "./view/history-progress.js";
import { CandleView, type ViewStep } from "./view/view.js";

/**
 * The candles of a series as they appear, change, close and become final. With `since` the history comes first, and then
 * the live candles, without a hole or a duplicate.
 *
 * ```marbles
 * swaps                                       5-7---6-----8-----------
 * watchCandles(client, { …, every: 30_000 })  a--b--(cd)--(ef)--(gh)--
 *
 * -: 10 s                            a: new 12:00 = 5, open           b: updated 12:00 = 5→7, open
 * c: updated 12:00 = 5→7, closed     d: new 12:01 = 6, open           e: updated 12:01 = 6, closed
 * f: new 12:02 = 8, open             g: updated 12:00 = 5→7, final    h: updated 12:02 = 8, closed
 * ```
 *
 * All subscribers of one series on one client share one poll, if it is due at the same times (such as with
 * `every: "close"` and any `every` as long as the timeframe) and they have the same `settle` and `revisionWindow`, and for
 * `1w` the same `weekStart`. Each subscriber has its own `since`, `fillGaps` and `whenMissing`.
 *
 * Temporary failures never end the stream (see `watchFeedStatus`). It errors with an `AuthenticationError` if the key is
 * rejected, with an `HttpError` for 400, and with an `HttpError` for a 404 that lasts for a minute before anything has come
 * (unless `whenMissing` says to wait). Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchCandles } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchCandles(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 *   since: { candles: 100 },
 * }).subscribe(({ type, status, candle }) => console.log(type, status, candle.close));
 * ```
 */
export function watchCandles(client: Client, options: Series & WatchOptions): Observable<CandleEvent> {
  return candleEvents(coreOf(client), checkWatch(options));
}

/** What `watchCandles` gives, its input checked. */
export function candleEvents(core: ClientCore, watch: CandleWatch): Observable<CandleEvent> {
  return defer(() => {
    const [progress, leave] = enterHistory(core, watch);
    const stored = core.store?.open(watch.series, watch.weekStart);
    const joinedAt = core.scheduler.now();
    const clockAtJoin = core.serviceClock();
    const intervalAtJoin = (clock: ServiceClock) =>
      watch.rules.intervals.start(serviceTimeBounds(clock, joinedAt).earliest);
    let view: CandleView | undefined;
    /** The subscription's own interval by the first answer since, if that was no state and its `Date` was believed. */
    let runningAtFirst: number | undefined;
    /** Whether what comes is from memory: the poll gives its last state to whoever joins. */
    let isJoining = true;

    const noteFailure = () => {
      const clock = core.serviceClock();
      if (clock === clockAtJoin || !clock.hasFreshDate || !clock.isConfirmed || clock.isContradicted) return;
      runningAtFirst ??= intervalAtJoin(clock.epoch === clockAtJoin.epoch ? clockAtJoin : clock);
    };

    const open = (state: CandleState): Observable<CandleEvent> => {
      const clock = core.serviceClock();
      // The first answer tells the time of the subscription too, where it was not known or a clock has been set since
      // the answer before; without any `Date` the scheduler's clock does.
      const runningNow = intervalAtJoin(clock.epoch === clockAtJoin.epoch ? clockAtJoin : clock);
      // If the machine's clock was set since, the later answer tells a wrong time of the subscription, and maybe a later one.
      const running = Math.min(runningNow, runningAtFirst ?? runningNow);
      const plan = planHistory(inPatience(core, progress), watch, stored, state.book, running);
      const isCertain = watch.since !== undefined || clock.isConfirmed;
      const startAnew = () => intervalAtJoin(core.serviceClock());
      const opened = new CandleView(watch, {
        start: plan.start,
        ...(isCertain ? {} : { startAnew }),
        hasHistory: plan.history !== undefined,
      });
      view = opened;
      const first: ViewStep = isJoining
        ? { type: "state", state, received: serviceTime(clock, joinedAt) }
        : { type: "state", state };
      const steps = concat(of(first), historySteps(core, watch, plan, progress));
      return steps.pipe(concatMap((step) => opened.take(step)));
    };

    const feed = candleFeed(core, watch);
    const updates = new Observable<FeedUpdate<CandleState>>((subscriber) => {
      feed.subscribe(subscriber);
      isJoining = false;
    });
    return updates.pipe(
      mergeMap(({ state, isFresh }): ObservableInput<CandleEvent> => {
        if (state === undefined) {
          noteFailure();
          return EMPTY;
        }
        if (view === undefined) return open(state);
        return isFresh ? view.take({ type: "state", state }) : EMPTY;
      }),
      finalize(() => {
        leave();
        stored?.close();
      }),
    );
  });
}

/** Reads what comes before the book, from an instant on where that is told. */
type ReadHistory = (from: number, signal: AbortSignal) => AsyncIterable<SeriesRead>;

interface HistoryPlan {
  /** Nothing older is shown. */
  readonly start: number;
  /** Where the book begins. */
  readonly until: number;
  /** Absent where there is nothing to read before the candles that may still change. */
  readonly history?: ReadHistory;
}

/** What a subscriber has to read for itself: from its `since` until the book begins; `running`: its own interval. */
function planHistory(
  core: ClientCore,
  { series, rules, since }: CandleWatch,
  stored: StoredSeries | undefined,
  { entries, finalUntil: until }: CandleBook,
  running: number,
): HistoryPlan {
  const { intervals } = rules;
  if (since === undefined) return { start: running, until };
  const reader = new SeriesReader(core, series, intervals, { skipsRows: true });
  const past = new PastReader(core, reader, rules, stored, { takesTurns: true });
  const priority = "history";
  if (typeof since === "number") {
    if (since >= until) return { start: since, until };
    const history: ReadHistory = (from, signal) => past.slices(from, () => until, { priority, signal });
    return { start: since, until, history };
  }
  const inBook = entries.filter(({ candle }) => candle.timestamp < running);
  const missing = since.candles - inBook.length;
  if (missing <= 0) return { start: inBook[inBook.length - since.candles]!.candle.timestamp, until };
  const found: SeriesRead[] = [];
  return {
    start: Number.NEGATIVE_INFINITY,
    until,
    history: async function* (_from, signal) {
      yield* await past.last(missing, until, { priority, signal }, found);
    },
  };
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

/** Reads a history to its end, on from where it stopped after every failure that passes. */
async function* untilRead(
  core: ClientCore,
  start: number,
  history: ReadHistory,
  progress: HistoryProgress,
  signal: AbortSignal,
): AsyncGenerator<SeriesRead> {
  let reached = start;
  for (let failures = 0; ; ) {
    try {
      for await (const slice of history(reached, signal)) {
        yield slice;
        reached = slice.to;
        if (failures > 0) progress.next({ failures: 0 });
        failures = 0;
      }
      return;
    } catch (error) {
      if (signal.aborted || !(error instanceof PairstreamError) || isFatal(error)) throw error;
      failures += 1;
      await pauseAfter(core, error, failures, progress, signal);
    }
  }
}

/** The history, if there is one, in steps; once all of it has been delivered, tells how far back that reaches. */
function historySteps(
  core: ClientCore,
  { rules }: CandleWatch,
  { start, until, history }: HistoryPlan,
  progress: HistoryProgress,
): Observable<ViewStep> {
  let coveredFrom = Number.isFinite(start) ? start : until;
  const learnCoverage = (read: SeriesRead) => {
    coveredFrom = Math.min(coveredFrom, read.from);
    for (const broken of read.unreadable) coveredFrom = Math.max(coveredFrom, rules.intervals.end(broken));
  };
  const delivered = defer(() => {
    progress.next({ delivered: { from: coveredFrom, until }, failures: 0 });
    return EMPTY;
  });
  if (history === undefined) return delivered;
  const steps = defer(() => {
    const abort = new AbortController();
    const reads = from(untilRead(core, start, history, progress, abort.signal)).pipe(
      tap(learnCoverage),
      map((read): ViewStep => ({ type: "history", read })),
    );
    const handOver = defer(() => of<ViewStep>({ type: "history-end", received: serviceNow(core) }));
    return concat(reads, handOver).pipe(finalize(() => abort.abort()));
  });
  return concat(steps, delivered);
}
