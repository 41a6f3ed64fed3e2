import { type SchedulerLike, Subscription, timer } from "rxjs";
import { callAfter } from "../../client/timers.js";
import { LONGEST_DELAY } from "../../contract/input.js";
import type { Lanes } from "./lanes.js";
import { type Stamped, writeMessage } from "./message.js";
import { asPairstreamError, retryAfter, type Store } from "./store.js";
import { type FeedSubjects, STATUS } from "./subjects.js";

/** What became of a message: it is stored, or it was not taken and is sent again. */
export type Outcome = "stored" | "retried";

/** What all writers of a collector share. */
export interface WriterMeans {
  readonly store: Store;
  readonly scheduler: SchedulerLike;
  readonly lanes: Lanes;
  /** Creates the stream again if it is gone. */
  ensureStream(): Promise<unknown>;
  /** Whether anything may be stored now. If not, somebody calls `Writer.resume` when it may again. */
  mayWrite(): boolean;
  tell(outcome: Outcome, error?: unknown): void;
}

/** What happens to the run of a feed while its messages are stored. */
export interface WriterEvents {
  /** Called if no retry can help. */
  fail(error: unknown): void;
  /** Called if stored messages are gone, as after a purge. */
  lost(): void;
  /** Called with the epoch of a later run, if a message of one is stored. */
  outranked(epoch: number): void;
}

/** What a message on a subject says. */
export interface Content {
  readonly body: string;
  readonly observedAt: number;
  /** Whether it says that a candle or a wallet is gone. */
  readonly isRemoval: boolean;
  /** Whether nothing that is known can follow on its subject. */
  readonly isOver: boolean;
  /** Fields beside its content. */
  readonly more?: object | undefined;
}

/** What is stored on a subject, as far as a writer knows. */
export interface Known extends Content, Pick<Stamped, "epoch" | "revision"> {
  /** The sequence of the message in its stream. */
  readonly sequence: number;
}

/** A message to store on a subject. */
export interface Offer extends Content {
  /** Whether to store it even if the same is stored. */
  readonly isForced?: boolean;
}

type Placed = Offer & { readonly place: number };

/** Reads what is stored, as a writer needs it. */
export type ReadStored = (last: string, text: string) => Omit<Known, "sequence">;

/** After so many failures in a row, the stream is set up again in case it is gone. */
const FAILURES_BEFORE_SETUP = 5;

/**
 * Stores the messages of one run of a feed: the newest on each subject, which names the message that it replaces. So what an
 * earlier run still has on its way is refused. The status is stored first, so that readers learn of the run, and later ones
 * after all that was offered before them.
 *
 * Messages that cannot be stored at present wait, one per subject.
 */
export class Writer {
  readonly #means: WriterMeans;
  readonly #events: WriterEvents;
  readonly #feed: FeedSubjects;
  readonly #epoch: number;
  readonly #read: ReadStored;
  /** The stored messages on subjects on which more may follow. */
  readonly #known = new Map<string, Known>();
  readonly #waiting = new Map<string, Placed>();
  readonly #sending = new Map<string, Placed>();
  #makeFirst: (() => string) | undefined;
  #makeStatus: (() => string) | undefined;
  /** Of the offers up to here, all have to be stored before the next status; `undefined`: none waits. */
  #statusAfter: number | undefined;
  #hasBegun = false;
  #isStopped = false;
  /** While nothing is sent after a failure, the wait for the next attempt. */
  #pause: Subscription | undefined;
  #failures = 0;
  #places = 0;
  #number = 0;
  #stored = 0;
  #idle: (() => void) | undefined;
  readonly #retry = () => this.resume();

  constructor(
    means: WriterMeans,
    events: WriterEvents,
    { feed, epoch, read }: { feed: FeedSubjects; epoch: number; read: ReadStored },
  ) {
    this.#means = means;
    this.#events = events;
    this.#feed = feed;
    this.#epoch = epoch;
    this.#read = read;
  }

  /** The number of the last message that is stored. */
  get stored(): number {
    return this.#stored;
  }

