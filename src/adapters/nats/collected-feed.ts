import { fromEvent, lastValueFrom, Observable, Subscription, takeUntil, takeWhile, toArray } from "rxjs";
import type { FeedStatus } from "../../feed-status.js";
import { type ConsumerSignal, consume } from "./consumer.js";
import { type AskingMeans, type CollectedWatch, type FeedKind, kindOf } from "./feed-kinds.js";
import { readStatusMessage, type StatusRecord, statusBody } from "./message.js";
import { FeedPublisher, type Lanes, type Publication, type PublisherMeans } from "./publisher.js";
import { TAKEOVERS_KEPT, type Takeover, takeoversOf } from "./records.js";
import { carriedStatus, failedStatus, takenOverStatus } from "./statuses.js";
import { persist } from "./store.js";
import { type FeedSubjects, STATUS, splitSubject } from "./subjects.js";

/** What the feeds of a collector share. */
export interface CollectingMeans extends PublisherMeans, AskingMeans {
  /** Who it is, to those who ask whether it is alive. */
  readonly publisher: string;
  /** For reading what is stored. */
  readonly readers: Lanes;
  /** Tells when messages may be stored again. */
  readonly resumed: Observable<void>;
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
    const work = new FeedWork({ feed, watch, means, epoch }, (error) => subscriber.error(error));
    subscriber.add(() => work.stop());
    work.start();
  });
}

/** What there is to work on, with what, and under which lease. */
interface FeedOrder {
  readonly feed: FeedSubjects;
  readonly watch: CollectedWatch;
  readonly means: CollectingMeans;
  readonly epoch: number;
}

class FeedWork {
  readonly #order: FeedOrder;
  readonly #kind: FeedKind;
  readonly #publisher: FeedPublisher;
  /** Ends the work with an error. */
  readonly #end: (error: unknown) => void;
  readonly #abort = new AbortController();
  /** The service's streams, and what goes on beside them. */
  readonly #following = new Subscription();
  #resuming = Subscription.EMPTY;
  #teller: StatusTeller | undefined;
  #hasBegun = false;

  constructor(order: FeedOrder, end: (error: unknown) => void) {
    const { feed, watch, means } = order;
    this.#order = order;
    this.#end = end;
    this.#kind = kindOf(watch, means);
    const own: PublisherMeans = {
      ...means,
      fail: (error) => this.#fail(error),
      tell: (publication) => this.#tell(publication),
    };
    this.#publisher = new FeedPublisher(own, feed, this.#kind.read);
  }

  start(): void {
    const { feed, means } = this.#order;
    const { signal } = this.#abort;
    this.#resuming = means.resumed.subscribe(() => this.#publisher.resume());
    readStored(feed, this.#kind, means, this.#publisher, signal).then(
      (stored) => {
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
    const { means, epoch } = this.#order;
    const publisher = this.#publisher;
    const before = status && takenOverStatus(status.status, this.#kind.dueUntil());
    const teller = new StatusTeller(publisher, { epoch, publisher: means.publisher, before: status });
    this.#teller = teller;
    teller.tell(carriedStatus(before, STARTING));
    const start = { publisher, epoch, open: [...open.keys()], before: status?.status };
    const { offered, statuses } = this.#kind.follow(start);
    const error = (failure: unknown) => this.#fail(failure);
    this.#following.add(publisher.refreshEvery(means.retention / 3, epoch));
    // What a status speaks of is offered before it.
    this.#following.add(offered.subscribe({ next: (last) => open.delete(last), error }));
    const next = (own: FeedStatus) => {
      if (own.state === "live") removeMissing(publisher, open, own, epoch);
      teller.tell(this.#kind.kept(carriedStatus(before, own)));
    };
    if (!this.#following.closed) this.#following.add(statuses.subscribe({ next, error }));
  }

  /** Ends with an error once that is published, or at once where it cannot be. */
  #fail(error: unknown): void {
    const isSecond = this.#following.closed;
    this.#following.unsubscribe();
    if (isSecond || this.#teller === undefined) {
      this.#end(error);
      return;
    }
    this.#teller.tell(failedStatus(this.#teller.last, error));
    this.#publisher.whenIdle(() => this.#end(error));
  }

  #tell(publication: Publication): void {
    this.#order.means.tell(publication);
    const { type, subject } = publication;
    const isBeginning = type === "stored" && subject === this.#statusSubject && !this.#hasBegun;
    if (isBeginning) this.#noteBeginning().catch(() => {});
  }

  /** Once the first status is stored, the later ones say when that was. */
  async #noteBeginning(): Promise<void> {
    this.#hasBegun = true;
    const { feed, means, epoch } = this.#order;
    const { store, scheduler } = means;
    const waiting = { scheduler, signal: this.#abort.signal };
    const told = await persist(store, waiting, () => store.last(feed.stream, this.#statusSubject));
    const isOurs = told !== undefined && readStatusMessage(told.text).epoch === epoch;
    if (isOurs) this.#teller?.learnBeginning(told.time);
  }

  get #statusSubject(): string {
    return `${this.#order.feed.key}.${STATUS}`;
  }
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
  { store, scheduler, readers, ensureStream }: CollectingMeans,
  publisher: FeedPublisher,
  signal: AbortSignal,
): Promise<StoredFeed> {
  await readers.turn();
  try {
    const { key, stream } = feed;
    // Where the stream is gone there may be no one else to make it again.
    const onTrouble = (error: unknown) => {
      if (store.isStreamGone(error)) ensureStream().catch(() => {});
    };
    const waiting = { scheduler, signal, onTrouble };
    const told = await persist(store, waiting, () => store.last(stream, `${key}.${STATUS}`));
    const status = told && { ...readStatusMessage(told.text), time: told.time };
    const from = status?.from === undefined ? "stored" : status.from - SEQUENCES_APART;
    const signals = consume(store, { stream, filter: `${key}.>`, from, scheduler }).pipe(
      takeWhile(({ type }) => type !== "caught-up"),
      takeUntil(fromEvent(signal, "abort")),
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
