import {
  concatMap,
  defer,
  distinctUntilChanged,
  from,
  map,
  mergeMap,
  type Observable,
  scan,
  startWith,
  tap,
} from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { type CandleWatch, checkSince } from "../../candles/options.js";
import { checkNumber, checkSeries, checkSniperQuery, checkWeekStart } from "../../contract/input.js";
import type { DateLike, Series, SniperQuery, WeekStart } from "../../contract/model.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";
import type { SniperLook } from "../../snipers/look.js";
import { type Intervals, intervalsOf } from "../../timeframe.js";
import { PlainNetworkError } from "../wire/error.js";
import { CandleTable } from "./candle-table.js";
import { type Check, HEARTBEAT, readFeed } from "./feed-reader.js";
import { readCandleMessage, readWalletMessage } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type NatsOptions, type NatsSettings } from "./options.js";
import { SniperTable } from "./sniper-table.js";
import { heardAfter, heardStatus, nothingHeard } from "./statuses.js";
import { candleSubjects, type FeedSubjects, isCandleToken, sniperSubjects } from "./subjects.js";

/** Options for watching the published candles of a series. */
export interface PublishedCandlesOptions extends NatsOptions {
  /**
   * The start of the history, which comes first: a point in time, rounded down to the start of its interval, or a number of
   * candles before the newest published interval, 1 to 100,000. Default: no history; the stream begins with that interval.
   */
  since?:
    | DateLike
    | {
        /** The number of candles, a whole number from 1 to 100,000. */
        candles: number;
      };
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/** Options for watching the status of a published feed. */
export interface PublishedStatusOptions extends NatsOptions {
  /** Time between two checks that the publisher is alive, in ms, from 250; default 5,000. */
  heartbeat?: number;
}

/**
 * The candles of a series as a collector publishes them, in the same form as `watchCandles`. With `since` the history comes
 * first, and then the live candles, without a hole or a duplicate.
 *
 * Two things differ, because a reader that is slow or was away gets only the newest version of each candle: a revision
 * may grow by more than one, and statuses may be skipped. Reconnections and failing servers only delay. The
 * stream fails with a `NetworkError` once the connection is closed for good, and with a `ContractError` if another
 * version tells how the feed stands. A message that cannot be read is passed over, with a warning of the process, and so is a series that
 * nobody publishes. Throws an `InvalidInputError` at the call.
 *
 * ```marbles
 * first publisher                            a-b-x-----
 * second publisher                           ------c-d-
 * watchPublishedCandles(connection, series)  p-b---c-d-
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   x: dies
 * c: new 12:01 = 7, open         d: updated 12:00 = 6, final    p: new 12:00 = 5, open
 * ```
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { closes } from "pairstream";
 * import { watchPublishedCandles } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * watchPublishedCandles(connection, series, { since: { candles: 100 } })
 *   .pipe(closes())
 *   .subscribe(({ candle }) => console.log(candle.close));
 * ```
 */
export function watchPublishedCandles(
  connection: NatsConnection,
  series: Series,
  options: PublishedCandlesOptions = {},
): Observable<CandleEvent> {
  checkConnection(connection);
  const checked = checkSeries(series);
  const settings = checkNatsOptions(options, ["scheduler", "since", "weekStart"]);
  const intervals = intervalsOf(checked.timeframe, checkWeekStart(options.weekStart));
  const since = checkSince(options.since, intervals.start);
  return candlesOf(connection, settings, { series: checked, rules: { intervals }, since });
}

/** The same for what is checked. `told`: called once all that is stored was told. */
export function candlesOf(
  connection: NatsConnection,
  settings: NatsSettings,
  { series, rules, since }: Pick<CandleWatch, "series" | "since"> & { rules: { intervals: Intervals } },
  { check, told = () => {} }: { check?: Check; told?: () => void } = {},
): Observable<CandleEvent> {
  return defer(() => {
    const table = new CandleTable(series, rules.intervals, since, () => settings.scheduler.now());
    const signals = readFeed(connection, settings, candleSubjects(settings.name, series), {
      parse: (last, text) => (isCandleToken(last) ? readCandleMessage(text) : undefined),
      since: (status) => table.since(status),
      isShort: () => table.isShort(),
      check,
    });
    return signals.pipe(
      concatMap((signal) => {
        const isFirst = !table.isTold;
        const events = table.take(signal);
        return isFirst && table.isTold ? from(events).pipe(tap({ complete: told })) : events;
      }),
    );
  });
}

/**
 * The changes among the published snipers of a pair, in the same form as `watchSnipers`. The stored wallets come first,
 * with `initial: true`.
 *
 * ```marbles
 * publisher                                 a-b-c-
 * watchPublishedSnipers(connection, query)  p-b-c-
 *
 * a: wallet-added ann          b: sold ann      c: wallet-added bob
 * p: wallet-added ann, initial
 * ```
 *
 * A reader that is slow or was away gets everything that has changed meanwhile at once. It fails as
 * `watchPublishedCandles` does. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { watchPublishedSnipers } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * watchPublishedSnipers(connection, { pairAddress }).subscribe((event) => console.log(event.type));
 * ```
 */
export function watchPublishedSnipers(
  connection: NatsConnection,
  query: SniperQuery,
  options: NatsOptions = {},
): Observable<SniperEvent> {
  checkConnection(connection);
  const settings = checkNatsOptions(options, ["scheduler"]);
  return looksOf(connection, checkSniperQuery(query), settings).pipe(mergeMap(({ events }) => events));
}

/** Each look at the published snipers of a pair that has changed something. */
export function looksOf(
  connection: NatsConnection,
  query: SniperQuery,
  settings: NatsSettings,
  check?: Check,
): Observable<SniperLook> {
  const feed = sniperSubjects(settings.name, query);
  return defer(() => {
    const table = new SniperTable(query);
    const parse = (_last: string, text: string) => readWalletMessage(text);
    const signals = readFeed(connection, settings, feed, { parse, check });
    return signals.pipe(concatMap((signal) => table.take(signal)));
  });
}

/**
 * The status of a published feed: at once, then at each change.
 *
 * ```marbles
 * first publisher                             l---x-----
 * second publisher                            --------m-
 * watchPublishedFeedStatus(connection, feed)  (sl)t---m-
 *
 * x: dies                s: starting              t: stalled, 1 failed
 * l: live until 12:00    m: live until 12:01
 * ```
 *
 * While the collector answers, this is the collector's status. If the collector does not answer, the status is
 * `stalled` until it answers again or another one has taken over. Its `lastError` is then the collector's last one, or
 * a `NetworkError` if there is none. A collector that has ended is noticed after at most 1.25 times `heartbeat`, one
 * that hangs after at most 2.25 times. Until the collector has answered or published, the status is `starting`. It
 * fails as `watchPublishedCandles` does. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { watchPublishedFeedStatus } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * watchPublishedFeedStatus(connection, series).subscribe(({ state }) => console.log(state));
 * ```
 */
export function watchPublishedFeedStatus(
  connection: NatsConnection,
  feed: Series | SniperQuery,
  options: PublishedStatusOptions = {},
): Observable<FeedStatus> {
  checkConnection(connection);
  const settings = checkNatsOptions(options, ["scheduler", "heartbeat"]);
  const heartbeat = checkNumber("heartbeat", options.heartbeat ?? HEARTBEAT, { min: 250, unit: "ms" });
  return statusesOf(connection, settings, subjectsOf(settings.name, feed), { heartbeat });
}

/** The same for what is checked. */
export function statusesOf(
  connection: NatsConnection,
  settings: NatsSettings,
  feed: FeedSubjects,
  { heartbeat = HEARTBEAT, check }: { heartbeat?: number; check?: Check },
): Observable<FeedStatus> {
  return defer(() => {
    const silence = new PlainNetworkError("The publisher of this feed does not answer");
    const absence = new PlainNetworkError("Nobody publishes this feed");
    return readFeed(connection, settings, feed, { heartbeat, check }).pipe(
      scan(heardAfter, nothingHeard),
      startWith(nothingHeard),
      map((known) => heardStatus(known, known.publisher === undefined ? absence : silence)),
      distinctUntilChanged(isSameStatus),
    );
  });
}

/** Checks a series or a sniper query, and gives the subjects of its feed. */
export function subjectsOf(name: string, feed: Series | SniperQuery): FeedSubjects {
  return isCandleWatch(feed)
    ? candleSubjects(name, checkSeries(feed))
    : sniperSubjects(name, checkSniperQuery(feed));
}
