import { type SchedulerLike, Subscription, timer } from "rxjs";
import { callAt } from "../../client/timers.js";
import { writeMessage } from "./message.js";
import { decide, nextRevision, type Proposal, type StoredRecord } from "./records.js";
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
      /** A newer one was there already, and stays. */
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

/** Reads what a subject of a feed holds; throws a `ContractError` where that is none of this version's messages. */
export type RecordReader = (last: string, text: string) => Omit<StoredRecord, "sequence" | "isOwn">;

/** What the publishers of one connection share. */
export interface PublisherMeans {
  readonly store: Store;
  readonly scheduler: SchedulerLike;
  readonly lanes: Lanes;
  /** Makes the stream again where it is gone. */
  ensureStream(): Promise<unknown>;
  /** Whether anything may be stored now; `resume` tells when it may again. */
  mayPublish(): boolean;
  tell(publication: Publication): void;
  fail(error: unknown): void;
}

interface Offer {
  readonly last: string;
  readonly proposal: Proposal;
  /** Whether nothing more will be said on this subject. */
  readonly isLast: boolean;
  /** Whether to store it even where it says what is there already. */
  readonly isForced: boolean;
  readonly number: number;
}

/** The waits before a message is sent again, in ms. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 1_000;
/** After so many failures in a row the stream is set up again, in case that it is gone. */
const FAILURES_BEFORE_SETUP = 5;

/** So many messages of a connection wait for their acknowledgement at once. */
export const MESSAGES_AT_ONCE = 256;

/** Places for so many at once. */
export class Lanes {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a lane; where none is free, `retry` is called once one is. */
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
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}

/**
 * Stores what is said of one feed: the newest on each subject, one message on its way at a time there, and each only over
 * the message that is known to be there. How the feed stands follows what came before it.
 *
 * What cannot be stored at present waits, one message a subject.
 */
export class FeedPublisher {
  readonly #means: PublisherMeans;
  readonly #feed: FeedSubjects;
  readonly #read: RecordReader;
  /** What is stored on the subjects that more may be said on, by their last part. */
  readonly #stored = new Map<string, StoredRecord>();
  /** Subjects on which it is not certain, as something was sent that nobody has acknowledged. */
  readonly #doubtful = new Set<string>();
  readonly #waiting = new Map<string, Offer>();
  readonly #sending = new Map<string, Offer>();
  #isStopped = false;
  /** After a failure nothing is sent for a while. */
  #isPausing = false;
  #pause = Subscription.EMPTY;
  #failures = 0;
  #status: { readonly make: () => Proposal; readonly isForced: boolean; readonly after: number } | undefined;
  /** How the feed stands, as told last. */
  #makeStatus: (() => Proposal) | undefined;
  #count = 0;
  #idle: (() => void) | undefined;
  readonly #retry = () => this.#pump();

  constructor(means: PublisherMeans, feed: FeedSubjects, read: RecordReader) {
    this.#means = means;
    this.#feed = feed;
    this.#read = read;
  }

  /** Learns what a subject holds. */
  learn(last: string, sequence: number, text: string): void {
    this.#stored.set(last, { ...this.#read(last, text), sequence, isOwn: false });
  }

  /** What is stored on a subject on which more may be said. */
  stored(last: string): StoredRecord | undefined {
    return this.#stored.get(last);
  }

  /** The first message of those on whose subjects more may be said; `undefined` where there is none. */
  get firstOpen(): number | undefined {
    let first: number | undefined;
    for (const [last, { sequence }] of this.#stored) {
      if (last !== STATUS && (first === undefined || sequence < first)) first = sequence;
    }
    return first;
  }

  /** Has something stored on a subject; `isLast`: that nothing will follow there. */
  offer(last: string, proposal: Proposal, isLast: boolean, isForced = false): void {
    this.#count += 1;
    // One that waits keeps its place, so that a subject that changes all the time does not wait for ever.
    const { number } = this.#waiting.get(last) ?? { number: this.#count };
    this.#waiting.set(last, { last, proposal, isLast, isForced, number });
    this.#pump();
  }

  /** Has it stored how the feed stands, once what was offered before is stored; `make` is called then. */
  offerStatus(make: () => Proposal, isForced = false): void {
    this.#makeStatus = make;
    this.#status = { make, isForced, after: this.#count };
    this.#pump();
  }

  /**
   * Stores again, unchanged, all on which more may be said, so that it does not grow too old to be kept: every so many ms,
   * until unsubscribed; never where that is 0.
   */
  refreshEvery(ms: number, epoch: number): Subscription {
    if (ms === 0) return Subscription.EMPTY;
    return timer(ms, ms, this.#means.scheduler).subscribe(() => this.#refresh(epoch));
  }

  /** What an earlier lease has left is stored under this one: under its own it would be too late to count. */
  #refresh(epoch: number): void {
    for (const [last, stored] of this.#stored) {
      const isUnderWay = this.#waiting.has(last) || this.#sending.has(last);
      const isOurs = last !== STATUS && stored.epoch <= epoch;
      if (isOurs && !isUnderWay) this.offer(last, { ...stored, epoch }, false, true);
    }
    if (this.#makeStatus !== undefined) this.offerStatus(this.#makeStatus, true);
  }

  /** Goes on where nothing could be stored for a while. */
  resume(): void {
    this.#pump();
  }

  /** Gives up what is not stored yet. */
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

  /** Sends it again, the sooner the longer the attempt that began then has taken, with all that waits meanwhile. */
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
    this.#pause = callAt(scheduler, begun + wait, () => {
      // Where the stream is gone nobody answers on its subjects.
      if (this.#failures % FAILURES_BEFORE_SETUP === 0) ensureStream().then(resume, resume);
      else resume();
    });
  }

  /**
   * Stores an offer over what is there, unless that is newer.
   *
   * What is there is read first where it is not known: a cluster of version 2.9 counts a message that is refused for what it
   * expected, and a server that was killed does not know of that count when it comes back. What has just begun to be is
   * not looked for: at the turn of an interval that would be a question for every series.
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
        stored = message && { ...this.#read(last, message.text), sequence: message.sequence, isOwn: false };
      }
      const decision = decide(stored, proposal);
      if (decision === "keep") tell({ type: "superseded", subject, sequence: stored!.sequence });
      if (decision === "done" && !mustStore && this.#doubtful.has(last)) {
        // It was stored, and nobody has heard of that.
        stored = { ...stored!, isOwn: true };
        tell({ type: "stored", subject, sequence: stored.sequence });
      }
      if (decision === "keep" || (decision === "done" && !mustStore)) break;
      const { epoch, observedAt, body, isRemoval, due, isLate } = proposal;
      const record = {
        epoch,
        observedAt,
        body,
        isRemoval,
        due,
        isLate,
        revision: nextRevision(stored, proposal),
      };
      const sequence = await store.publish(subject, writeMessage(record), stored?.sequence ?? 0);
      if (this.#isStopped) return;
      if (sequence !== undefined) {
        stored = { ...record, sequence, isOwn: true };
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
