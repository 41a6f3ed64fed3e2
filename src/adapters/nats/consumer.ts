import type { DeliverPolicy } from "@nats-io/jetstream";
import type { Msg } from "@nats-io/transport-node";
import { defer, Observable, repeat, type SchedulerLike, Subscription, startWith, switchMap } from "rxjs";
import { callAfter } from "../../client/timers.js";
import type { NatsConnection } from "./nats.js";
import { asPairstreamError, closedError, type Store, type StoredMessage } from "./store.js";

/** What the readers of a stream receive. */
export type StreamSignal =
  | {
      readonly type: "message";
      readonly subject: string;
      readonly sequence: number;
      /** When it was stored, by the server's clock, in ms since the epoch. */
      readonly time: number;
      text(): string;
    }
  /** All messages that were stored before have come. */
  | { readonly type: "caught-up" };

/** What a consumer of a stream emits. */
export type ConsumerSignal =
  | StreamSignal
  /** From here on every message will come, starting with so many that are already stored. */
  | { readonly type: "attached"; readonly stored: number };

/** What to read, and where to start. */
export interface ConsumerPlan {
  readonly stream: string;
  /**
   * The subjects to read; absent for the whole stream. If the server cannot take so many filters, messages on all subjects
   * come.
   */
  readonly filter?: string | readonly string[];
  /** The last message of each subject, the messages from a sequence on, or only new messages. */
  readonly from: "stored" | "now" | number;
  readonly scheduler: SchedulerLike;
  /** Called each time there is no such stream. */
  readonly gone?: () => void;
}

/**
 * How far back messages are read again after a consumer was lost, in ms of the server's clock. Sequences would be
 * exact, but the next server may number the messages differently.
 */
export const REREAD = 60_000;
/** How often the server sends a heartbeat when there are no messages, in ms. If two are missing, a consumer is lost. */
const HEARTBEAT = 2_000;
const LONGEST_SILENCE = 2.5 * HEARTBEAT;
/**
 * How long a consumer may lack a message that the leader of its stream has, in ms. A follower stores each message a
 * moment later, but one that has just come back may lack many.
 */
const BEHIND = 500;
/** How long a server keeps a consumer that nobody listens to, in ms. */
const ABANDONED_AFTER = 30_000;
/** The waits before a consumer is made again, in ms. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 1_000;

/**
 * The messages of a stream while it is subscribed to. Each comes at least once and in order, except for those that are
 * read again.
 *
 * The server pushes messages as fast as they are read here. A consumer that falls silent or skips a message is created
 * again, as often as needed, with a growing wait between those that do not last. So is one whose server does not have all stored messages: a cluster gives a consumer to any
 * of its servers, also to one that has just come back. The stream fails with a `NetworkError` once the connection is
 * closed for good, and with a `PairstreamError` if no retry can help.
 */
export function consume(store: Store, plan: ConsumerPlan): Observable<ConsumerSignal> {
  return defer(() => {
    const progress: Progress = { failures: 0, readUntil: undefined, isAttached: false, isCaughtUp: false };
    const consumers = oneConsumer(store, plan, progress).pipe(repeat());
    // A consumer lives on one server, so it is created again at once after a reconnection.
    return reconnections(store.connection).pipe(
      startWith(undefined),
      switchMap(() => consumers),
    );
  });
}

/** Emits at each reconnection. Fails with a `NetworkError` once the connection is closed for good. */
function reconnections(connection: NatsConnection): Observable<void> {
  return new Observable((subscriber) => {
    const statuses = connection.status();
    subscriber.add(() => (statuses as { stop?(): void }).stop?.());
    const follow = async () => {
      if (!connection.isClosed()) {
        for await (const { type } of statuses) if (type === "reconnect") subscriber.next();
      }
      if (!subscriber.closed) subscriber.error(closedError(await connection.closed()));
    };
    void follow();
  });
}

/** What outlives a single consumer. */
interface Progress {
  /** How many consumers in a row could not be created, or were lost before a heartbeat has shown that they lack nothing. */
  failures: number;
  /** All messages that were stored before this instant of the server's clock have come. */
  readUntil: number | undefined;
  isAttached: boolean;
  isCaughtUp: boolean;
}

