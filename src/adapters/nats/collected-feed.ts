import { fromEvent, lastValueFrom, Observable, Subscription, takeUntil, takeWhile, toArray } from "rxjs";
import type { FeedStatus } from "../../feed-status.js";
import { consume, type StreamSignal } from "./consumer.js";
import { type AskingMeans, type CollectedWatch, type FeedKind, feedKindOf } from "./feed-kinds.js";
import { readStatusMessage, type StatusRecord, statusBody } from "./message.js";
import { type Lanes, type Publication, Publisher, type PublisherMeans } from "./publisher.js";
import { TAKEOVERS_KEPT, type Takeover, takeoversOf } from "./records.js";
import { carriedStatus, coveredFromStatus, failedStatus, takenOverStatus } from "./statuses.js";
import { persist } from "./store.js";
import { type FeedSubjects, messagesOf, STATUS, splitSubject } from "./subjects.js";

/** What all feeds of a collector share. */
export interface CollectingMeans extends PublisherMeans, AskingMeans {
  /** The collector's name for readers who ask whether it is alive. */
  readonly publisher: string;
  /** Lanes that limit how many feeds are read from the stream at once. */
  readonly readers: Lanes;
  /** Emits when messages may be stored again. */
  readonly resumed: Observable<void>;
  /** Called if a feed holds a message of a later lease than the one under which it is worked on. */
  outranked(feed: FeedSubjects, epoch: number): void;
}

/** A message that can still change. */
interface OpenRecord {
  /** The message to store if it is gone. */
  readonly removal: string;
  /** The `coveredUntil` of the first answer of the service that lacked it. A second such answer removes it. */
  missedUntil?: number;
}

/**
 * Works on one feed under a lease while it is subscribed to. It finds out from the stored messages where the previous
 * collector stopped, asks the service from there on, and publishes. If the service's stream fails, it publishes the
 * error and then fails with it.
 */
export function collectFeed(
  feed: FeedSubjects,
  watch: CollectedWatch,
  means: CollectingMeans,
  epoch: number,
): Observable<never> {
  return new Observable((subscriber) => {
    const work = new FeedWork({ feed, watch, means, epoch }, (error) => subscriber.error(error));
    subscriber.add(() => work.stop());
    work.start();
  });
}

/** The feed, the means to work on it, and the lease. */
interface FeedOrder {
  readonly feed: FeedSubjects;
  readonly watch: CollectedWatch;
  readonly means: CollectingMeans;
  readonly epoch: number;
}

class FeedWork {
  readonly #order: FeedOrder;
  readonly #kind: FeedKind;
  readonly #publisher: Publisher;
  /** Ends the work with an error. */
  readonly #end: (error: unknown) => void;
  readonly #abort = new AbortController();
  /** The subscriptions to the service's streams, and the timer that stores messages again. */
  readonly #following = new Subscription();
  #resuming = Subscription.EMPTY;
  /** The status that was published last. */
  #status: FeedStatus | undefined;
  /** The beginnings of the last leases, and of this one once that is known. */
  #takeovers: readonly Takeover[] = [];
  #hasBegun = false;
  /** The newest candle whose last message is stored. */
  #newestFinal = Number.NEGATIVE_INFINITY;
  /** Candles of intervals before this are gone from the stream. */
  #goneUntil = Number.NEGATIVE_INFINITY;

  constructor(order: FeedOrder, end: (error: unknown) => void) {
    const { feed, watch, means } = order;
    this.#order = order;
    this.#end = end;
    this.#kind = feedKindOf(watch, means);
    const own: PublisherMeans = {
      ...means,
      fail: (error) => this.#fail(error),
      tell: (publication) => this.#tell(publication),
      lost: (open) => this.#lose(open),
      ended: (subject) => {
        this.#newestFinal = Math.max(this.#newestFinal, timestampOf(subject));
      },
    };
    this.#publisher = new Publisher(own, feed);
  }

  start(): void {
    const { feed, means, epoch } = this.#order;
    const { signal } = this.#abort;
    this.#resuming = means.resumed.subscribe(() => this.#publisher.resume());
    readStored(feed, this.#kind, means, this.#publisher, signal).then(
      (stored) => {
        const { status } = stored;
        if (status !== undefined && status.epoch > epoch) means.outranked(feed, status.epoch);
        if (!signal.aborted) this.#follow(stored);
      },
      (error) => this.#end(error),
    );
  }

  stop(): void {
    this.#abort.abort();
    this.#following.unsubscribe();
    this.#resuming.unsubscribe();
    this.#publisher.stop();
  }

  #follow({ status, open }: StoredFeed): void {
    const { feed, means, epoch } = this.#order;
    const publisher = this.#publisher;
    const before = status && takenOverStatus(status.status, this.#kind.dueUntil());
    if (status !== undefined) this.#takeovers = takeoversOf(status).slice(1 - TAKEOVERS_KEPT);
    this.#tellStatus(carriedStatus(before, STARTING));
    const start = { feed, publisher, epoch, open: [...open.keys()], before: status?.status };
    const { offered, statuses } = this.#kind.follow(start);
    const error = (failure: unknown) => this.#fail(failure);
    this.#following.add(publisher.refreshEvery(means.retention / 3, epoch));
    // Changes are offered before the status that covers them.
    this.#following.add(offered.subscribe({ next: (last) => open.delete(last), error }));
    const next = (own: FeedStatus) => {
      if (own.state === "live") this.#removeMissing(open, own);
      this.#tellStatus(coveredFromStatus(this.#kind.kept(carriedStatus(before, own)), this.#goneUntil));
    };
    if (!this.#following.closed) this.#following.add(statuses.subscribe({ next, error }));
  }

  /** Removes stored candles or wallets that two answers in a row have lacked. */
  #removeMissing(open: Map<string, OpenRecord>, { coveredFrom, coveredUntil }: FeedStatus): void {
    if (coveredUntil === undefined) return;
    const { feed, epoch } = this.#order;
    for (const [last, record] of open) {
      // Snipers have no covered range, because a report contains all of them.
      const timestamp = Number(last);
      const isCovered = coveredFrom === undefined || (coveredFrom <= timestamp && timestamp < coveredUntil);
      if (!isCovered || record.missedUntil === coveredUntil) continue;
      if (record.missedUntil === undefined) {
        record.missedUntil = coveredUntil;
        continue;
      }
      open.delete(last);
      const proposal = { body: record.removal, isRemoval: true, epoch, observedAt: coveredUntil };
      this.#publisher.offer(`${feed.key}.${last}`, proposal, false);
    }
  }

