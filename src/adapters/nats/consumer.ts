import type { DeliverPolicy } from "@nats-io/jetstream";
import type { Subscription as Listening, Msg } from "@nats-io/transport-node";
import { Observable, type SchedulerLike, Subscription } from "rxjs";
import { callAfter } from "../../client/timers.js";
import { asPairstreamError, closedError, type Store } from "./store.js";

/** What a consumer of a stream emits. */
export type ConsumerSignal =
  | {
      readonly type: "message";
      readonly subject: string;
      readonly sequence: number;
      /** When it was stored, by the server's clock, in ms since the epoch. */
      readonly time: number;
      text(): string;
    }
  /** From here on every message will come, starting with so many that are already stored. */
  | { readonly type: "attached"; readonly stored: number }
  /** All messages that were stored before have come. */
  | { readonly type: "caught-up" };

/** What to read, and where to start. */
export interface ConsumerPlan {
  readonly stream: string;
  /** Absent for the whole stream. */
  readonly filter?: string;
  /** The last message of each subject, the messages from a sequence on, or only new messages. */
  readonly from: "stored" | "now" | number;
  readonly scheduler: SchedulerLike;
}

/**
 * How far back messages are read again after a consumer was lost, in ms of the server's clock. Sequences would be
 * exact, but the next server may number the messages differently.
 */
export const REREAD = 60_000;
/** How often the server sends a heartbeat when there are no messages, in ms. If two are missing, a consumer is lost. */
const HEARTBEAT = 2_000;
const LONGEST_SILENCE = 2.5 * HEARTBEAT;
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
 * again, as often as needed. The stream fails with a `NetworkError` once the connection is closed for good, and with a
 * `PairstreamError` if no retry can help.
 */
export function consume(store: Store, plan: ConsumerPlan): Observable<ConsumerSignal> {
  return new Observable((subscriber) => {
    const consumer = new Consumer(store, plan, {
      next: (signal) => subscriber.next(signal),
      error: (error) => subscriber.error(error),
    });
    consumer.start();
    return () => consumer.stop();
  });
}

interface Listener {
  next(signal: ConsumerSignal): void;
  error(error: unknown): void;
}

class Consumer {
  readonly #store: Store;
  readonly #plan: ConsumerPlan;
  readonly #listener: Listener;
  readonly #scheduler: SchedulerLike;
  #statuses: { stop?(): void } | undefined;
  #isStopped = false;
  /** Counts the consumers that were created, to ignore what an earlier one still sends. */
  #generation = 0;
  #listening: Listening | undefined;
  #name: string | undefined;
  #timer = Subscription.EMPTY;
  #failures = 0;
  #heardAt = 0;
  /** All messages that were stored before this instant of the server's clock have come. */
  #readUntil: number | undefined;
  /** How many messages came from this consumer, and how many there were when it was created. */
  #delivered = 0;
  #found = Number.POSITIVE_INFINITY;
  #isAttached = false;
  #isCaughtUp = false;

  constructor(store: Store, plan: ConsumerPlan, listener: Listener) {
    this.#store = store;
    this.#plan = plan;
    this.#listener = listener;
    this.#scheduler = plan.scheduler;
  }

  start(): void {
    void this.#followConnection();
    void this.#attach();
  }

  stop(): void {
    this.#isStopped = true;
    this.#statuses?.stop?.();
    this.#detach();
  }

  /** A consumer lives on one server, so it is created again at once after a reconnection. */
  async #followConnection(): Promise<void> {
    const { connection } = this.#store;
    const statuses = connection.status();
    this.#statuses = statuses as { stop?(): void };
    if (!connection.isClosed()) {
      for await (const { type } of statuses) {
        if (this.#isStopped) return;
        if (type === "reconnect") void this.#attach();
      }
    }
    if (this.#isStopped) return;
    const cause = await connection.closed();
    this.stop();
    this.#listener.error(closedError(cause));
  }

  #detach(): void {
    this.#generation += 1;
    this.#timer.unsubscribe();
    this.#listening?.unsubscribe();
    this.#listening = undefined;
    if (this.#name !== undefined && !this.#store.connection.isClosed()) {
      this.#store.removeConsumer(this.#plan.stream, this.#name);
    }
    this.#name = undefined;
  }

