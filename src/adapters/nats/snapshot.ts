import type { Msg } from "@nats-io/transport-node";
import { type SchedulerLike, Subscription } from "rxjs";
import { onAbort } from "../../aborts.js";
import { callAfter } from "../../client/timers.js";
import { CONSUMER_HEARTBEAT, persist, type Store, type StoredMessage, type WaitOptions } from "./store.js";
import { type FeedSubjects, STATUS } from "./subjects.js";

/** What to read of a stream: the last message of each subject. */
export interface SnapshotPlan extends WaitOptions {
  readonly stream: string;
  readonly filter: string;
  /** What was stored before this instant of the server's clock need not come, in ms since the epoch; -Infinity: all comes. */
  readonly since: number;
}

const LONGEST_SILENCE = 2.5 * CONSUMER_HEARTBEAT;
/**
 * How long a consumer may lack a message that the leader of its stream has, in ms. A follower stores each message a
 * moment later, but one that has just come back may lack many.
 */
const BEHIND = 500;
/** How far the server's clock may be from the service's, in ms: so much earlier messages are read, too. */
const CLOCKS_APART = 60_000;

/** The stored status of a feed. */
export function readStoredStatus(
  store: Store,
  { stream, key }: FeedSubjects,
  waiting: WaitOptions,
): Promise<StoredMessage | undefined> {
  return persist(store, waiting, () => store.last(stream, `${key}.${STATUS}`));
}

/** What is stored of a feed, as far as it changed after an instant of the service's clock, by subject. */
export function readFeedSince(
  store: Store,
  { stream, key }: FeedSubjects,
  since: number,
  waiting: WaitOptions,
): Promise<ReadonlyMap<string, StoredMessage>> {
  // Later versions may keep more under longer subjects.
  return readSnapshot(store, { ...waiting, stream, filter: `${key}.*`, since: since - CLOCKS_APART });
}

/** What is stored, by subject. Reads it again as often as needed, and rejects as `persist` does. */
export async function readSnapshot(
  store: Store,
  plan: SnapshotPlan,
): Promise<ReadonlyMap<string, StoredMessage>> {
  await store.readers.turn();
  try {
    return await persist(store, plan, () => attempt(store, plan));
  } finally {
    store.readers.leave();
  }
}

/** Rejects with a failure that passes if not all has come. */
async function attempt(
  store: Store,
  { stream, filter, since, scheduler, signal }: SnapshotPlan,
): Promise<ReadonlyMap<string, StoredMessage>> {
  const newest = await store.last(stream, filter);
  if (newest === undefined || newest.time < since) return new Map();
  const name = store.library.nuid.next();
  const reading = new Reading(store, newest, scheduler);
  const leave = () => reading.fail();
  const stay = onAbort(signal, leave);
  try {
    const isWhole = since === -Infinity;
    const start = isWhole ? {} : { opt_start_time: new Date(Math.max(0, since)).toISOString() };
    const pending = await store.addConsumer(stream, {
      ...start,
      name,
      deliver_policy: isWhole ? "last_per_subject" : "by_start_time",
      filter_subject: filter,
      deliver_subject: reading.inbox,
    });
    reading.expect(pending);
    return await reading.whole;
  } finally {
    stay();
    reading.fail();
    if (!store.connection.isClosed()) store.removeConsumer(stream, name);
  }
}

/** What one consumer brings, until that is all there was when it was created. */
class Reading {
  readonly inbox: string;
  /** Rejects with a failure that passes if something is missing. */
  readonly whole: Promise<ReadonlyMap<string, StoredMessage>>;
  readonly #store: Store;
  readonly #newest: StoredMessage;
  readonly #scheduler: SchedulerLike;
  readonly #read = new Map<string, StoredMessage>();
  readonly #listening = new Subscription();
  #resolve: (read: ReadonlyMap<string, StoredMessage>) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #delivered = 0;
  #expected = Infinity;
  #patience = Subscription.EMPTY;

  constructor(store: Store, newest: StoredMessage, scheduler: SchedulerLike) {
    this.#store = store;
    this.#newest = newest;
    this.#scheduler = scheduler;
    this.inbox = store.inbox();
    this.whole = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.whole.catch(() => {});
    const inner = store.connection.subscribe(this.inbox, {
      callback: (error, message) => {
        if (error !== null) this.fail(error);
        else if (!this.#listening.closed) this.#take(message);
      },
    });
    this.#listening.add(() => inner.unsubscribe());
  }

  /** The consumer is there, and has so many messages. */
  expect(pending: number): void {
    this.#expected = pending;
    this.#check();
  }

  fail(error: Error = new DOMException("Not all that is stored has come", "TimeoutError")): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#patience.unsubscribe();
    this.#listening.unsubscribe();
  }

  #take(message: Msg): void {
    const { headers, subject, reply } = message;
    if (headers?.code === 100) {
      // It is a flow control request, which asks to confirm that everything before it was read, or a heartbeat, which
      // may carry such a request, and tells how many messages were sent: the last of them may be lost.
      const stalled = headers.get("Nats-Consumer-Stalled");
      const sent = Number(headers.get("Nats-Last-Consumer") || this.#delivered);
      if (reply) message.respond();
      else if (stalled !== "") this.#store.connection.publish(stalled);
      else if (sent !== this.#delivered) this.fail();
      if (this.#delivered < this.#expected && !this.#listening.closed) this.#wait(LONGEST_SILENCE);
      return;
    }
    const place = readPlace(reply);
    if (place === undefined) return;
    this.#delivered += 1;
    if (place.delivery !== this.#delivered) {
      this.fail();
      return;
    }
    const { sequence, time } = place;
    this.#read.set(subject, { subject, sequence, time, text: message.string() });
    this.#check();
  }

  #check(): void {
    if (this.#delivered < this.#expected) this.#wait(LONGEST_SILENCE);
    else if ((this.#read.get(this.#newest.subject)?.time ?? 0) >= this.#newest.time) {
      this.#end();
      this.#resolve(this.#read);
    } else this.#wait(BEHIND);
  }

  #wait(patience: number): void {
    this.#patience.unsubscribe();
    this.#patience = callAfter(this.#scheduler, this.#scheduler.now(), patience, () => this.fail());
  }
}

/** The place of a message in the stream and among what was delivered, and when it was stored, by its reply subject. */
function readPlace(reply: string | undefined) {
  const parts = reply?.split(".") ?? [];
  if (parts[0] !== "$JS" || parts[1] !== "ACK") return undefined;
  // Newer servers put a domain and an account before the stream name, and a random part at the end.
  const first = parts.length === 9 ? 4 : 6;
  const [, sequence, delivery, nanoseconds = ""] = parts.slice(first);
  // As one number, nanoseconds lose what tells two milliseconds apart.
  const time = Number(nanoseconds.slice(0, -6)) + Number(nanoseconds.slice(-6)) / 1e6;
  return { sequence: Number(sequence), delivery: Number(delivery), time };
}