  /**
   * Narrows what is covered to the candles that are stored again, and are newer than every candle whose last message was
   * stored: that message is gone. An older candle may wait for its last message longer than a newer one.
   */
  #lose(open: readonly string[]): void {
    const last = this.#status;
    if (last?.coveredUntil === undefined) return;
    const { coveredUntil } = last;
    const again = open.map(timestampOf).filter((at) => this.#newestFinal < at && at < coveredUntil);
    this.#goneUntil = Math.max(this.#goneUntil, Math.min(coveredUntil, ...again));
    this.#tellStatus(coveredFromStatus(last, this.#goneUntil));
  }

  #tellStatus(status: FeedStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    const { means, epoch } = this.#order;
    this.#publisher.offerStatus(() => {
      const from = this.#publisher.firstOpen;
      const body = statusBody({ status, publisher: means.publisher, takeovers: this.#takeovers, from });
      return { body, isRemoval: false, epoch, observedAt: 0 };
    });
  }

  /** Ends with an error, after publishing it if that is possible. */
  #fail(error: unknown): void {
    const isSecond = this.#following.closed;
    this.#following.unsubscribe();
    if (isSecond || this.#status === undefined) {
      this.#end(error);
      return;
    }
    this.#tellStatus(failedStatus(this.#status, error));
    this.#publisher.whenIdle(() => this.#end(error));
  }

  #tell(publication: Publication): void {
    this.#order.means.tell(publication);
    const { type, subject } = publication;
    const isBeginning = type === "stored" && subject === this.#statusSubject && !this.#hasBegun;
    if (isBeginning) this.#noteBeginning().catch(() => {});
  }

  /** Once the first status is stored, later ones say when it was stored. */
  async #noteBeginning(): Promise<void> {
    this.#hasBegun = true;
    const { feed, means, epoch } = this.#order;
    const { store, scheduler } = means;
    const waiting = { scheduler, signal: this.#abort.signal };
    const told = await persist(store, waiting, () => store.last(feed.stream, this.#statusSubject));
    const isOurs = told !== undefined && readStatusMessage(told.text).epoch === epoch;
    if (isOurs) this.#takeovers = [...this.#takeovers, { epoch, at: told.time }];
  }

  get #statusSubject(): string {
    return `${this.#order.feed.key}.${STATUS}`;
  }
}

/** The interval of a candle, by its subject. */
function timestampOf(subject: string): number {
  return Number(splitSubject(subject).last);
}

const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

interface StoredFeed {
  readonly status: (StatusRecord & { readonly time: number }) | undefined;
  readonly open: Map<string, OpenRecord>;
}

/**
 * How many messages before `from` the reading begins. After a crash, servers of version 2.9 may number the same
 * messages differently, by a few.
 */
const SEQUENCES_APART = 1_000;

/** Reads the stored messages of a feed that can still change, and passes them to the publisher. */
async function readStored(
  feed: FeedSubjects,
  kind: FeedKind,
  { store, scheduler, readers, ensureStream }: CollectingMeans,
  publisher: Publisher,
  signal: AbortSignal,
): Promise<StoredFeed> {
  await readers.turn();
  try {
    const { key, stream } = feed;
    // If the stream is gone, there may be nobody else to create it again.
    const onTrouble = (error: unknown) => {
      if (store.isStreamGone(error)) ensureStream().catch(() => {});
    };
    const waiting = { scheduler, signal, onTrouble };
    const told = await persist(store, waiting, () => store.last(stream, `${key}.${STATUS}`));
    const status = told && { ...readStatusMessage(told.text), time: told.time };
    const from = status?.from === undefined ? "stored" : status.from - SEQUENCES_APART;
    const signals = consume(store, { stream, filter: messagesOf(key), from, scheduler }).pipe(
      takeWhile(({ type }) => type !== "caught-up"),
      takeUntil(fromEvent(signal, "abort")),
      toArray(),
    );
    const newest = new Map<string, Extract<StreamSignal, { type: "message" }>>();
    for (const message of await lastValueFrom(signals)) {
      if (message.type !== "message") continue;
      const { last } = splitSubject(message.subject);
      if ((newest.get(last)?.time ?? 0) <= message.time) newest.set(last, message);
    }
    const open = new Map<string, OpenRecord>();
    for (const [last, { subject, sequence, text }] of newest) {
      const removal = last === STATUS ? undefined : kind.removalOf(last, text());
      if (last === STATUS || removal !== undefined) publisher.learn(subject, sequence, text());
      if (removal !== undefined) open.set(last, { removal });
    }
    // A status that has gone since it was read, as by a purge, covers messages that have gone with it.
    return { status: newest.has(STATUS) ? status : undefined, open };
  } finally {
    readers.leave();
  }
}
