import { Observable, type Subscription, tap } from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { checkNumber } from "../../contract/input.js";
import type { Series, Sniper, SniperQuery } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";
import { offerCandle, offerSniper } from "./feed-kinds.js";
import { Lanes, MESSAGES_AT_ONCE } from "./lanes.js";
import { answerForLife } from "./liveness.js";
import { statusBody } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type NatsSettings, type StreamOptions } from "./options.js";
import { type Publication, Publisher } from "./publisher.js";
import { failedStatus } from "./statuses.js";
import { failureOver, persist, Store } from "./store.js";
import {
  allCandleSubjects,
  allSniperSubjects,
  candleSubjects,
  type FeedSubjects,
  sniperSubjects,
} from "./subjects.js";
import { subjectsOf } from "./watch.js";

/** Options for publishing. */
export interface PublishOptions extends StreamOptions {
  /**
   * The epoch of the lease under which this publisher works, a whole number from 0; default 0. Of two messages on a
   * subject, the one with the higher epoch stays; with equal epochs, the one that was observed later.
   */
  epoch?: number;
}

/** Options for publishing snipers. */
export interface PublishSnipersOptions extends PublishOptions {
  /** The `blocksAfterCreation` that the snipers were asked for with, 0 to 1,000; default: none, the service chooses. */
  blocksAfterCreation?: number;
}

/**
 * Publishes candle events of any number of series while it is subscribed to. Each candle has its own subject, on which
 * the stream keeps the last message: the present candle.
 *
 * ```marbles
 * events                              a-b-c-|
 * publishCandles(connection, events)  p-q-r-|
 *
 * a: new 12:00 = 5, open    b: updated 12:00 = 6, closed    c: new 12:01 = 7, open
 * p: stored as 1            q: stored as 2                  r: stored as 3
 * ```
 *
 * It is cold: nothing is stored before it is subscribed to, and unsubscribing ends it. If the servers take nothing at
 * present, the newest version of each candle waits and is sent again. It fails with the error of `events`, with a
 * `PairstreamError` if the stream is set up differently or may not be written, and with a `NetworkError` if there is
 * something to store and the connection is closed. It completes once `events` has completed and everything is stored.
 * Throws an `InvalidInputError` at the call.
 *
 * Use one publisher per series. With two, the later observation of each candle stays, but neither sends again what it
 * believes to be stored. `collect` shares series among several.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient, watchCandles } from "pairstream";
 * import { publishCandles } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * publishCandles(connection, watchCandles(client, { ...series, since: { candles: 500 } })).subscribe();
 * ```
 */
export function publishCandles(
  connection: NatsConnection,
  events: Observable<CandleEvent>,
  options: PublishOptions = {},
): Observable<Publication> {
  const checked = checkPublishing(connection, "events", events, options);
  const { settings, epoch } = checked;
  return publishing(connection, checked, allCandleSubjects(settings.name), events, (publisher) => ({
    next: (event) => offerCandle(publisher, candleSubjects(settings.name, event.series), event, epoch),
  }));
}

/**
 * Publishes sniper events of any number of pairs while it is subscribed to. Each wallet has its own subject, which
 * holds the present wallet. Everything else is as with `publishCandles`.
 *
 * ```marbles
 * events                              a-b-c-|
 * publishSnipers(connection, events)  p-q-r-|
 *
 * a: wallet-added ann, initial    b: sold ann        c: wallet-added bob
 * p: stored as 1                  q: stored as 2     r: stored as 3
 * ```
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient, watchSnipers } from "pairstream";
 * import { publishSnipers } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * publishSnipers(connection, watchSnipers(client, { pairAddress })).subscribe();
 * ```
 */
export function publishSnipers(
  connection: NatsConnection,
  events: Observable<SniperEvent>,
  options: PublishSnipersOptions = {},
): Observable<Publication> {
  const checked = checkPublishing(connection, "events", events, options, ["blocksAfterCreation"]);
  const { settings, epoch } = checked;
  const { blocksAfterCreation } = options;
  if (blocksAfterCreation !== undefined) {
    checkNumber("blocksAfterCreation", blocksAfterCreation, { min: 0, max: 1_000, integer: true });
  }
  const asked = blocksAfterCreation === undefined ? {} : { blocksAfterCreation };
  return publishing(connection, checked, allSniperSubjects(settings.name), events, (publisher) => {
    const wallets = new Map<string, Map<string, Sniper>>();
    return {
      next: (event) => {
        const { pairAddress } = event;
        const known = wallets.get(pairAddress) ?? new Map<string, Sniper>();
        wallets.set(pairAddress, known);
        const feed = sniperSubjects(settings.name, { pairAddress, ...asked });
        offerSniper(publisher, feed, known, event, epoch);
      },
    };
  });
}

