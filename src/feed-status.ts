import {
  combineLatest,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  ignoreElements,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  repeat,
  startWith,
  take,
  takeWhile,
} from "rxjs";
import { candleFeed } from "./candles/live/poll-candles.js";
import { type CandleWatch, checkWatch, WATCH_NAMES, type WatchOptions } from "./candles/options.js";
import { type HistoryState, historiesOf } from "./candles/view/history-progress.js";
import { candleEvents } from "./candles/watch.js";
import { type Client, type ClientCore, coreOf } from "./client/core.js";
import type { Series } from "./contract/model.js";
import type { AnyPairstreamError } from "./errors.js";
import type { FeedUpdate } from "./poll/poller.js";
import { type CheckedSniperWatch, checkSniperWatch, type SniperWatch, sniperFeed } from "./snipers/watch.js";

/** The state of a stream. */
export interface FeedStatus {
  /**
   * `starting`: until the first answer that can be read, and with `since` until the history is read. `stalled`: a poll that
   * was due has failed, had no answer when the next one was due, or did not show all that has settled, or a report of snipers
   * no older than `every` and two seconds. `live`: otherwise. A feed is live once all that has settled was seen.
   */
  readonly state: "starting" | "live" | "stalled";
  /**
   * Start of the covered range, ms since the epoch. Every interval in `[coveredFrom, coveredUntil)` is known; one
   * without a candle had no swaps. Absent for snipers.
   */
  readonly coveredFrom?: number;
  /**
   * End of the covered range, ms since the epoch; for snipers the instant of the last report. It may wait for one more answer
   * where a silence has to be confirmed.
   */
  readonly coveredUntil?: number;
  /** How many polls failed in a row; 0 when live. */
  readonly failures: number;
  /** The error of the last failed poll; absent when live. */
  readonly lastError?: AnyPairstreamError;
}

/**
 * The status of the stream with the same options: at once, then at each change.
 *
 * ```marbles
 * service                     ----x----o-----
 * watchFeedStatus(client, …)  (ab)-cde---f---
 *
 * -: 10 s                x: down                    o: up                    a: starting
 * b: live until 12:00    c: stalled, 1 failed       d: stalled, 2 failed
 * e: stalled, 3 failed   f: live until 12:02
 * ```
 *
 * It is the status of the candles with the same options that were subscribed to last before it: with `since` it is `live` once
 * these have told their history. It counts as a subscriber: it shares the poll of `watchCandles` or `watchSnipers`, keeps that
 * poll running, and errors as they do. While it waits for an unknown pair (see `whenMissing`) it says `starting`, with the error.
 * Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchFeedStatus } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchFeedStatus(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 * }).subscribe(({ state, lastError }) => console.log(state, lastError?.message ?? ""));
 * ```
 */
export function watchFeedStatus(
  client: Client,
  options: (Series & WatchOptions) | SniperWatch,
): Observable<FeedStatus> {
  const core = coreOf(client);
  const statuses = isCandleWatch(options)
    ? candleStatus(core, checkWatch(options))
    : sniperStatus(core, checkSniperWatch(options));
  return statuses.pipe(distinctUntilChanged(isSameStatus));
}

/** Options that sniper watches have too. */
const SHARED: readonly string[] = ["every", "whenMissing"];
const CANDLES_ALONE = ["timeframe", "currency", ...WATCH_NAMES.filter((name) => !SHARED.includes(name))];

/**
 * Whether the options are meant for `watchCandles`: any option that only candles have decides, such as a timeframe or a
 * currency. A value that is not an object counts as such, and the check of the options refuses it.
 */
export function isCandleWatch(
  options: (Series & WatchOptions) | SniperWatch,
): options is Series & WatchOptions {
  if (typeof options !== "object" || options === null) return true;
  return CANDLES_ALONE.some((name) => name in options);
}

