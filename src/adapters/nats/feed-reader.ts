import type { Msg } from "@nats-io/transport-node";
import { Observable, type Subscriber, Subscription, tap } from "rxjs";
import { callAfter } from "../../client/timers.js";
import { ContractError, PairstreamError } from "../../errors.js";
import { warnProcess } from "../../warning.js";
import { type Heard, isBehind, isGapBefore, NOTHING_HEARD, newer } from "./gaps.js";
import {
  type FeedRules,
  OtherVersion,
  readStatusMessage,
  type Stamped,
  type StatusRecord,
} from "./message.js";
import type { NatsConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { MISSED_AFTER, type Pulse, pulseOf } from "./pulse.js";
import { readFeedSince, readStoredStatus } from "./snapshot.js";
import { asPairstreamError, failureOver, Store, serverFailure, type WaitOptions } from "./store.js";
import { type FeedSubjects, lastOf, STATUS } from "./subjects.js";

/** What the reader of a feed is told. Messages come in any order, and some more than once. */
export type FeedSignal<M> =
  /** `time`: when it was stored, by the server's clock, if it was read and not heard. */
  | { readonly type: "message"; readonly record: M; readonly time?: number }
  /** `isWhole`: all messages of its run before it have come. `isFresh`: it was heard, and not read. */
  | {
      readonly type: "status";
      readonly record: StatusRecord;
      readonly isWhole: boolean;
      readonly isFresh: boolean;
    }
  /** All that is stored has come. */
  | { readonly type: "read" }
  /** Whether the collector that has told the last status answers, or nobody has told one so far. */
  | { readonly type: "alive"; readonly isAlive: boolean }
  /** Why the server, asked whether anything has come, does not answer; `undefined` where it does. */
  | { readonly type: "server"; readonly failure: PairstreamError | undefined };

/** What a reader wants of a feed. */
export interface ReadPlan<M> {
  /** Reads a message; `undefined` for one of a kind that this version does not know. Absent: only the status is wanted. */
  readonly parse?: (last: string, text: string) => M | undefined;
  /** From which instant on candles are wanted, each time that they are read; -Infinity: all. Absent: all. */
  since?(status: StatusRecord | undefined): number;
  /** Whether what was read is less than is wanted, and `since` now tells of an earlier instant. */
  isShort?(): boolean;
  /** Throws where what the collector has fixed is not what is wanted. */
  readonly check?: Check | undefined;
  /** Time between two questions to the collector, in ms; default `HEARTBEAT`. */
  readonly heartbeat?: number;
}

export type Check = (rules: FeedRules) => void;

/** Time between two questions to a collector, in ms. */
export const HEARTBEAT = 5_000;

/** Kinds of warnings: a message cannot be read, nobody publishes what is read, and the server does not say whether anybody does. */
const UNREADABLE = "NATS_MESSAGE";
const UNPUBLISHED = "NATS_UNPUBLISHED";
const UNANSWERED = "NATS_SERVER";

/** The messages of a feed: what is stored, and then what is stored from now on, without a gap. */
export function readFeed<M extends Stamped>(
  connection: NatsConnection,
  settings: NatsSettings,
  feed: FeedSubjects,
  plan: ReadPlan<M>,
): Observable<FeedSignal<M>> {
  const signals = new Observable<FeedSignal<M>>((subscriber) => {
    const reader = new FeedReader<M>({ connection, settings, feed, plan }, subscriber);
    subscriber.add(() => reader.stop());
    reader.start();
  });
  return signals.pipe(
    tap((signal) => {
      if (signal.type === "status") plan.check?.(signal.record.rules);
    }),
  );
}

interface Reading<M> {
  readonly connection: NatsConnection;
  readonly settings: NatsSettings;
  readonly feed: FeedSubjects;
  readonly plan: ReadPlan<M>;
}

class FeedReader<M extends Stamped> {
  readonly #of: Reading<M>;
  readonly #subscriber: Subscriber<FeedSignal<M>>;
  readonly #abort = new AbortController();
  readonly #waiting: WaitOptions;
  readonly #listening = new Subscription();
  #store: Store | undefined;
  #heard: Heard = NOTHING_HEARD;
  /** The place of the status that was told last. */
  #status: Heard = NOTHING_HEARD;
  /** By how much epochs count as later than they say, since the lease was lost with what was stored. */
  #shift = 0;
  #isReading = false;
  /** Whether something was missing since the reading under way began. */
  #isAgain = false;
  #publisher: string | undefined;
  /** The next question to the collector, or to the server whether there is one. */
  #pulse = Subscription.EMPTY;
  /** Up to where the feed was stored when its collector was asked last. */
  #told: Heard = NOTHING_HEARD;
  /** What was warned of, once each: by subject what could not be read, where all of another version are one, and other kinds. */
  readonly #reported = new Set<string>();

  constructor(of: Reading<M>, subscriber: Subscriber<FeedSignal<M>>) {
    this.#of = of;
    this.#subscriber = subscriber;
    this.#waiting = { scheduler: of.settings.scheduler, signal: this.#abort.signal };
  }

  start(): void {
    Store.open(this.#of.connection)
      .then((store) => this.#listen(store))
      .catch((error) => this.#fail(error));
  }

  stop(): void {
    this.#abort.abort();
    this.#listening.unsubscribe();
    this.#pulse.unsubscribe();
  }

  #listen(store: Store): void {
    if (this.#abort.signal.aborted) return;
    this.#store = store;
    const { connection, feed, plan } = this.#of;
    const wanted = plan.parse === undefined ? STATUS : "*";
    const inner = connection.subscribe(`${feed.toldKey}.${wanted}`, {
      callback: (error, message) => {
        if (this.#listening.closed) return;
        if (error === null) this.#hear(message);
        else this.#fail(asPairstreamError(`${feed.toldKey} cannot be heard`, error));
      },
    });
    this.#listening.add(() => inner.unsubscribe());
    this.#listening.add(this.#mindConnection());
    this.#missPublisher();
    this.#read();
  }

  /** Ends with an error, unless it has ended. */
  #fail(error: unknown): void {
    const { connection, feed } = this.#of;
    this.#subscriber.error(failureOver(connection, `${feed.key} cannot be read`, error));
  }

  #tell(signal: FeedSignal<M>): void {
    this.#subscriber.next(signal);
  }

  #mindConnection(): Subscription {
    const { connection } = this.#of;
    const statuses = connection.status();
    const follow = async () => {
      if (!connection.isClosed()) {
        // What was told while it was away has not come.
        for await (const { type } of statuses) if (type === "reconnect") this.#read();
      }
      if (!this.#abort.signal.aborted) this.#fail(await connection.closed());
    };
    void follow();
    return new Subscription(() => (statuses as { stop?(): void }).stop?.());
  }

  #hear(message: Msg): void {
    const last = lastOf(message.subject);
    const parsed = this.#parsed(last, message.string());
    if (parsed === undefined) return;
    const { record, status } = parsed;
    const place = record ?? status!;
    const isEarlier = place.epoch < this.#heard.epoch;
    const isGap = this.#of.plan.parse !== undefined && isGapBefore(this.#heard, place);
    this.#heard = newer(this.#heard, place);
    // A status is stored over one of a later run only where that is gone.
    if (isGap || (isEarlier && status !== undefined)) this.#read();
    if (record !== undefined) this.#tell({ type: "message", record });
    else if (!isEarlier) this.#tellStatus(status!, true);
  }

  /** Tells a status, unless a newer one has come: while what is stored is on its way, it may be replaced. */
  #tellStatus(record: StatusRecord, isFresh: boolean): void {
    if (isBehind(record, this.#status)) return;
    this.#status = record;
    this.#listenTo(record.publisher);
    this.#tell({ type: "status", record, isWhole: !this.#isReading, isFresh });
  }

  /** Reads what is stored, unless it does so already: then once more. */
  #read(): void {
    this.#isAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    const readAll = async () => {
      while (this.#isAgain) {
        this.#isAgain = false;
        await this.#readOnce();
      }
      this.#isReading = false;
      this.#tell({ type: "read" });
    };
    readAll().catch((error) => this.#fail(error));
  }

  /** Tells so if nobody has told of the feed by the time that a collector would have been missed, and looks again as often. */
  #missPublisher(): void {
    const { settings, feed, plan } = this.#of;
    const { scheduler } = settings;
    const wait = MISSED_AFTER * (plan.heartbeat ?? HEARTBEAT);
    this.#pulse = callAfter(scheduler, scheduler.now(), wait, async () => {
      const found = await this.#look();
      if (this.#listening.closed || this.#publisher) return;
      this.#missPublisher();
      if (found && !(found instanceof PairstreamError)) return;
      const code = found ? UNANSWERED : UNPUBLISHED;
      // Who reads the status alone is told by it.
      if (plan.parse) this.#warn(code, found?.message ?? `Nobody publishes ${feed.key} so far`, code);
      this.#tell({ type: "alive", isAlive: false });
    });
  }

  async #readOnce(): Promise<void> {
    const { feed, plan } = this.#of;
    let status = await this.#readStatus();
    let newest: Heard = status ?? NOTHING_HEARD;
    while (plan.parse !== undefined) {
      const rows = await readFeedSince(this.#store!, feed, plan.since?.(status) ?? -Infinity, this.#waiting);
      for (const { subject, text, time } of rows.values()) {
        const { record, status: other } = this.#parsed(lastOf(subject), text) ?? {};
        newest = newer(newest, record ?? other ?? newest);
        if (other !== undefined) status = newer(status, other);
        if (record !== undefined) this.#tell({ type: "message", record, time });
      }
      if (plan.isShort?.() !== true) break;
    }
    this.#heard = newer(this.#heard, newest);
    if (status !== undefined && status.epoch >= this.#heard.epoch) this.#tellStatus(status, false);
  }

  /** The stored status. If it is of an earlier run than what was heard, that is gone, and all that comes counts as later. */
  async #readStatus(): Promise<StatusRecord | undefined> {
    const { epoch } = this.#heard;
    const told = await readStoredStatus(this.#store!, this.#of.feed, this.#waiting);
    this.#abort.signal.throwIfAborted();
    const status = told && this.#parsed(STATUS, told.text)?.status;
    if (status === undefined || status.epoch >= epoch) return status;
    const shift = epoch + 1 - status.epoch;
    this.#shift += shift;
    this.#heard = NOTHING_HEARD;
    return { ...status, epoch: status.epoch + shift };
  }

  /** Asks the collector that has told the last status whether it is alive, and what it has stored. */
  #listenTo(publisher: string): void {
    if (publisher === this.#publisher) return;
    this.#publisher = publisher;
    this.#pulse.unsubscribe();
    const { connection, settings, feed, plan } = this.#of;
    const { name, scheduler } = settings;
    const asking = { name, publisher, feed, every: plan.heartbeat ?? HEARTBEAT, scheduler };
    this.#pulse = pulseOf(connection, asking).subscribe((pulse) => this.#takePulse(pulse));
  }

  #takePulse(pulse: Pulse): void {
    this.#tell({ type: "alive", isAlive: pulse !== "dead" });
    if (pulse === "dead") {
      // Another collector may have told of itself meanwhile.
      void this.#look();
      return;
    }
    // What has just been stored may still be on its way.
    if (isBehind(this.#heard, this.#told)) this.#read();
    this.#told = { ...pulse, epoch: pulse.epoch + this.#shift };
  }

  /** Asks the server for the last status of the feed. Resolves with it, or with why the server does not answer. */
  async #look(): Promise<StatusRecord | PairstreamError | undefined> {
    const { connection, feed } = this.#of;
    const store = this.#store!;
    let failure: PairstreamError | undefined;
    const told = await store.last(feed.stream, `${feed.key}.${STATUS}`).catch((error) => {
      if (!store.isStreamGone(error)) failure = serverFailure(connection, error);
      return undefined;
    });
    if (this.#abort.signal.aborted) return undefined;
    this.#tell({ type: "server", failure });
    const status = told && this.#parsed(STATUS, told.text)?.status;
    const isNews = status && (isBehind(this.#heard, status) || status.epoch < this.#heard.epoch);
    if (isNews && !this.#isReading) this.#read();
    return status ?? failure;
  }

  /** A message that cannot be read is reported, and passed over. Where another version tells how the feed stands, it ends. */
  #parsed(last: string, text: string): { readonly record?: M; readonly status?: StatusRecord } | undefined {
    const { feed, plan } = this.#of;
    const shifted = <R extends Stamped>(record: R): R => ({ ...record, epoch: record.epoch + this.#shift });
    try {
      if (last === STATUS) return { status: shifted(readStatusMessage(text)) };
      const record = plan.parse?.(last, text);
      return record && { record: shifted(record) };
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      if (error instanceof OtherVersion && last === STATUS) this.#fail(error);
      const what = error instanceof OtherVersion ? "version" : last;
      this.#warn(what, `A message on ${feed.key}.${last} is passed over: ${error.issue}`, UNREADABLE);
      return undefined;
    }
  }

  #warn(what: string, message: string, code: string): void {
    if (!this.#reported.has(what)) warnProcess(message, code);
    this.#reported.add(what);
  }
}