  /** The last parts of the subjects on which more may follow, but that of the status. */
  get open(): readonly string[] {
    return [...this.#known].flatMap(([last, { isOver }]) => (isOver || last === STATUS ? [] : [last]));
  }

  learn(last: string, known: Known): void {
    this.#known.set(last, known);
  }

  offer(last: string, offer: Offer): void {
    this.#places += 1;
    // A waiting message keeps its place, so that a subject that changes all the time does not wait forever.
    const { place } = this.#waiting.get(last) ?? { place: this.#places };
    this.#waiting.set(last, { ...offer, place });
    this.resume();
  }

  /** Stores a status once everything that was offered before is stored; the first one before all. `make` is called then. */
  offerStatus(make: () => string): void {
    this.#makeFirst ??= make;
    this.#makeStatus = make;
    this.#statusAfter = this.#places;
    this.resume();
  }

  /** Stores again every `ms`, or never if that is 0, what may still be replaced, so that it does not grow too old to be kept. */
  refreshEvery(ms: number): Subscription {
    if (ms === 0) return Subscription.EMPTY;
    const wait = Math.min(ms, LONGEST_DELAY);
    return timer(wait, wait, this.#means.scheduler).subscribe(() => {
      for (const last of this.open) {
        if (this.#waiting.has(last) || this.#sending.has(last)) continue;
        this.offer(last, { ...this.#known.get(last)!, isForced: true });
      }
      if (this.#makeStatus !== undefined) this.offerStatus(this.#makeStatus);
    });
  }

  /** Gives up all messages that are not stored yet. */
  stop(): void {
    this.#isStopped = true;
    this.#pause?.unsubscribe();
    this.#waiting.clear();
    this.#statusAfter = undefined;
  }

  /** Calls back once everything that was offered is stored. */
  whenIdle(callback: () => void): void {
    this.#idle = callback;
    this.resume();
  }

  /** Goes on, after a time in which nothing could be stored, too. */
  resume(): void {
    if (this.#isStopped || this.#pause !== undefined) return;
    for (const [last, offer] of this.#hasBegun ? this.#waiting : []) {
      if (this.#sending.has(last)) continue;
      if (!this.#enter()) return;
      this.#waiting.delete(last);
      this.#begin(last, offer);
    }
    this.#sendStatus();
    const isIdle = this.#waiting.size === 0 && this.#sending.size === 0 && this.#statusAfter === undefined;
    if (isIdle) this.#idle?.();
  }

  #sendStatus(): void {
    const place = this.#statusAfter;
    if (place === undefined || this.#sending.has(STATUS)) return;
    const before = this.#hasBegun ? [...this.#sending.values(), ...this.#waiting.values()] : [];
    if (before.some((offer) => offer.place <= place) || !this.#enter()) return;
    this.#statusAfter = undefined;
    const body = this.#hasBegun ? this.#makeStatus!() : this.#makeFirst!();
    this.#begin(STATUS, { body, observedAt: 0, isRemoval: false, isOver: false, isForced: true, place });
  }

  #enter(): boolean {
    return this.#means.mayWrite() && this.#means.lanes.enter(this.#retry);
  }

  #begin(last: string, offer: Placed): void {
    this.#sending.set(last, offer);
    const begun = this.#means.scheduler.now();
    this.#store(last, offer)
      .then(
        () => {
          this.#failures = 0;
        },
        (error) => this.#fail(last, offer, error, begun),
      )
      .finally(() => {
        this.#sending.delete(last);
        this.#means.lanes.leave();
        this.resume();
      });
  }

  /** Sends it again later, with all that waits by then. The time since `begun` counts as part of the wait. */
  #fail(last: string, offer: Placed, error: unknown, begun: number): void {
    const { store, scheduler, tell, ensureStream } = this.#means;
    if (this.#isStopped) return;
    if (!store.isPassing(error)) {
      this.#events.fail(asPairstreamError(`${this.#feed.key}.${last} cannot be stored`, error));
      return;
    }
    tell("retried", error);
    if (last === STATUS) this.#statusAfter ??= offer.place;
    else if (!this.#waiting.has(last)) this.#waiting.set(last, offer);
    if (this.#pause !== undefined) return;
    this.#failures += 1;
    const resume = () => {
      this.#pause = undefined;
      this.resume();
    };
    this.#pause = callAfter(scheduler, begun, retryAfter(this.#failures), () => {
      // If the stream is gone, nobody answers on its subjects.
      if (this.#failures % FAILURES_BEFORE_SETUP === 0) ensureStream().then(resume, resume);
      else resume();
    });
  }

  /** Stores an offer over what is known to be stored. If that was another message, it is read, and replaced if it may be. */
  async #store(last: string, { isForced, ...offer }: Offer): Promise<void> {
    const { store, tell } = this.#means;
    const { body, observedAt, isRemoval, isOver, more } = offer;
    const subject = `${this.#feed.key}.${last}`;
    for (let known = this.#known.get(last), isForgotten = false; ; ) {
      const isSame = known?.epoch === this.#epoch && known.body === body;
      if (isSame && !isForced) break;
      const revision = revisionOver(known, body, isRemoval);
      this.#number += 1;
      const number = this.#number;
      const text = writeMessage({ epoch: this.#epoch, number, observedAt, revision }, body, more);
      const sequence = await store.publish(subject, text, known?.sequence ?? 0);
      if (this.#isStopped) return;
      if (sequence !== undefined) {
        this.#stored = Math.max(this.#stored, number);
        this.#known.set(last, { ...offer, sequence, epoch: this.#epoch, revision });
        tell("stored");
        break;
      }
      const found = await store.last(this.#feed.stream, subject);
      if (this.#isStopped) return;
      if (found === undefined) {
        if (known !== undefined || isForgotten) return this.#events.lost();
        isForgotten = true;
        continue;
      }
      known = { ...this.#read(last, found.text), sequence: found.sequence };
      if (known.epoch > this.#epoch) return this.#events.outranked(known.epoch);
      // An earlier run has told meanwhile how the feed stands: what else it has told is not known here.
      if (last === STATUS && known.epoch < this.#epoch) return this.#events.lost();
      this.#known.set(last, known);
    }
    if (last === STATUS && !this.#hasBegun) {
      this.#hasBegun = true;
      if (this.#makeStatus !== this.#makeFirst) this.#statusAfter ??= this.#places;
    }
    if (isOver) this.#known.delete(last);
  }
}

/** The revision of a message over what is stored. */
function revisionOver(known: Known | undefined, body: string, isRemoval: boolean): number {
  if (known === undefined || (known.isRemoval && !isRemoval)) return 0;
  return known.body === body ? known.revision : known.revision + 1;
}