function candleStatus(core: ClientCore, watch: CandleWatch): Observable<FeedStatus> {
  return defer(() => {
    const updates = candleFeed(core, watch);
    const history = watch.since === undefined ? of(NO_HISTORY) : historyOf(core, watch, updates);
    return combineLatest([updates, history]).pipe(
      map(([update, { delivered, failures, lastError }]) => {
        if (update.state === undefined) return statusOf(update, false, {});
        const { from: coveredFrom, to: coveredUntil } = update.state.book.covered.at(-1)!;
        const joins = delivered !== undefined && coveredFrom <= delivered.until;
        // This subscriber is not told what the poll covers before its history.
        const from = joins ? Math.min(coveredUntil, delivered.from) : coveredFrom;
        const isReading = watch.since !== undefined && delivered === undefined;
        const worse = failures > update.failures && lastError !== undefined;
        const known = worse ? { ...update, failures, lastError } : update;
        return statusOf(known, isReading, { coveredFrom: from, coveredUntil });
      }),
    );
  });
}

function sniperStatus(core: ClientCore, watch: CheckedSniperWatch): Observable<FeedStatus> {
  return sniperFeed(core, watch).pipe(
    map((update) => {
      const observedAt = update.state?.book.observedAt;
      return statusOf(update, false, observedAt === undefined ? {} : { coveredUntil: observedAt });
    }),
  );
}

const NO_HISTORY: HistoryState = { failures: 0 };

/**
 * The state of the history of the subscriber with the same options that came last: of whoever takes candles and their status,
 * that is the own one. Without one, the status reads a history of its own.
 */
function historyOf(
  core: ClientCore,
  watch: CandleWatch,
  updates: Observable<FeedUpdate<unknown>>,
): Observable<HistoryState> {
  const histories = () => historiesOf(core, watch);
  const own = [...histories()].at(-1);
  const peer = defer(() => {
    const reading = histories().size > 0 ? EMPTY : candleEvents(core, watch).pipe(ignoreElements());
    return merge(
      reading,
      defer(() => (histories().has(own!) ? own : [...histories()].at(-1)) ?? EMPTY),
    );
  });
  return updates.pipe(
    filter(({ state }) => state !== undefined),
    take(1),
    // If that subscriber leaves before its history is complete, the next one is followed.
    mergeMap(() =>
      peer.pipe(
        repeat(),
        takeWhile(({ delivered }) => delivered === undefined, true),
      ),
    ),
    startWith(NO_HISTORY),
  );
}

type Coverage = Pick<FeedStatus, "coveredFrom" | "coveredUntil">;

function statusOf(update: FeedUpdate<unknown>, isReading: boolean, coverage: Coverage): FeedStatus {
  const { state, isLate, failures, lastError } = update;
  const phase = state === undefined || isReading ? "starting" : isLate ? "stalled" : "live";
  const trouble = phase === "live" || lastError === undefined ? {} : { lastError };
  return Object.freeze({ state: phase, ...coverage, failures: phase === "live" ? 0 : failures, ...trouble });
}

/** Whether two statuses are equal. Errors are equal if name and message are. */
export function isSameStatus(a: FeedStatus, b: FeedStatus): boolean {
  return (
    a.state === b.state &&
    a.coveredFrom === b.coveredFrom &&
    a.coveredUntil === b.coveredUntil &&
    a.failures === b.failures &&
    a.lastError?.name === b.lastError?.name &&
    a.lastError?.message === b.lastError?.message
  );
}

/** A status after a break: what was covered before it still is, where the two meet. */
export function joinedStatus(before: Partial<FeedStatus>, now: FeedStatus): FeedStatus {
  const { coveredFrom: first, coveredUntil: until } = before;
  const { coveredFrom } = now;
  if (first === undefined || until === undefined || coveredFrom === undefined) return now;
  return first < coveredFrom && coveredFrom <= until ? Object.freeze({ ...now, coveredFrom: first }) : now;
}
