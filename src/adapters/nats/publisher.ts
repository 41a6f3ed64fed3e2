import { type SchedulerLike, Subscription, timer } from "rxjs";
import { callAfter } from "../../client/timers.js";
import { writeMessage } from "./message.js";
import { decide, nextRevision, observedOver, type Proposal, type StoredRecord } from "./records.js";
import { asPairstreamError, type Store } from "./store.js";
import { type FeedSubjects, STATUS } from "./subjects.js";

/** What became of a message. */
export type Publication =
  | {
      /** It is stored. */
      readonly type: "stored";
      /** The subject of the message. */
      readonly subject: string;
      /** Its place in the stream, a whole number from 1. */
      readonly sequence: number;
    }
  | {
      /** A newer message was already stored, and stays. */
      readonly type: "superseded";
      /** The subject of the message. */
      readonly subject: string;
      /** The place of the newer one, a whole number from 1. */
      readonly sequence: number;
    }
  | {
      /** The servers did not take it; it is sent again. */
      readonly type: "retried";
      /** The subject of the message. */
      readonly subject: string;
      /** Why. */
      readonly error: unknown;
    };

/** Reads the message on a subject of a feed. Throws a `ContractError` if it is not a message of this version. */
export type RecordReader = (last: string, text: string) => Omit<StoredRecord, "sequence" | "isOwn">;

/** What the publishers of one collector share, or those of one call of `publishCandles` and the like. */
export interface PublisherMeans {
  readonly store: Store;
  readonly scheduler: SchedulerLike;
  readonly lanes: Lanes;
  /** Creates the stream again if it is gone. */
  ensureStream(): Promise<unknown>;
  /** Whether anything may be stored now. If not, somebody calls `FeedPublisher.resume` when it may again. */
  mayPublish(): boolean;
  tell(publication: Publication): void;
  fail(error: unknown): void;
  /**
   * Called if stored messages turn out to be gone, as after a purge. `open`: the last parts of the subjects on which more
   * may follow; their messages are stored again.
   */
  lost?(open: readonly string[]): void;
}

interface Offer {
  readonly last: string;
  readonly proposal: Proposal;
  /** Whether this is the last message on its subject. */
  readonly isLast: boolean;
  /** Whether to store it even if an equal message is already stored. */
  readonly isForced: boolean;
  readonly number: number;
}

/** The waits before a message is sent again, in ms. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 1_000;
/** After so many failures in a row, the stream is set up again in case it is gone. */
const FAILURES_BEFORE_SETUP = 5;

/** How many messages that share their lanes may wait for their acknowledgement at once. */
export const MESSAGES_AT_ONCE = 256;

/** Lanes, of which a fixed number may be taken at once. */
export class Lanes {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a lane. If none is free, `retry` is called once one is. */
  enter(retry: () => void): boolean {
    if (this.#taken >= this.#most) {
      this.#waiting.add(retry);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  /** Takes a lane as soon as one is free. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      const retry = () => {
        if (this.enter(retry)) resolve();
      };
      retry();
    });
  }

  leave(): void {
    this.#taken -= 1;
    // Whoever is called may take no lane, or take one and wait for another.
    while (this.#taken < this.#most) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      next();
    }
  }
}

/**
 * Stores the messages of one feed: the newest on each subject. At most one message per subject is on its way, and it
 * replaces only the message that is known to be stored. A status is stored after everything that was offered before it.
 *
 * Messages that cannot be stored at present wait, one per subject.
 */
export class FeedPublisher {
  readonly #means: PublisherMeans;
  readonly #feed: FeedSubjects;
  readonly #read: RecordReader;
  /** The stored messages on subjects on which more may follow, by the last part of the subject. */
  readonly #stored = new Map<string, StoredRecord>();
  /** Messages that are gone and not stored again yet. Their revisions go on. */
  readonly #gone = new Map<string, StoredRecord>();
  /** Subjects whose stored message is uncertain, because a message was sent and not acknowledged. */
  readonly #doubtful = new Set<string>();
  readonly #waiting = new Map<string, Offer>();
  readonly #sending = new Map<string, Offer>();
  #isStopped = false;
  /** Whether nothing is sent for a while, after a failure. */
  #isPausing = false;
  #pause = Subscription.EMPTY;
  #failures = 0;
  #status: { readonly make: () => Proposal; readonly isForced: boolean; readonly after: number } | undefined;
  /** The last status of the feed. */
  #makeStatus: (() => Proposal) | undefined;
  #count = 0;
  #idle: (() => void) | undefined;
  readonly #retry = () => this.#pump();

