import { lastValueFrom, map, Observable, Subscription, takeWhile, tap, toArray } from "rxjs";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series, Sniper } from "../../contract/model.js";
import { type FeedStatus, watchFeedStatus } from "../../feed-status.js";
import { checkSniperWatch, type SniperWatch, watchSnipers } from "../../snipers/watch.js";
import { addressOf } from "../sse/wallets.js";
import { consume } from "./consumer.js";
import { offerCandle, offerSniper, readCandleRecord, readWalletRecord } from "./feeds.js";
import {
  candleBody,
  readCandleMessage,
  readStatusMessage,
  readWalletMessage,
  type StatusRecord,
  statusBody,
  walletBody,
} from "./message.js";
import { FeedPublisher, type Lanes, type PublisherMeans, type RecordReader } from "./publisher.js";
import { TAKEOVERS_KEPT, type Takeover } from "./records.js";
import { carriedStatus, failedStatus, keptStatus, takenOverStatus } from "./statuses.js";
import { persist } from "./store.js";
import { type FeedSubjects, STATUS, walletToken } from "./subjects.js";

/** What `watchCandles` or `watchSnipers` is to be asked for. */
export type CollectedWatch = (Series & WatchOptions) | SniperWatch;

/** What the feeds of a collector share. */
export interface CollectingMeans extends PublisherMeans {
  /** Asks within the collector's share of the rate limit. */
  readonly client: Client;
  /** Who it is, to those who ask whether it is alive. */
  readonly publisher: string;
  /** How long the stream keeps a message, in ms; 0 for ever. */
  readonly retention: number;
  /** For reading what is stored. */
  readonly readers: Lanes;
  /** Tells when messages may be stored again. */
  readonly resumed: Observable<void>;
}

/** What a feed of candles, or of snipers, has of its own. */
interface FeedKind {
  readonly read: RecordReader;
  /** What is stored where that is gone which a message speaks of; `undefined` where nothing can follow it. */
  removalOf(text: string): string | undefined;
  /** The instant at which a reading that is not late has to have come to. */
  dueUntil(): number;
  /** What a status may claim of what is kept. */
  kept(status: FeedStatus): FeedStatus;
  /** Goes on after what is stored: offers what comes, and tells on which subjects. */
  follow(start: FeedStart): {
    readonly offered: Observable<string>;
    readonly statuses: Observable<FeedStatus>;
  };
}

interface FeedStart {
  readonly publisher: FeedPublisher;
  readonly epoch: number;
  /** The subjects on which more may follow. */
  readonly open: readonly string[];
  /** How the feed stood. */
  readonly before: FeedStatus | undefined;
}

/** A message that can still change. */
interface OpenRecord {
  /** What is stored where it is gone. */
  readonly removal: string;
  /** Until when the service's answers are known to lack it; two in a row remove it. */
  missedUntil?: number;
}

/**
 * Works on one feed under a lease: reads where the collector before has left it, asks the service from there on, and
 * publishes, as long as anyone subscribes. It errors with what the service's stream errors with, once that is published.
 */
export function collectFeed(
  feed: FeedSubjects,
  watch: CollectedWatch,
  means: CollectingMeans,
  epoch: number,
): Observable<never> {
  return new Observable((subscriber) => {
    const kind = "timeframe" in watch ? candleKind(watch, means) : sniperKind(watch, means);
    const abort = new AbortController();
    const following = new Subscription();
    let teller: StatusTeller | undefined;
    const fail = (error: unknown) => {
      const isSecond = following.closed;
      following.unsubscribe();
      if (isSecond || teller === undefined) {
        subscriber.error(error);
        return;
      }
      teller.tell(failedStatus(teller.last, error));
      publisher.whenIdle(() => subscriber.error(error));
    };
    const publisher = new FeedPublisher({ ...means, fail }, feed, kind.read);
    subscriber.add(() => {
      abort.abort();
      following.unsubscribe();
      publisher.stop();
    });
    subscriber.add(means.resumed.subscribe(() => publisher.resume()));
    const begin = ({ status, open }: StoredFeed) => {
      const before = status && takenOverStatus(status.status, kind.dueUntil());
      const told = new StatusTeller(publisher, { epoch, publisher: means.publisher, before: status });
      teller = told;
      told.tell(carriedStatus(before, STARTING));
      const start = { publisher, epoch, open: [...open.keys()], before: status?.status };
      const { offered, statuses } = kind.follow(start);
      following.add(publisher.refreshEvery(means.retention / 3));
      // What a status speaks of is offered before it.
      following.add(offered.subscribe({ next: (last) => open.delete(last), error: fail }));
      const take = (own: FeedStatus) => {
        if (own.state === "live") removeMissing(publisher, open, own, epoch);
        told.tell(kind.kept(carriedStatus(before, own)));
      };
      if (!following.closed) following.add(statuses.subscribe({ next: take, error: fail }));
    };
    readStored(feed, kind, means, publisher, abort.signal).then(
      (stored) => {
        if (!subscriber.closed) begin(stored);
      },
      (error) => subscriber.error(error),
    );
  });
}

const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

interface StoredFeed {
  readonly status: (StatusRecord & { readonly sequence: number }) | undefined;
  readonly open: Map<string, OpenRecord>;
}

