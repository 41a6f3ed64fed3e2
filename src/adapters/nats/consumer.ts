import type { DeliverPolicy } from "@nats-io/jetstream";
import type { Subscription as Listening, Msg } from "@nats-io/transport-node";
import { Observable, type SchedulerLike, Subscription } from "rxjs";
import { callAt } from "../../client/schedule.js";
import { NetworkError } from "../../errors.js";
import { asPairstreamError, type Store } from "./store.js";

/** What a consumer of a stream tells. */
export type ConsumerSignal =
  | {
      readonly type: "message";
      readonly subject: string;
      readonly sequence: number;
      text(): string;
    }
  /** From here on every message will come. */
  | { readonly type: "attached" }
  /** What was stored before has come. */
  | { readonly type: "caught-up" }
  /** The stream was made anew, with other sequences: it begins again. */
  | { readonly type: "renewed" };

/** What to read, and from where on. */
export interface ConsumerPlan {
  readonly stream: string;
  /** Absent for all of the stream. */
  readonly filter?: string;
  /** The last message of each subject, those from a sequence on, or only what comes from now on. */
  readonly from: "stored" | "now" | number;
  readonly scheduler: SchedulerLike;
}

/** Without a message the server says this often that there is none, in ms; a silence of two means that it is gone. */
const HEARTBEAT = 2_000;
/** How long a server keeps a consumer that nobody listens to, in ms. */
const ABANDONED_AFTER = 30_000;
/** The waits before a consumer is made again, in ms. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 1_000;

/**
 * The messages of a stream in their order, each once, as long as anyone subscribes.
 *
 * The server pushes, as fast as it is read here. A consumer that has fallen silent or has left out a message is made again
 * after the last message that came; one that cannot be made is tried again until the connection is closed for good.
 */