  constructor(means: PublisherMeans, feed: FeedSubjects, read: RecordReader) {
    this.#means = means;
    this.#feed = feed;
    this.#read = read;
  }

  /** Records which message a subject holds. */
  learn(last: string, sequence: number, text: string): void {
    this.#stored.set(last, { ...this.#read(last, text), sequence, isOwn: false });
  }

  /** The stored message on a subject on which more may follow. */
  stored(last: string): StoredRecord | undefined {
    return this.#stored.get(last);
  }

  /** The sequence of the first message on a subject on which more may follow; `undefined` if there is none. */
  get firstOpen(): number | undefined {
    let first: number | undefined;
    for (const [last, { sequence }] of this.#stored) {
      if (last !== STATUS && (first === undefined || sequence < first)) first = sequence;
    }
    return first;
  }

  /** Offers a message for a subject. `isLast`: whether nothing will follow there. */
  offer(last: string, proposal: Proposal, isLast: boolean, isForced = false): void {
    this.#count += 1;
    // A waiting message keeps its place, so that a subject that changes all the time does not wait forever.
    const { number } = this.#waiting.get(last) ?? { number: this.#count };
    this.#waiting.set(last, { last, proposal, isLast, isForced, number });
    this.#pump();
  }

  /** Stores a status once everything that was offered before is stored. `make` is called then. */
  offerStatus(make: () => Proposal, isForced = false): void {
    this.#makeStatus = make;
    this.#status = { make, isForced, after: this.#count };
    this.#pump();
  }

