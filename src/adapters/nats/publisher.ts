import { type SchedulerLike, Subscription, timer } from "rxjs";
import { callAfter } from "../../client/timers.js";
import type { Lanes } from "./lanes.js";
import { readRecord, writeMessage } from "./message.js";
import { decide, GONE, nextRevision, observedOver, type Proposal, type StoredRecord } from "./records.js";
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

/** What the publishers of one collector share, or what the one of a call of `publishCandles` and the like has. */
export interface PublisherMeans {
  readonly store: Store;
  readonly scheduler: SchedulerLike;
  readonly lanes: Lanes;
  /** Creates the stream again if it is gone. */
  ensureStream(): Promise<unknown>;
  /** Whether anything may be stored now. If not, somebody calls `Publisher.resume` when it may again. */
  mayPublish(): boolean;
  tell(publication: Publication): void;
  fail(error: unknown): void;
  /**
   * Called if stored messages turn out to be gone, as after a purge. `open`: the subjects on which more may follow; their
   * messages are stored again.
   */
  lost?(open: readonly string[]): void;
  /** Called if an earlier lease has stored another status than the one that `learn` was told of. */
  overtaken?(): void;
  /** Called with the epoch of a later lease, if a message of it is stored where this publisher has another one. */
  outranked?(epoch: number): void;
  /** Called once the last message on a subject is stored. If it goes, it is not stored again. */
  ended?(subject: string): void;
}

interface Offer {
  readonly subject: string;
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

/**
 * Makes a status. `isFirst`: whether none is known to be stored. Then it is stored before all else, and must cover
 * nothing.
 */
type MakeStatus = (isFirst: boolean) => Proposal;

/**
 * Stores the messages of one feed, or of all feeds in a stream: the newest on each subject. At most one message per
 * subject is on its way, and it replaces only the message that is known to be stored.
 *
 * The status of a feed is stored after everything that was offered before it. It also shows whether that is still
 * there: if the stream is gone or was purged, a status that replaces the one before is refused. So a feed with a status
 * stores nothing until one is stored.
 *
 * Messages that cannot be stored at present wait, one per subject.
 */
export class Publisher {
  readonly #means: PublisherMeans;
  readonly #stream: string;
  readonly #statusSubject: string;
  /** The stored messages on subjects on which more may follow, and those that are gone and not stored again yet. */
  readonly #stored = new Map<string, StoredRecord>();
  /** Subjects whose stored message is uncertain, because a message was sent and not acknowledged. */
  readonly #doubtful = new Set<string>();
  readonly #waiting = new Map<string, Offer>();
  readonly #sending = new Map<string, Offer>();
  #isStopped = false;
  /** While nothing is sent after a failure, the wait for the next attempt. */
  #pause: Subscription | undefined;
  #failures = 0;
  /** How often stored messages have turned out to be gone. */
  #losses = 0;
  #status: { readonly make: MakeStatus; readonly isForced: boolean; readonly after: number } | undefined;
  /** The last status of the feed. */
  #makeStatus: MakeStatus | undefined;
  #count = 0;
  #idle: (() => void) | undefined;
  readonly #retry = () => this.#pump();

  constructor(means: PublisherMeans, { key, stream }: FeedSubjects) {
    this.#means = means;
    this.#stream = stream;
    this.#statusSubject = `${key}.${STATUS}`;
  }

  /** Records which message a subject holds. */
  learn(subject: string, sequence: number, text: string): void {
    this.#stored.set(subject, { ...readRecord(text), sequence, isOwn: false });
  }