/**
 * Publishes the status of a feed while it is subscribed to, and answers when somebody asks whether it is alive.
 * `watchPublishedFeedStatus` emits that status, and `stalled` once nobody answers any more. If `statuses` fails, it
 * publishes that the feed is stalled, and fails too. Everything else is as with `publishCandles`.
 *
 * ```marbles
 * statuses                                       s-l-m-|
 * publishFeedStatus(connection, feed, statuses)  p-q-r-|
 *
 * s: starting       l: live until 12:00    m: live until 12:01
 * p: stored as 1    q: stored as 2         r: stored as 3
 * ```
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient, watchFeedStatus } from "pairstream";
 * import { publishFeedStatus } from "pairstream/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * publishFeedStatus(connection, series, watchFeedStatus(client, series)).subscribe();
 * ```
 */
export function publishFeedStatus(
  connection: NatsConnection,
  feed: Series | SniperQuery,
  statuses: Observable<FeedStatus>,
  options: PublishOptions = {},
): Observable<Publication> {
  const checked = checkPublishing(connection, "statuses", statuses, options);
  const { settings, epoch } = checked;
  return publishing(connection, checked, subjectsOf(settings.name, feed), statuses, (publisher) => {
    let name = "";
    let last: FeedStatus | undefined;
    const next = (status: FeedStatus) => {
      last = status;
      publisher.offerStatus(() => {
        const body = statusBody({ status, publisher: name, takeovers: [], from: undefined });
        return { body, isRemoval: false, epoch, observedAt: status.coveredUntil ?? 0 };
      });
    };
    return {
      opened: ({ library }) => {
        name = library.nuid.next();
        return answerForLife(connection, settings.name, name);
      },
      next,
      error: (error) => next(failedStatus(last, error)),
    };
  });
}

const PUBLISH_NAMES = ["scheduler", "replicas", "retention", "epoch"];

/** Options, checked and complete. */
interface Publishing {
  readonly settings: NatsSettings;
  readonly epoch: number;
}

function checkPublishing(
  connection: NatsConnection,
  parameter: string,
  source: Observable<unknown>,
  options: PublishOptions,
  more: readonly string[] = [],
): Publishing {
  checkConnection(connection);
  if (typeof source?.subscribe !== "function") {
    throw new InvalidInputError(parameter, "an Observable", "is not an Observable");
  }
  const settings = checkNatsOptions(options, [...PUBLISH_NAMES, ...more]);
  return { settings, epoch: checkNumber("epoch", options.epoch ?? 0, { min: 0, integer: true }) };
}

/** How the events of a source are handled. */
interface Taker<T> {
  /** Called once the stream is there, before anything is stored. */
  opened?(store: Store): Subscription;
  next(event: T): void;
  /** Called before the stream fails. */
  error?(error: unknown): void;
}

/** Offers the events of a source to a publisher until all is stored. What comes before the stream is there waits. */
function publishing<T>(
  connection: NatsConnection,
  { settings, epoch }: Publishing,
  feed: FeedSubjects,
  source: Observable<T>,
  begin: (publisher: Publisher) => Taker<T>,
): Observable<Publication> {
  return new Observable<Publication>((subscriber) => {
    let opened: Store | undefined;
    const fail = (cause: unknown) => subscriber.error(failureOver(connection, "Publishing failed", cause));
    const publisher = new Publisher(
      {
        get store() {
          return opened!;
        },
        scheduler: settings.scheduler,
        lanes: new Lanes(MESSAGES_AT_ONCE),
        ensureStream: () => opened!.ensureStream(feed, settings),
        mayPublish: () => opened !== undefined,
        tell: (publication) => subscriber.next(publication),
        fail,
      },
      feed,
    );
    const taker = begin(publisher);
    const abort = new AbortController();
    subscriber.add(() => abort.abort());
    subscriber.add(() => publisher.stop());
    const open = async () => {
      const store = await Store.open(connection);
      const waiting = { scheduler: settings.scheduler, signal: abort.signal };
      const retention = await persist(store, waiting, () => store.ensureStream(feed, settings));
      if (subscriber.closed) return;
      opened = store;
      subscriber.add(taker.opened?.(store));
      subscriber.add(publisher.refreshEvery(retention / 3, epoch));
      publisher.resume();
    };
    const opening = open().catch(fail);
    const end = (last: () => void) => void opening.then(() => publisher.whenIdle(last));
    const following = source.pipe(tap((event) => taker.next(event))).subscribe({
      error: (error) => {
        taker.error?.(error);
        end(() => subscriber.error(error));
      },
      complete: () => end(() => subscriber.complete()),
    });
    subscriber.add(following);
  });
}
