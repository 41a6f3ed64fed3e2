import {
  fromEvent,
  lastValueFrom,
  Observable,
  repeat,
  type Subscriber,
  Subscription,
  takeUntil,
  takeWhile,
  toArray,
} from "rxjs";
import type { FeedStatus } from "../../feed-status.js";
import { consume, type StreamSignal } from "./consumer.js";
import { type AskingMeans, type CollectedWatch, type FeedKind, feedKindOf } from "./feed-kinds.js";
import type { Lanes } from "./lanes.js";
import { readStatusMessage, type StatusRecord, statusBody } from "./message.js";
import { type Publication, Publisher, type PublisherMeans } from "./publisher.js";
import { TAKEOVERS_KEPT, type Takeover, takeoversOf } from "./records.js";
import { carriedStatus, coveredFromStatus, failedStatus, takenOverStatus } from "./statuses.js";
import { persist } from "./store.js";
import { type FeedSubjects, messagesOf, STATUS, splitSubject } from "./subjects.js";

/** What all feeds of a collector share. */
export interface CollectingMeans extends Omit<PublisherMeans, "outranked">, AskingMeans {
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
 * error and then fails with it. If the previous collector has changed the status meanwhile, it begins anew.
 */
export function collectFeed(
  feed: FeedSubjects,
  watch: CollectedWatch,
  means: CollectingMeans,
  epoch: number,
): Observable<never> {
  return new Observable<never>((subscriber) => {
    const work = new FeedWork({ feed, watch, means, epoch }, subscriber);
    subscriber.add(() => work.stop());
    work.start();
  }).pipe(repeat());
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
  /** Gets the error that ends the work, or the completion after which it begins anew. */
  readonly #subscriber: Subscriber<never>;
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
  #newestFinal = -Infinity;
  /** Candles of intervals before this are gone from the stream. */
  #goneUntil = -Infinity;

  constructor(order: FeedOrder, subscriber: Subscriber<never>) {
    const { feed, watch, means } = order;
    this.#order = order;
    this.#subscriber = subscriber;
    this.#kind = feedKindOf(watch, means);
    const own: PublisherMeans = {
      ...means,
      fail: (error) => this.#fail(error),
      tell: (publication) => this.#tell(publication),
      lost: (open) => this.#lose(open),
      outranked: (later) => means.outranked(feed, later),
      overtaken: () => {
        this.stop();
        subscriber.complete();
      },
      ended: (subject) => {
        this.#newestFinal = Math.max(this.#newestFinal, timestampOf(subject));
      },
    };
    this.#publisher = new Publisher(own, feed);
  }

  start(): void {
    const { feed, means } = this.#order;
    const { signal } = this.#abort;
    this.#resuming = means.resumed.subscribe(() => this.#publisher.resume());
    readStored(feed, this.#kind, means, this.#publisher, signal).then(
      (stored) => {
        if (!signal.aborted) this.#follow(stored);
      },
      (error) => this.#subscriber.error(error),
    );
  }

  stop(): void {
    this.#abort.abort();
    this.#following.unsubscribe();
    this.#resuming.unsubscribe();
    this.#publisher.stop();
  }

  #follow({ status, open, newestFinal }: StoredFeed): void {
    this.#newestFinal = newestFinal;
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
      this.#tellStatus(coveredFromStatus(carriedStatus(before, own), this.#goneUntil));
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
    const last = this.#status!;
    const { coveredUntil = this.#newestFinal + 1 } = last;
    const again = open.map(timestampOf).filter((at) => this.#newestFinal < at && at < coveredUntil);
    this.#goneUntil = Math.max(this.#goneUntil, Math.min(coveredUntil, ...again));
    this.#tellStatus(coveredFromStatus(last, this.#goneUntil));
  }

  #tellStatus(status: FeedStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    const { means, epoch } = this.#order;
    this.#publisher.offerStatus((isFirst) => {
      const from = this.#publisher.firstOpen;
      // Candles grow too old to be kept also while no new status comes.
      const told = isFirst ? coveredFromStatus(status, Infinity) : this.#kind.kept(status);
      const { publisher } = means;
      const body = statusBody({ status: told, publisher, takeovers: this.#takeovers, from });
      return { body, isRemoval: false, epoch, observedAt: 0 };
    });
  }

  /** Ends with an error, after publishing it if that is possible. */
  #fail(error: unknown): void {
    const isSecond = this.#following.closed;
    this.#following.unsubscribe();
    if (isSecond || this.#status === undefined) {
      this.#subscriber.error(error);
      return;
    }
    this.#tellStatus(failedStatus(this.#status, error));
    this.#publisher.whenIdle(() => this.#subscriber.error(error));
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
  /** The newest candle of which the last message was read. */
  readonly newestFinal: number;
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
    const gone = () => void ensureStream().catch(() => {});
    const onTrouble = (error: unknown) => {
      if (store.isStreamGone(error)) gone();
    };
    const waiting = { scheduler, signal, onTrouble };
    const read = async (from: number) => {
      const start = from === 0 ? "stored" : from;
      const signals = consume(store, { stream, filter: messagesOf(key), from: start, scheduler, gone }).pipe(
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
      return newest;
    };
    const told = await persist(store, waiting, () => store.last(stream, `${key}.${STATUS}`));
    let from = beginningOf(told && readStatusMessage(told.text));
    for (;;) {
      const newest = await read(from);
      const message = newest.get(STATUS);
      // Another status than was told may have come meanwhile; if none is left, what it covered is gone with it.
      const status = message && { ...readStatusMessage(message.text()), time: message.time };
      if (beginningOf(status) < from) {
        from = beginningOf(status);
        continue;
      }
      const open = new Map<string, OpenRecord>();
      let newestFinal = -Infinity;
      for (const [last, { subject, sequence, text }] of newest) {
        const removal = last === STATUS ? undefined : kind.removalOf(last, text());
        if (last === STATUS || removal !== undefined) publisher.learn(subject, sequence, text());
        if (removal !== undefined) open.set(last, { removal });
        else if (Number(last) > newestFinal) newestFinal = Number(last);
      }
      return { status, open, newestFinal };
    }
  } finally {
    readers.leave();
  }
}

/** The sequence of the first message to read for a status; 0 for all messages. */
function beginningOf(status: StatusRecord | undefined): number {
  return Math.max(0, (status?.from ?? 0) - SEQUENCES_APART);
}
