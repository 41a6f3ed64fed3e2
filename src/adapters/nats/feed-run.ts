import { Subscription } from "rxjs";
import { ContractError, PairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { STARTING } from "../wire/status.js";
import {
  type AskingMeans,
  type CollectedWatch,
  type FeedKind,
  type Following,
  feedKindOf,
  readKnownStatus,
  type Told,
} from "./feed-kinds.js";
import { OtherVersion, readStatusMessage, type StatusRecord, statusBody } from "./message.js";
import { readFeedSince, readStoredStatus } from "./snapshot.js";
import { carriedStatus, stalledStatus, takenOverStatus } from "./statuses.js";
import { asPairstreamError, type StoredMessage } from "./store.js";
import { type FeedSubjects, lastOf, STATUS } from "./subjects.js";
import { type Known, type ReadStored, Writer, type WriterMeans } from "./writer.js";

/** What all feeds of a collector share. */
export interface CollectingMeans extends WriterMeans, AskingMeans {
  /** The collector's name for readers who ask whether it is alive. */
  readonly publisher: string;
}

/** What a run of a feed tells its collector. */
export interface RunEvents {
  /** It has failed for good, and has told the readers. */
  failed(error: unknown): void;
  /** What it knew of the stored messages is not so: it has to begin anew. */
  again(): void;
  /** A message of a later run is stored. */
  outranked(epoch: number): void;
  /** It goes on in spite of it. */
  trouble(error: unknown): void;
}

/** What is stored and may still change. */
interface OpenRecord {
  readonly known: Known;
  /** The `coveredUntil` of the first answer of the service that lacked it. A second such answer removes it. */
  missedUntil?: number;
}

/**
 * One run of a feed under a lease: it finds out from the stored messages where the run before stopped, asks the service from
 * there on, and stores all of it anew.
 */
export class FeedRun {
  readonly #feed: FeedSubjects;
  readonly #kind: FeedKind;
  readonly #means: CollectingMeans;
  readonly #events: RunEvents;
  readonly #epoch: number;
  readonly #writer: Writer;
  readonly #abort = new AbortController();
  readonly #following = new Subscription();
  readonly #open = new Map<string, OpenRecord>();
  #source: Following | undefined;
  /** The latest run of which something is stored. */
  #newestEpoch = 0;
  /** The status that was told last. */
  #status: FeedStatus | undefined;
  /** Whether all was told since this run began. */
  #told: true | undefined;
  #look: StatusRecord["look"];
  /** Called once it has ended, if nobody wants it any more. */
  #retired: (() => void) | undefined;

  constructor(
    { feed, watch }: { readonly feed: FeedSubjects; readonly watch: CollectedWatch },
    means: CollectingMeans,
    epoch: number,
    events: RunEvents,
  ) {
    this.#feed = feed;
    this.#means = means;
    this.#epoch = epoch;
    this.#events = events;
    this.#kind = feedKindOf(watch, means);
    const { again: lost, outranked } = events;
    const fail = (error: unknown) => this.#fail(error);
    const read: ReadStored = (last, text) => this.#known(last, text);
    this.#writer = new Writer(means, { fail, lost, outranked }, { feed, epoch, read });
  }

  /** Up to which message of which run all is stored. */
  get pulse(): { readonly epoch: number; readonly number: number } {
    return { epoch: this.#epoch, number: this.#writer.stored };
  }

  start(): void {
    const { signal } = this.#abort;
    this.#readStored().then(
      (stored) => {
        if (signal.aborted) return;
        if (this.#newestEpoch > this.#epoch) this.#events.outranked(this.#newestEpoch);
        else this.#follow(stored);
      },
      (error) => {
        if (!signal.aborted) this.#events.failed(error);
      },
    );
  }

  /** Goes on after a time in which nothing could be stored. */
  resume(): void {
    this.#writer.resume();
  }

  stop(): void {
    this.#abort.abort();
    this.#following.unsubscribe();
    this.#writer.stop();
  }

  /** Ends because nobody wants it any more: tells the readers so, and then calls back. */
  retire(done: () => void): void {
    if (this.#retired !== undefined) return;
    this.#retired = done;
    this.#fail(new PairstreamError("The collectors were told to leave this feed"));
  }

  #follow({ status, from }: { readonly status: StatusRecord | undefined; readonly from: number }): void {
    const before = status && takenOverStatus(status.status, this.#kind.dueUntil());
    this.#look = status?.look;
    this.#source = this.#kind.follow(from);
    const { offers, statuses } = this.#source;
    this.#tellStatus(carriedStatus(before, STARTING));
    const error = (failure: unknown) => this.#fail(failure);
    this.#following.add(this.#writer.refreshEvery(this.#means.retention / 3));
    // Changes are offered before the status that covers them.
    this.#following.add(offers.subscribe({ next: (told) => this.#take(told), error }));
    const next = (own: FeedStatus) => {
      if (own.state === "live") this.#told = true;
      if (own.state === "live") this.#removeMissing(own);
      this.#tellStatus(carriedStatus(before, own));
    };
    if (!this.#following.closed) this.#following.add(statuses.subscribe({ next, error }));
  }

  #take({ offers, look }: Told): void {
    try {
      for (const [last, offer] of offers) {
        this.#open.delete(last);
        this.#writer.offer(last, offer);
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (look === undefined) return;
    this.#look = look;
    if (this.#status !== undefined) this.#tellStatus(this.#status, true);
  }

  /** Removes what is stored and two answers in a row have lacked. */
  #removeMissing({ coveredFrom, coveredUntil }: FeedStatus): void {
    if (coveredUntil === undefined) return;
    for (const [last, record] of this.#open) {
      // Snipers have no covered range, because a report contains all of them.
      const timestamp = Number(last);
      const isCovered = coveredFrom === undefined || (coveredFrom <= timestamp && timestamp < coveredUntil);
      if (!isCovered || record.missedUntil === coveredUntil) continue;
      if (record.missedUntil === undefined) {
        record.missedUntil = coveredUntil;
        continue;
      }
      this.#open.delete(last);
      const { known } = record;
      const body = JSON.stringify({ ...JSON.parse(known.body), ...this.#kind.removal });
      const { more } = known;
      this.#writer.offer(last, { body, observedAt: coveredUntil, isRemoval: true, isOver: true, more });
    }
  }

  #tellStatus(status: FeedStatus, isLook = false): void {
    if (status === this.#status && !isLook) return;
    this.#status = status;
    const [told, look] = [this.#told, this.#look];
    this.#writer.offerStatus(() => {
      const from = this.#source?.from() ?? Infinity;
      const open = Math.min(...this.#writer.open.map(this.#kind.timestampOf));
      return statusBody({
        publisher: this.#means.publisher,
        told,
        from: Number.isFinite(from) ? from : undefined,
        openFrom: Number.isFinite(open) ? open : undefined,
        rules: this.#kind.rules,
        look,
        // Candles grow too old to be kept also while no new status comes.
        status: this.#kind.kept(status),
      });
    });
  }

  /** Ends with an error, after telling it if that is possible. */
  #fail(error: unknown): void {
    const isSecond = this.#following.closed;
    this.#following.unsubscribe();
    const ended = () => {
      this.stop();
      if (this.#retired !== undefined) this.#retired();
      else this.#events.failed(error);
    };
    if (isSecond || this.#status === undefined) {
      ended();
      return;
    }
    this.#tellStatus(stalledStatus(this.#status, asPairstreamError("The source failed", error)));
    this.#writer.whenIdle(ended);
  }

  /** Reads the stored messages that can still change. */
  async #readStored(): Promise<{ readonly status: StatusRecord | undefined; readonly from: number }> {
    const { store, scheduler, ensureStream } = this.#means;
    const { signal } = this.#abort;
    // If the stream is gone, there may be nobody else to create it again.
    const onTrouble = (error: unknown) => {
      if (store.isStreamGone(error)) void ensureStream().catch(() => {});
    };
    const waiting = { scheduler, signal, onTrouble };
    let told = await readStoredStatus(store, this.#feed, waiting);
    for (;;) {
      const from = this.#kind.changeableFrom(this.#statusIn(told));
      const rows = await readFeedSince(store, this.#feed, from, waiting);
      const newest = rows.get(`${this.#feed.key}.${STATUS}`);
      const isOther = newest !== undefined && newest.sequence !== told?.sequence;
      if (isOther) told = newest;
      const status = this.#statusIn(told);
      if (isOther && this.#kind.changeableFrom(status) < from) continue;
      return { status, from: this.#learn([...rows.values(), ...(told === undefined ? [] : [told])], from) };
    }
  }

  /** Learns what is stored from an instant on, and what is older but may still change. Gives from where on that is. */
  #learn(messages: readonly StoredMessage[], from: number): number {
    const { timestampOf, isKnown } = this.#kind;
    const records = messages.flatMap(({ subject, sequence, text }) => {
      const last = lastOf(subject);
      if (last !== STATUS && !isKnown(last)) return [];
      return [{ last, known: { ...this.#known(last, text), sequence } }];
    });
    const open = records.filter(({ last, known }) => last !== STATUS && !known.isOver);
    const begun = from === -Infinity ? Infinity : from;
    const first = Math.min(begun, ...open.map(({ last }) => timestampOf(last)));
    for (const { last, known } of records) {
      this.#newestEpoch = Math.max(this.#newestEpoch, known.epoch);
      if (last === STATUS) this.#writer.learn(last, known);
      else if (!(timestampOf(last) < first)) {
        this.#writer.learn(last, known);
        if (!known.isRemoval) this.#open.set(last, { known });
      }
    }
    return Number.isFinite(first) ? first : -Infinity;
  }

  #statusIn(message: StoredMessage | undefined): StatusRecord | undefined {
    if (message === undefined) return undefined;
    return this.#tried(message.subject, () => readStatusMessage(message.text));
  }

  #known(last: string, text: string): ReturnType<ReadStored> {
    const read = () => (last === STATUS ? readKnownStatus(text) : this.#kind.read(text));
    return this.#tried(`${this.#feed.key}.${last}`, read) ?? UNREADABLE;
  }

  /** What cannot be read is passed over, and written over when its turn comes; another version's is left alone. */
  #tried<T>(subject: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (error instanceof OtherVersion || !(error instanceof ContractError)) throw error;
      this.#events.trouble(new ContractError([subject], error.issue, { cause: error }));
      return undefined;
    }
  }
}

/** What stands for a message that cannot be read. */
const UNREADABLE: ReturnType<ReadStored> = {
  ...{ epoch: 0, revision: 0, observedAt: 0 },
  ...{ body: "", isRemoval: true, isOver: true },
};