  /**
   * Stores again, unchanged, all messages that may still be replaced, so that they do not grow too old to be kept. It
   * does so every `ms` until unsubscribed, or never if that is 0.
   */
  refreshEvery(ms: number, epoch: number): Subscription {
    if (ms === 0) return Subscription.EMPTY;
    return timer(ms, ms, this.#means.scheduler).subscribe(() => this.#refresh(epoch));
  }

  /** A message of an earlier lease is stored under this one. Under its own lease it would now count as too late. */
  #refresh(epoch: number): void {
    for (const [last, stored] of this.#stored) {
      const isUnderWay = this.#waiting.has(last) || this.#sending.has(last);
      const isOurs = last !== STATUS && stored.epoch <= epoch;
      if (isOurs && !isUnderWay) this.offer(last, { ...stored, epoch }, false, true);
    }
    if (this.#makeStatus !== undefined) this.offerStatus(this.#makeStatus, true);
  }

  /** Goes on after a time in which nothing could be stored. */
  resume(): void {
    this.#pump();
  }

  /** Gives up all messages that are not stored yet. */
  stop(): void {
    this.#isStopped = true;
    this.#pause.unsubscribe();
    this.#waiting.clear();
    this.#status = undefined;
  }

  /** Calls back once everything that was offered is stored. */
  whenIdle(callback: () => void): void {
    this.#idle = callback;
    this.#checkIdle();
  }

  #pump(): void {
    if (this.#isStopped || this.#isPausing) return;
    for (const offer of this.#waiting.values()) {
      if (this.#sending.has(offer.last)) continue;
      if (!this.#enter()) return;
      this.#waiting.delete(offer.last);
      this.#begin(offer);
    }
    this.#pumpStatus();
    this.#checkIdle();
  }

  #pumpStatus(): void {
    const status = this.#status;
    if (status === undefined || this.#sending.has(STATUS)) return;
    const isEarlier = ({ last, number }: Offer) => last !== STATUS && number <= status.after;
    if ([...this.#sending.values()].some(isEarlier) || [...this.#waiting.values()].some(isEarlier)) return;
    if (!this.#enter()) return;
    this.#status = undefined;
    const { make, isForced, after: number } = status;
    this.#begin({ last: STATUS, proposal: make(), isLast: false, isForced, number });
  }

  #enter(): boolean {
    return this.#means.mayPublish() && this.#means.lanes.enter(this.#retry);
  }

  #begin(offer: Offer): void {
    const { last } = offer;
    this.#sending.set(last, offer);
    const begun = this.#means.scheduler.now();
    this.#store(offer)
      .then(
        () => {
          this.#failures = 0;
        },
        (error) => this.#fail(offer, error, begun),
      )
      .finally(() => {
        this.#sending.delete(last);
        this.#means.lanes.leave();
        this.#pump();
      });
  }

  /**
   * Sends it again later, together with everything that waits by then. The time that the failed attempt took, which
   * began at `begun`, counts as part of the wait.
   */
  #fail(offer: Offer, error: unknown, begun: number): void {
    const { store, scheduler, tell, fail, ensureStream } = this.#means;
    if (this.#isStopped) return;
    const subject = this.#subjectOf(offer.last);
    if (!store.isPassing(error)) {
      fail(asPairstreamError(`${subject} cannot be stored`, error));
      return;
    }
    tell({ type: "retried", subject, error });
    this.#doubtful.add(offer.last);
    this.#putBack(offer);
    if (this.#isPausing) return;
    this.#isPausing = true;
    this.#failures += 1;
    const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.#failures - 1));
    const resume = () => {
      this.#isPausing = false;
      this.#pump();
    };
    this.#pause = callAfter(scheduler, begun, wait, () => {
      // If the stream is gone, nobody answers on its subjects.
      if (this.#failures % FAILURES_BEFORE_SETUP === 0) ensureStream().then(resume, resume);
      else resume();
    });
  }

  /**
   * Stores an offer over the stored message, unless that is newer.
   *
   * If the stored message is not known, it is read first. A write that the server refuses would be worse: a cluster of
   * version 2.9 counts the refused message, and a server that crashed has lost that count when it comes back. A candle
   * that has just begun is not read first: at the start of an interval that would take a request for every series.
   */
  async #store({ last, proposal, isLast, isForced }: Offer): Promise<void> {
    const { store, tell } = this.#means;
    const subject = this.#subjectOf(last);
    let stored = this.#stored.get(last);
    let isKnown = (stored !== undefined || proposal.isBeginning === true) && !this.#doubtful.has(last);
    let mustStore = isForced;
    for (;;) {
      if (!isKnown) {
        const message = await store.last(this.#feed.stream, subject);
        if (this.#isStopped) return;
        const isGone = message === undefined && stored !== undefined && this.#stored.get(last) === stored;
        if (isGone) this.#restore(proposal.epoch);
        else if (message !== undefined) this.#gone.delete(last);
        stored = message && { ...this.#read(last, message.text), sequence: message.sequence, isOwn: false };
      }
      const decision = decide(stored, proposal);
      if (decision === "keep") tell({ type: "superseded", subject, sequence: stored!.sequence });
      if (decision === "done" && !mustStore && this.#doubtful.has(last)) {
        // The message was stored, but its acknowledgement was lost.
        stored = { ...stored!, isOwn: true };
        tell({ type: "stored", subject, sequence: stored.sequence });
      }
      if (decision === "keep" || (decision === "done" && !mustStore)) break;
      const { epoch, body, isRemoval, due, isLate } = proposal;
      const record = {
        epoch,
        observedAt: observedOver(stored, proposal),
        body,
        isRemoval,
        due,
        isLate,
        revision: nextRevision(stored ?? this.#gone.get(last), proposal),
      };
      const sequence = await store.publish(subject, writeMessage(record), stored?.sequence ?? 0);
      if (this.#isStopped) return;
      if (sequence !== undefined) {
        stored = { ...record, sequence, isOwn: true };
        this.#gone.delete(last);
        tell({ type: "stored", subject, sequence });
        break;
      }
      isKnown = false;
      mustStore = false;
    }
    this.#doubtful.delete(last);
    const isOver = isLast || (stored?.isRemoval === true && last !== STATUS);
    if (isOver || stored === undefined) this.#stored.delete(last);
    else this.#stored.set(last, stored);
  }

  /** Stores again what may still be replaced, after finding that stored messages are gone. */
  #restore(epoch: number): void {
    const gone = [...this.#stored].filter(([last]) => last !== STATUS);
    this.#stored.clear();
    for (const [last, stored] of gone) {
      this.#gone.set(last, stored);
      const isUnderWay = this.#waiting.has(last) || this.#sending.has(last);
      if (!isUnderWay) this.offer(last, { ...stored, epoch, isBeginning: false }, false);
    }
    this.#means.lost?.(gone.map(([last]) => last));
  }

  #putBack(offer: Offer): void {
    const { last, proposal, isForced, number } = offer;
    if (last === STATUS) this.#status ??= { make: () => proposal, isForced, after: number };
    else if (!this.#waiting.has(last)) this.#waiting.set(last, offer);
  }

  #subjectOf(last: string): string {
    return `${this.#feed.key}.${last}`;
  }

  #checkIdle(): void {
    if (this.#waiting.size > 0 || this.#sending.size > 0 || this.#status !== undefined) return;
    this.#idle?.();
  }
}