  /** The sequence of the first message on a subject on which more may follow; `undefined` if there is none. */
  get firstOpen(): number | undefined {
    let first: number | undefined;
    for (const [subject, { sequence }] of this.#stored) {
      if (subject === this.#statusSubject || sequence === GONE) continue;
      if (first === undefined || sequence < first) first = sequence;
    }
    return first;
  }

  /** Offers a message for a subject. `isLast`: whether nothing will follow there. */
  offer(subject: string, proposal: Proposal, isLast: boolean, isForced = false): void {
    this.#count += 1;
    // A waiting message keeps its place, so that a subject that changes all the time does not wait forever.
    const { number } = this.#waiting.get(subject) ?? { number: this.#count };
    this.#waiting.set(subject, { subject, proposal, isLast, isForced, number });
    this.#pump();
  }

  /** Stores a status once everything that was offered before is stored. `make` is called then. */
  offerStatus(make: MakeStatus, isForced = false): void {
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
    for (const [subject, stored] of this.#open()) {
      if (stored.epoch <= epoch) this.#offerAgain(subject, { ...stored, epoch }, true);
    }
    if (this.#makeStatus !== undefined) this.offerStatus(this.#makeStatus, true);
  }

  /** The stored messages on subjects on which more may follow, without the status. */
  #open(): [string, StoredRecord][] {
    return [...this.#stored].filter(([subject]) => subject !== this.#statusSubject);
  }

  /** Offers what a subject holds, or held, unless something newer is on its way. */
  #offerAgain(subject: string, proposal: Proposal, isForced: boolean): void {
    if (this.#waiting.has(subject) || this.#sending.has(subject)) return;
    this.offer(subject, proposal, false, isForced);
  }

  /** Goes on after a time in which nothing could be stored. */
  resume(): void {
    this.#pump();
  }

  /** Gives up all messages that are not stored yet. */
  stop(): void {
    this.#isStopped = true;
    this.#pause?.unsubscribe();
    this.#waiting.clear();
    this.#status = undefined;
  }

  /** Calls back once everything that was offered is stored. */
  whenIdle(callback: () => void): void {
    this.#idle = callback;
    this.#checkIdle();
  }

  #pump(): void {
    if (this.#isStopped || this.#pause !== undefined) return;
    for (const offer of this.#isFirst ? [] : this.#waiting.values()) {
      if (this.#sending.has(offer.subject)) continue;
      if (!this.#enter()) return;
      this.#waiting.delete(offer.subject);
      this.#begin(offer);
    }
    this.#pumpStatus();
    this.#checkIdle();
  }

  /** Whether the feed has a status, and none is known to be stored. */
  get #isFirst(): boolean {
    return this.#makeStatus !== undefined && !this.#stored.has(this.#statusSubject);
  }

  #pumpStatus(): void {
    const status = this.#status;
    const subject = this.#statusSubject;
    if (status === undefined || this.#sending.has(subject)) return;
    const isFirst = this.#isFirst;
    const isEarlier = (offer: Offer) => offer.subject !== subject && offer.number <= status.after;
    const unstored = isFirst ? [] : [...this.#sending.values(), ...this.#waiting.values()];
    if (unstored.some(isEarlier) || !this.#enter()) return;
    // After the first one it is told what is covered.
    if (!isFirst) this.#status = undefined;
    const { make, isForced, after: number } = status;
    this.#begin({ subject, proposal: make(isFirst), isLast: false, isForced, number });
  }

  #enter(): boolean {
    return this.#means.mayPublish() && this.#means.lanes.enter(this.#retry);
  }

  #begin(offer: Offer): void {
    const { subject } = offer;
    this.#sending.set(subject, offer);
    const begun = this.#means.scheduler.now();
    this.#store(offer)
      .then(
        () => {
          this.#failures = 0;
        },
        (error) => this.#fail(offer, error, begun),
      )
      .finally(() => {
        this.#sending.delete(subject);
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
    const { subject } = offer;
    if (!store.isPassing(error)) {
      fail(asPairstreamError(`${subject} cannot be stored`, error));
      return;
    }
    tell({ type: "retried", subject, error });
    this.#doubtful.add(subject);
    this.#putBack(offer);
    if (this.#pause !== undefined) return;
    this.#failures += 1;
    const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.#failures - 1));
    const resume = () => {
      this.#pause = undefined;
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
  async #store(offer: Offer): Promise<void> {
    const { subject, proposal, isLast, isForced } = offer;
    const { store, tell } = this.#means;
    const losses = this.#losses;
    let stored = this.#stored.get(subject);
    const isCertain = stored === undefined ? proposal.isBeginning === true : stored.sequence !== GONE;
    let mustRead = !isCertain || this.#doubtful.has(subject);
    let mustStore = isForced;
    for (;;) {
      if (mustRead) {
        const message = await store.last(this.#stream, subject);
        if (this.#isStopped) return;
        if (message !== undefined) {
          const found = { ...readRecord(message.text), sequence: message.sequence, isOwn: false };
          if (subject === this.#statusSubject && isOvertaken(stored, found, proposal)) {
            this.#means.overtaken?.();
            if (this.#isStopped) return;
          }
          stored = found;
        } else if (stored !== undefined && stored.sequence !== GONE && losses === this.#losses) {
          this.#restore(proposal.epoch);
        }
        if (this.#isUncertain(offer, losses)) return;
      }
      const decision = decide(stored, proposal);
      if (decision === "keep") {
        tell({ type: "superseded", subject, sequence: stored!.sequence });
        if (stored!.epoch > proposal.epoch) this.#means.outranked?.(stored!.epoch);
      }
      if (decision === "done" && !mustStore && this.#doubtful.has(subject)) {
        // The message was stored, but its acknowledgement was lost.
        stored = { ...stored!, isOwn: true };
        tell({ type: "stored", subject, sequence: stored.sequence });
      }
      if (decision === "keep" || (decision === "done" && !mustStore)) break;
      const { epoch, body, isRemoval, due, isLate } = proposal;
      const observedAt = observedOver(stored, proposal);
      const revision = nextRevision(stored, proposal);
      const record = { epoch, observedAt, body, isRemoval, due, isLate, revision };
      const sequence = await store.publish(subject, writeMessage(record), stored?.sequence ?? GONE);
      if (this.#isStopped || this.#isUncertain(offer, losses)) return;
      if (sequence !== undefined) {
        stored = { ...record, sequence, isOwn: true };
        tell({ type: "stored", subject, sequence });
        break;
      }
      mustRead = true;
      mustStore = false;
    }
    this.#doubtful.delete(subject);
    if (isLast) this.#means.ended?.(subject);
    if (isLast || stored!.isRemoval) this.#stored.delete(subject);
    else this.#stored.set(subject, stored!);
  }

  /**
   * Whether stored messages have turned out to be gone since an offer began to be stored, with `losses` before that.
   * What was heard meanwhile may be about what is gone, so the offer waits to be stored anew.
   */
  #isUncertain(offer: Offer, losses: number): boolean {
    if (losses === this.#losses) return false;
    this.#doubtful.add(offer.subject);
    this.#putBack(offer);
    return true;
  }

  /** Stores again what may still be replaced, after finding that stored messages are gone. */
  #restore(epoch: number): void {
    this.#losses += 1;
    const gone = this.#open();
    this.#stored.delete(this.#statusSubject);
    for (const [subject, stored] of gone) {
      this.#stored.set(subject, { ...stored, sequence: GONE });
      this.#offerAgain(subject, { ...stored, epoch, isBeginning: false }, false);
    }
    this.#means.lost?.(gone.map(([subject]) => subject));
    if (this.#makeStatus !== undefined) this.offerStatus(this.#makeStatus);
  }

  #putBack(offer: Offer): void {
    const { subject, isForced, number } = offer;
    if (subject === this.#statusSubject) {
      this.#status ??= { make: this.#makeStatus!, isForced, after: number };
    } else if (!this.#waiting.has(subject)) this.#waiting.set(subject, offer);
  }

  #checkIdle(): void {
    if (this.#waiting.size > 0 || this.#sending.size > 0 || this.#status !== undefined) return;
    this.#idle?.();
  }
}

/** Whether a status that was learned of has been replaced under an earlier lease than that of a proposal. */
function isOvertaken(learned: StoredRecord | undefined, found: StoredRecord, { epoch }: Proposal): boolean {
  if (learned === undefined || learned.sequence === GONE || learned.isOwn) return false;
  return found.sequence !== learned.sequence && found.epoch < epoch;
}