/** One consumer. It completes when another one has to take its place, and fails if none can. */
function oneConsumer(store: Store, plan: ConsumerPlan, progress: Progress): Observable<ConsumerSignal> {
  const { connection } = store;
  const { stream, scheduler } = plan;
  return new Observable((subscriber) => {
    const begun = scheduler.now();
    const inbox = store.inbox();
    let heardAt = begun;
    /** How many messages have come, and how many there were when the consumer was created. */
    let delivered = 0;
    let found = Infinity;
    /** When the last stored messages were stored, by subject, without those that have come. */
    const awaited = new Map<string, number>();
    let waiting: Subscription | undefined;
    const listening = new Subscription();
    let silence = Subscription.EMPTY;
    subscriber.add(listening);
    subscriber.add(() => silence.unsubscribe());

    /** `isThere`: whether all has come that the consumer's server had. */
    const checkCaughtUp = (isThere: boolean) => {
      if (!isThere || progress.isCaughtUp || listening.closed) return;
      if (awaited.size > 0) {
        waiting ??= callAfter(scheduler, scheduler.now(), BEHIND, giveUp);
        subscriber.add(waiting);
        return;
      }
      waiting?.unsubscribe();
      progress.failures = 0;
      progress.isCaughtUp = true;
      subscriber.next({ type: "caught-up" });
    };
    const take = (message: Msg) => {
      heardAt = scheduler.now();
      const { headers, subject } = message;
      if (headers?.code === 100) {
        // It is a flow control request, which asks to confirm that everything before it was read, or a heartbeat, which
        // may carry such a request, and tells how many messages were sent: the last of them may be lost.
        const stalled = headers.get("Nats-Consumer-Stalled");
        const sent = Number(headers.get("Nats-Last-Consumer") || delivered);
        if (message.reply) message.respond();
        else if (stalled !== "") connection.publish(stalled);
        else if (sent !== delivered) giveUp();
        else {
          progress.failures = 0;
          checkCaughtUp(found !== Infinity);
        }
        return;
      }
      const place = readPlace(message.reply);
      if (place === undefined) return;
      if (place.delivery !== delivered + 1) {
        giveUp();
        return;
      }
      const { sequence, time, pending } = place;
      delivered += 1;
      if ((awaited.get(subject) ?? Infinity) <= time) awaited.delete(subject);
      progress.readUntil = Math.max(progress.readUntil ?? time, time);
      subscriber.next({ type: "message", subject, sequence, time, text: () => message.string() });
      checkCaughtUp(pending === 0 || delivered >= found);
    };
    const watchSilence = (): Subscription => {
      const since = heardAt;
      return callAfter(scheduler, since, LONGEST_SILENCE, () => {
        if (heardAt === since) giveUp();
        else silence = watchSilence();
      });
    };
    /** Lets another consumer take its place. The time that this one has lasted counts as part of the wait. */
    const giveUp = () => {
      if (listening.closed) return;
      listening.unsubscribe();
      progress.failures += 1;
      const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (progress.failures - 1));
      subscriber.add(callAfter(scheduler, begun, wait, () => subscriber.complete()));
    };
    const fail = (cause: unknown) => {
      if (subscriber.closed || connection.isClosed()) return;
      if (store.isStreamGone(cause)) plan.gone?.();
      if (store.isPassing(cause)) giveUp();
      else subscriber.error(asPairstreamError(`The stream ${stream} cannot be read`, cause));
    };
    const attach = async () => {
      if (plan.from !== "now" && !progress.isCaughtUp) {
        for (const { subject, time } of await newestOf(store, plan)) awaited.set(subject, time);
        if (listening.closed) return;
      }
      const inner = connection.subscribe(inbox, {
        callback: (error, message) => {
          if (listening.closed) return;
          if (error) fail(error);
          else take(message);
        },
      });
      listening.add(() => inner.unsubscribe());
      const config = configOf(store, plan, progress, inbox);
      const made = await store.addConsumer(stream, config);
      // Not before it is there, as servers do not find what they still create.
      subscriber.add(() => {
        if (!connection.isClosed()) store.removeConsumer(stream, config.name);
      });
      if (listening.closed) return;
      found = made.pending;
      if (plan.from === "now") progress.readUntil ??= made.time;
      silence = watchSilence();
      if (!progress.isAttached) {
        progress.isAttached = true;
        subscriber.next({ type: "attached", stored: found });
      }
      checkCaughtUp(delivered >= found);
    };
    attach().catch(fail);
  });
}

/** The last stored message of each filter of a plan, where the plan begins before it. */
async function newestOf(
  store: Store,
  { stream, filter = ">", from }: ConsumerPlan,
): Promise<StoredMessage[]> {
  const first = from === "stored" ? 0 : Number(from);
  const newest = await Promise.all([filter].flat().map((one) => store.last(stream, one)));
  return newest.filter((message) => message !== undefined).filter(({ sequence }) => sequence >= first);
}

function configOf(store: Store, { filter = [], from }: ConsumerPlan, progress: Progress, inbox: string) {
  const { nanos } = store.library;
  const filters = [filter].flat();
  return {
    ...startOf(from, progress),
    ...(filters.length === 1 ? { filter_subject: filters[0]! } : {}),
    ...(filters.length > 1 && filters.length <= store.mostFilters ? { filter_subjects: filters } : {}),
    ack_policy: "none" as const,
    max_deliver: 1,
    // With a name of its own it can be deleted even if the answer to its creation is lost.
    name: inbox.slice(inbox.lastIndexOf(".") + 1),
    deliver_subject: inbox,
    flow_control: true,
    idle_heartbeat: nanos(HEARTBEAT),
    inactive_threshold: nanos(ABANDONED_AFTER),
    mem_storage: true,
    num_replicas: 1,
  };
}

function startOf(
  from: ConsumerPlan["from"],
  { readUntil, isCaughtUp }: Progress,
): { deliver_policy: DeliverPolicy; opt_start_seq?: number; opt_start_time?: string } {
  // The stored messages are read from the beginning until all of them have come.
  const isResumed = readUntil !== undefined && (from === "now" || isCaughtUp);
  if (isResumed) {
    const start = new Date(Math.max(0, readUntil - REREAD)).toISOString();
    return { deliver_policy: "by_start_time", opt_start_time: start };
  }
  if (from === "now") return { deliver_policy: "new" };
  if (from === "stored") return { deliver_policy: "last_per_subject" };
  return { deliver_policy: "by_start_sequence", opt_start_seq: Math.max(1, from) };
}

/**
 * The position of a message, read from its reply subject: in the stream, among the delivered messages, and how many
 * follow.
 */
function readPlace(reply: string | undefined) {
  const parts = reply?.split(".") ?? [];
  if (parts[0] !== "$JS" || parts[1] !== "ACK") return undefined;
  // Newer servers put a domain and an account before the stream name, and a random part at the end.
  const first = parts.length === 9 ? 4 : 6;
  const [, sequence, delivery, nanoseconds = "", pending] = parts.slice(first);
  // As one number, nanoseconds lose what tells two milliseconds apart.
  const time = Number(nanoseconds.slice(0, -6)) + Number(nanoseconds.slice(-6)) / 1e6;
  return { sequence: Number(sequence), delivery: Number(delivery), time, pending: Number(pending) };
}
