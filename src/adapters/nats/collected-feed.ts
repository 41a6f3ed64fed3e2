import { lastValueFrom, map, Observable, Subscription, takeWhile, tap, toArray } from "rxjs";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { watchCandles } from "../../candles/watch.js";
import { type Client, coreOf } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series, Sniper } from "../../contract/model.js";
import { type FeedStatus, watchFeedStatus } from "../../feed-status.js";
import { checkSniperWatch, type SniperWatch, watchSnipers } from "../../snipers/watch.js";
import { addressOf } from "../sse/wallets.js";
import { type ConsumerSignal, consume } from "./consumer.js";
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
import {
  FeedPublisher,
  type Lanes,
  type Publication,
  type PublisherMeans,
  type RecordReader,
} from "./publisher.js";
import { TAKEOVERS_KEPT, type Takeover, takeoversOf } from "./records.js";
import { carriedStatus, failedStatus, keptStatus, takenOverStatus } from "./statuses.js";
import { persist } from "./store.js";
import { type FeedSubjects, STATUS, splitSubject, walletToken } from "./subjects.js";

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
    const { store, scheduler } = means;
    const statusSubject = `${feed.key}.${STATUS}`;
    let hasBegun = false;
    /** Once the first status is stored, the later ones say when that was. */
    const noteBeginning = async () => {
      hasBegun = true;
      const told = await persist(store, scheduler, abort.signal, () =>
        store.last(feed.stream, statusSubject),
      );
      const isOurs = told !== undefined && readStatusMessage(told.text).epoch === epoch;
      if (isOurs) teller?.learnBeginning(told.time);
    };
    const tell = (publication: Publication) => {
      means.tell(publication);
      const { type, subject } = publication;
      if (type === "stored" && subject === statusSubject && !hasBegun) noteBeginning().catch(() => {});
    };
    const publisher = new FeedPublisher({ ...means, fail, tell }, feed, kind.read);
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
  readonly status: (StatusRecord & { readonly time: number }) | undefined;
  readonly open: Map<string, OpenRecord>;
}

/** Servers of version 2.9 that were killed have been seen to number the same messages differently, by a few. */
const SEQUENCES_APART = 1_000;

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
    const { key, stream } = feed;
    const told = await persist(store, scheduler, signal, () => store.last(stream, `${key}.${STATUS}`));
    const status = told && { ...readStatusMessage(told.text), time: told.time };
    const from = status?.from === undefined ? "stored" : status.from - SEQUENCES_APART;
    const signals = consume(store, { stream, filter: `${key}.>`, from, scheduler }).pipe(
      takeWhile(({ type }) => type !== "caught-up" && !signal.aborted),
      toArray(),
    );
    const newest = new Map<string, Extract<ConsumerSignal, { type: "message" }>>();
    for (const message of await lastValueFrom(signals)) {
      if (message.type !== "message") continue;
      const { last } = splitSubject(message.subject);
      if ((newest.get(last)?.time ?? 0) <= message.time) newest.set(last, message);
    }
    const open = new Map<string, OpenRecord>();
    for (const [last, { sequence, text }] of newest) {
      const removal = last === STATUS ? undefined : kind.removalOf(text());
      if (last === STATUS || removal !== undefined) publisher.learn(last, sequence, text());
      if (removal !== undefined) open.set(last, { removal });
    }
    return { status, open };
  } finally {
    readers.leave();
  }
}

/** Publishes how a feed stands under one lease. */
class StatusTeller {
  last: FeedStatus | undefined;
  readonly #publisher: FeedPublisher;
  readonly #epoch: number;
  readonly #name: string;
  #takeovers: readonly Takeover[];

  constructor(
    publisher: FeedPublisher,
    { epoch, publisher: name, before }: { epoch: number; publisher: string; before: StoredFeed["status"] },
  ) {
    this.#publisher = publisher;
    this.#epoch = epoch;
    this.#name = name;
    this.#takeovers = before === undefined ? [] : takeoversOf(before).slice(1 - TAKEOVERS_KEPT);
  }

  /** Learns when the first message of this lease was stored, by the server's clock. */
  learnBeginning(at: number): void {
    this.#takeovers = [...this.#takeovers, { epoch: this.#epoch, at }];
  }

  tell(status: FeedStatus): void {
    if (status === this.last) return;
    this.last = status;
    this.#publisher.offerStatus(() => {
      const from = this.#publisher.firstOpen;
      const body = statusBody({ status, publisher: this.#name, takeovers: this.#takeovers, from });
      return { body, isRemoval: false, epoch: this.#epoch, observedAt: 0 };
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