  async #attach(): Promise<void> {
    this.#detach();
    const generation = this.#generation;
    const isOutdated = () => generation !== this.#generation || this.#isStopped;
    const begun = this.#scheduler.now();
    const inbox = this.#store.inbox();
    this.#delivered = 0;
    this.#found = Number.POSITIVE_INFINITY;
    this.#heardAt = begun;
    try {
      this.#listening = this.#store.connection.subscribe(inbox, {
        callback: (error, message) => {
          if (isOutdated()) return;
          if (error) this.#fail(error);
          else this.#take(message);
        },
      });
      const made = await this.#store.addConsumer(this.#plan.stream, this.#configOf(inbox));
      if (isOutdated()) {
        if (made !== undefined) this.#store.removeConsumer(this.#plan.stream, made.name);
        return;
      }
      if (made === undefined) {
        this.#retry(begun);
        return;
      }
      this.#name = made.name;
      this.#failures = 0;
      this.#found = made.pending;
      if (this.#plan.from === "now") this.#readUntil ??= made.time;
      this.#watchSilence();
      if (!this.#isAttached) {
        this.#isAttached = true;
        this.#listener.next({ type: "attached", stored: made.pending });
      }
      this.#checkCaughtUp(this.#delivered >= made.pending);
    } catch (error) {
      if (isOutdated()) return;
      if (this.#store.isPassing(error)) this.#retry(begun);
      else this.#fail(error);
    }
  }

  #configOf(inbox: string) {
    const { filter } = this.#plan;
    const { nanos } = this.#store.library;
    return {
      ...this.#startOf(),
      ...(filter === undefined ? {} : { filter_subject: filter }),
      ack_policy: "none" as const,
      max_deliver: 1,
      deliver_subject: inbox,
      flow_control: true,
      idle_heartbeat: nanos(HEARTBEAT),
      inactive_threshold: nanos(ABANDONED_AFTER),
      mem_storage: true,
      num_replicas: 1,
    };
  }

  #startOf(): { deliver_policy: DeliverPolicy; opt_start_seq?: number; opt_start_time?: string } {
    const { from } = this.#plan;
    // The stored messages are read from the beginning until all of them have come.
    const isResumed = this.#readUntil !== undefined && (from === "now" || this.#isCaughtUp);
    if (isResumed) {
      const start = new Date(Math.max(0, this.#readUntil! - REREAD)).toISOString();
      return { deliver_policy: "by_start_time", opt_start_time: start };
    }
    if (from === "now") return { deliver_policy: "new" };
    if (from === "stored") return { deliver_policy: "last_per_subject" };
    return { deliver_policy: "by_start_sequence", opt_start_seq: Math.max(1, from) };
  }

  #take(message: Msg): void {
    this.#heardAt = this.#scheduler.now();
    const { headers } = message;
    if (headers?.code === 100) {
      // It is a flow control request, which asks to confirm that everything before it was read, or a heartbeat, which
      // may carry such a request.
      const stalled = headers.get("Nats-Consumer-Stalled");
      if (message.reply) message.respond();
      else if (stalled !== "") this.#store.connection.publish(stalled);
      else this.#checkCaughtUp(this.#found !== Number.POSITIVE_INFINITY);
      return;
    }
    const place = readPlace(message.reply);
    if (place === undefined) return;
    if (place.delivery !== this.#delivered + 1) {
      void this.#attach();
      return;
    }
    const { sequence, time, pending } = place;
    this.#delivered += 1;
    this.#readUntil = Math.max(this.#readUntil ?? time, time);
    const generation = this.#generation;
    this.#listener.next({
      type: "message",
      subject: message.subject,
      sequence,
      time,
      text: () => message.string(),
    });
    if (generation === this.#generation) this.#checkCaughtUp(pending === 0 || this.#delivered >= this.#found);
  }

  #checkCaughtUp(isThere: boolean): void {
    if (!isThere || this.#isCaughtUp || this.#isStopped) return;
    this.#isCaughtUp = true;
    this.#listener.next({ type: "caught-up" });
  }

  #watchSilence(): void {
    this.#timer.unsubscribe();
    const heardAt = this.#heardAt;
    this.#timer = callAfter(this.#scheduler, heardAt, LONGEST_SILENCE, () => {
      if (this.#heardAt === heardAt) void this.#attach();
      else this.#watchSilence();
    });
  }

  /** Tries again later. The time that the failed attempt took, which began at `begun`, counts as part of the wait. */
  #retry(begun: number): void {
    this.#detach();
    this.#failures += 1;
    const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.#failures - 1));
    this.#timer = callAfter(this.#scheduler, begun, wait, () => void this.#attach());
  }

  #fail(cause: unknown): void {
    if (this.#isStopped || this.#store.connection.isClosed()) return;
    this.stop();
    this.#listener.error(asPairstreamError(`The stream ${this.#plan.stream} cannot be read`, cause));
  }
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
  const [, sequence, delivery, nanoseconds, pending] = parts.slice(first).map(Number);
  return { sequence: sequence!, delivery: delivery!, time: nanoseconds! / 1e6, pending: pending! };
}