export function consume(store: Store, plan: ConsumerPlan): Observable<ConsumerSignal> {
  return new Observable((subscriber) => {
    const consumer = new OrderedConsumer(store, plan, {
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

class OrderedConsumer {
  readonly #store: Store;
  readonly #plan: ConsumerPlan;
  readonly #listener: Listener;
  readonly #scheduler: SchedulerLike;
  #statuses: { stop?(): void } | undefined;
  #isStopped = false;
  /** Counts the consumers that were made: what an earlier one still sends is not for us. */
  #generation = 0;
  #listening: Listening | undefined;
  #name: string | undefined;
  #timer = Subscription.EMPTY;
  #failures = 0;
  #heardAt = 0;
  /** When the stream was made, which tells it from a later one of the same name. */
  #created: string | undefined;
  /** The last message that came. */
  #sequence: number | undefined;
  /** How many came from this consumer, and how many of those that it found are still to come. */
  #delivered = 0;
  #missing = Number.POSITIVE_INFINITY;
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

  /** A consumer lives on one server; after a reconnection it is made again at once. */
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
    this.#listener.error(new NetworkError("The NATS connection was closed", cause ? { cause } : {}));
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
    try {
      const info = await this.#store.stream(this.#plan.stream);
      if (isOutdated()) return;
      if (info === undefined) {
        this.#retry(begun);
        return;
      }
      this.#noteStream(info.created, info.state.last_seq);
      const inbox = this.#store.inbox();
      this.#delivered = 0;
      this.#missing = Number.POSITIVE_INFINITY;
      this.#heardAt = this.#scheduler.now();
      this.#listening = this.#store.connection.subscribe(inbox, {
        callback: (error, message) => {
          if (isOutdated()) return;
          if (error) this.#fail(error);
          else this.#take(message);
        },
      });
      const { name, pending } = await this.#store.addConsumer(this.#plan.stream, this.#configOf(inbox));
      if (isOutdated()) {
        this.#store.removeConsumer(this.#plan.stream, name);
        return;
      }
      this.#name = name;
      this.#failures = 0;
      this.#missing = pending;
      this.#watchSilence();
      if (!this.#isAttached) {
        this.#isAttached = true;
        this.#listener.next({ type: "attached" });
      }
      this.#checkCaughtUp(this.#delivered >= pending);
    } catch (error) {
      if (isOutdated()) return;
      if (this.#store.isPassing(error)) this.#retry(begun);
      else this.#fail(error);
    }
  }

  /** Notes which stream it is, and where its messages begin for us. */
  #noteStream(created: string, last: number): void {
    const isOther = this.#created !== undefined && this.#created !== created;
    this.#created = created;
    if (isOther) {
      this.#sequence = 0;
      this.#isCaughtUp = false;
      this.#listener.next({ type: "renewed" });
    } else if (this.#sequence === undefined && this.#plan.from === "now") {
      this.#sequence = last;
    }
  }

  #configOf(inbox: string) {
    const { from, filter } = this.#plan;
    const { nanos } = this.#store.library;
    const first =
      this.#sequence === undefined ? (typeof from === "number" ? from : undefined) : this.#sequence + 1;
    const start =
      first === undefined
        ? { deliver_policy: "last_per_subject" as DeliverPolicy }
        : { deliver_policy: "by_start_sequence" as DeliverPolicy, opt_start_seq: Math.max(1, first) };
    return {
      ...start,
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

  #take(message: Msg): void {
    this.#heardAt = this.#scheduler.now();
    const { headers } = message;
    if (headers?.code === 100) {
      // A request to say that all before it has been read, or a sign of life, which may carry such a request.
      const stalled = headers.get("Nats-Consumer-Stalled");
      if (message.reply) message.respond();
      else if (stalled !== "") this.#store.connection.publish(stalled);
      if (!message.reply && this.#missing !== Number.POSITIVE_INFINITY) this.#checkCaughtUp(true);
      return;
    }
    const place = readPlace(message.reply);
    if (place === undefined) return;
    if (place.delivery !== this.#delivered + 1) {
      void this.#attach();
      return;
    }
    this.#delivered += 1;
    this.#sequence = place.sequence;
    const generation = this.#generation;
    this.#listener.next({
      type: "message",
      subject: message.subject,
      sequence: place.sequence,
      text: () => message.string(),
    });
    if (generation === this.#generation) {
      this.#checkCaughtUp(place.pending === 0 || this.#delivered >= this.#missing);
    }
  }

  #checkCaughtUp(isThere: boolean): void {
    if (!isThere || this.#isCaughtUp || this.#isStopped) return;
    this.#isCaughtUp = true;
    this.#listener.next({ type: "caught-up" });
  }

  #watchSilence(): void {
    this.#timer.unsubscribe();
    const deadline = this.#heardAt + 2.5 * HEARTBEAT;
    this.#timer = callAt(this.#scheduler, deadline, () => {
      if (this.#scheduler.now() - this.#heardAt >= 2.5 * HEARTBEAT) void this.#attach();
      else this.#watchSilence();
    });
  }

  /** Tries again, the sooner the longer the attempt that began then has taken. */
  #retry(begun: number): void {
    this.#detach();
    this.#failures += 1;
    const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (this.#failures - 1));
    this.#timer = callAt(this.#scheduler, begun + wait, () => void this.#attach());
  }

  #fail(cause: unknown): void {
    if (this.#isStopped || this.#store.connection.isClosed()) return;
    this.stop();
    this.#listener.error(asPairstreamError(`The stream ${this.#plan.stream} cannot be read`, cause));
  }
}

/** Where a message stands, as its reply subject tells: among those delivered, in the stream, and how many follow. */
function readPlace(reply: string | undefined) {
  const parts = reply?.split(".") ?? [];
  if (parts[0] !== "$JS" || parts[1] !== "ACK") return undefined;
  // Later servers put a domain and an account before the stream, and a random part at the end.
  const first = parts.length === 9 ? 4 : 6;
  const [, sequence, delivery, , pending] = parts.slice(first).map(Number);
  return { sequence: sequence!, delivery: delivery!, pending: pending! };
}