/** Reads what is stored of a feed as far as it can still change; the publisher learns it. */
async function readStored(
  feed: FeedSubjects,
  kind: FeedKind,
  { store, scheduler, readers }: CollectingMeans,
  publisher: FeedPublisher,
  signal: AbortSignal,
): Promise<StoredFeed> {
  await readers.turn();
  try {
    const subject = `${feed.key}.${STATUS}`;
    const told = await persist(store, scheduler, signal, () => store.last(feed.stream, subject));
    const status = told && { ...readStatusMessage(told.text), sequence: told.sequence };
    const filter = `${feed.key}.>`;
    const from = status?.from ?? "stored";
    const stored = consume(store, { stream: feed.stream, filter, from, scheduler });
    const signals = await lastValueFrom(
      stored.pipe(
        takeWhile(({ type }) => type !== "caught-up" && !signal.aborted),
        toArray(),
      ),
    );
    const open = new Map<string, OpenRecord>();
    for (const message of signals) {
      if (message.type !== "message") continue;
      const last = message.subject.slice(feed.key.length + 1);
      const { sequence } = message;
      const text = message.text();
      if (last === STATUS) {
        publisher.learn(last, sequence, text);
        continue;
      }
      const removal = kind.removalOf(text);
      if (removal === undefined) continue;
      publisher.learn(last, sequence, text);
      open.set(last, { removal });
    }
    return { status, open };
  } finally {
    readers.leave();
  }
}

/** The takeovers that a status message tells of, that of its own lease included. */
function takeoversOf({
  epoch,
  sequence,
  takeovers,
}: StatusRecord & { sequence: number }): readonly Takeover[] {
  const isBeginning = !takeovers.some((takeover) => takeover.epoch === epoch);
  return isBeginning ? [...takeovers, { epoch, sequence }] : takeovers;
}

/** Publishes how a feed stands under one lease. */
class StatusTeller {
  last: FeedStatus | undefined;
  readonly #publisher: FeedPublisher;
  readonly #epoch: number;
  readonly #name: string;
  readonly #takeovers: readonly Takeover[];
  /** The first message of this lease. */
  #beginning: Takeover | undefined;

  constructor(
    publisher: FeedPublisher,
    { epoch, publisher: name, before }: { epoch: number; publisher: string; before: StoredFeed["status"] },
  ) {
    this.#publisher = publisher;
    this.#epoch = epoch;
    this.#name = name;
    this.#takeovers = before === undefined ? [] : takeoversOf(before).slice(1 - TAKEOVERS_KEPT);
  }

  tell(status: FeedStatus): void {
    if (status === this.last) return;
    this.last = status;
    this.#publisher.offerStatus(() => {
      const epoch = this.#epoch;
      const stored = this.#publisher.stored(STATUS);
      if (this.#beginning === undefined && stored?.epoch === epoch) {
        this.#beginning = { epoch, sequence: stored.sequence };
      }
      const takeovers = [...this.#takeovers, ...(this.#beginning === undefined ? [] : [this.#beginning])];
      const body = statusBody({ status, publisher: this.#name, takeovers, from: this.#publisher.firstOpen });
      return { body, isRemoval: false, epoch, observedAt: status.coveredUntil ?? 0 };
    });
  }
}

/** Removes what was stored before and two answers in a row have lacked. */
function removeMissing(
  publisher: FeedPublisher,
  open: Map<string, OpenRecord>,
  { coveredFrom, coveredUntil }: FeedStatus,
  epoch: number,
): void {
  if (coveredUntil === undefined) return;
  for (const [last, record] of open) {
    // Snipers have no range that is covered: a report tells of all of them.
    const timestamp = Number(last);
    const isCovered = coveredFrom === undefined || (coveredFrom <= timestamp && timestamp < coveredUntil);
    if (!isCovered || record.missedUntil === coveredUntil) continue;
    if (record.missedUntil === undefined) {
      record.missedUntil = coveredUntil;
      continue;
    }
    open.delete(last);
    publisher.offer(last, { body: record.removal, isRemoval: true, epoch, observedAt: coveredUntil }, false);
  }
}

function candleKind(
  watch: Series & WatchOptions,
  { client, retention, scheduler }: CollectingMeans,
): FeedKind {
  const { rules } = checkWatch(watch);
  const { intervals } = rules;
  const core = coreOf(client);
  const now = () => serviceTime(core.serviceClock(), scheduler.now());
  return {
    read: readCandleRecord,
    removalOf: (text) => {
      const { candle, status, isRemoved } = readCandleMessage(text);
      return isRemoved || status === "final" ? undefined : candleBody({ candle, status, isRemoved: true });
    },
    dueUntil: () => intervals.start(now() - rules.settle),
    kept: (status) => keptStatus(status, intervals, retention),
    follow: ({ publisher, epoch, open, before }) => {
      // All before the first candle that can still change is final, and so is all that is covered where none can.
      const first = open.length > 0 ? Math.min(...open.map(Number)) : before?.coveredUntil;
      const keptFrom = retention === 0 ? 0 : now() - retention;
      const options = first === undefined ? watch : { ...watch, since: Math.max(first, keptFrom, 0) };
      return {
        offered: watchCandles(client, options).pipe(
          tap((event) => offerCandle(publisher, event, epoch)),
          map(({ candle }) => String(candle.timestamp)),
        ),
        statuses: watchFeedStatus(client, options),
      };
    },
  };
}

function sniperKind(watch: SniperWatch, { client, scheduler }: CollectingMeans): FeedKind {
  const { every } = checkSniperWatch(watch);
  const core = coreOf(client);
  return {
    read: readWalletRecord,
    removalOf: (text) => {
      const { wallet, isRemoved } = readWalletMessage(text);
      return isRemoved ? undefined : walletBody({ wallet, isRemoved: true });
    },
    dueUntil: () => serviceTime(core.serviceClock(), scheduler.now()) - every,
    kept: (status) => status,
    follow: ({ publisher, epoch }) => {
      const wallets = new Map<string, Sniper>();
      return {
        offered: watchSnipers(client, watch).pipe(
          tap((event) => offerSniper(publisher, wallets, event, epoch)),
          map((event) => walletToken(addressOf(event))),
        ),
        statuses: watchFeedStatus(client, watch),
      };
    },
  };
}
