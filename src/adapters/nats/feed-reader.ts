import { defer, from, Observable, type SchedulerLike, Subscription, switchMap } from "rxjs";
import { consume, type StreamSignal } from "./consumer.js";
import { Histories, type HistoryReader } from "./histories.js";
import { type NatsConnection, SharedOnConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { Store } from "./store.js";
import { type FeedSubjects, isStatus, STATUS, splitSubject } from "./subjects.js";

/** Which part of a feed is read: all of it, or only its status. */
export type FeedPart = "all" | "status";

/**
 * The stored messages of a feed, and the ones that are stored from now on. They come in any order, and messages that
 * are new in between may come twice.
 *
 * All readers with one scheduler on a connection share one consumer for the new messages of a stream: servers of version
 * 2.9 compare every message with every consumer of its stream, one after another. Stored messages are read by
 * short-lived consumers.
 */
export function readFeed(
  connection: NatsConnection,
  { scheduler }: NatsSettings,
  feed: FeedSubjects,
  part: FeedPart,
): Observable<StreamSignal> {
  return defer(() => from(tailOf(connection, feed.stream, scheduler))).pipe(
    switchMap((tail) => tail.read(feed.key, part)),
  );
}

const tails = new SharedOnConnection<Promise<Tail>>();

function tailOf(connection: NatsConnection, stream: string, scheduler: SchedulerLike): Promise<Tail> {
  const known = tails.of(connection, scheduler);
  const tail =
    known.get(stream) ?? Store.open(connection).then((store) => new Tail(store, stream, scheduler));
  known.set(stream, tail);
  return tail;
}

interface FeedReader extends HistoryReader {
  /** From here on, every message will come. */
  attached(): void;
}

/** The new messages of a stream, for all its readers with one scheduler on a connection. */
class Tail {
  readonly #store: Store;
  readonly #stream: string;
  readonly #scheduler: SchedulerLike;
  readonly #histories: Histories;
  readonly #readers = new Map<string, Set<FeedReader>>();
  #following = Subscription.EMPTY;
  #isAttached = false;

  constructor(store: Store, stream: string, scheduler: SchedulerLike) {
    this.#store = store;
    this.#stream = stream;
    this.#scheduler = scheduler;
    this.#histories = new Histories(store, stream, scheduler);
  }

  read(key: string, part: FeedPart): Observable<StreamSignal> {
    return new Observable((subscriber) => {
      let history = Subscription.EMPTY;
      const reader: FeedReader = {
        key,
        filter: part === "status" ? `${key}.${STATUS}` : `${key}.>`,
        attached: () => {
          history = this.#histories.read(reader);
        },
        next: (signal) => {
          const isOther = part === "status" && signal.type === "message" && !isStatus(signal.subject);
          if (!isOther) subscriber.next(signal);
        },
        error: (error) => subscriber.error(error),
      };
      this.#enter(key, reader);
      if (this.#isAttached) reader.attached();
      return () => {
        history.unsubscribe();
        this.#leave(key, reader);
      };
    });
  }

  #enter(key: string, reader: FeedReader): void {
    const isFirst = this.#readers.size === 0;
    const readers = this.#readers.get(key) ?? new Set();
    this.#readers.set(key, readers.add(reader));
    if (isFirst) this.#follow();
  }

  #leave(key: string, reader: FeedReader): void {
    const readers = this.#readers.get(key);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(key);
    if (this.#readers.size > 0) return;
    this.#following.unsubscribe();
    this.#isAttached = false;
  }

  #follow(): void {
    const coming = consume(this.#store, { stream: this.#stream, from: "now", scheduler: this.#scheduler });
    this.#following = coming.subscribe({
      next: (signal) => {
        if (signal.type === "message") {
          const readers = this.#readers.get(splitSubject(signal.subject).key);
          if (readers !== undefined) for (const reader of [...readers]) reader.next(signal);
        } else if (signal.type === "attached") {
          this.#isAttached = true;
          for (const reader of this.#all()) reader.attached();
        }
      },
      error: (error) => {
        for (const reader of this.#all()) reader.error(error);
      },
    });
  }

  #all(): FeedReader[] {
    return [...this.#readers.values()].flatMap((readers) => [...readers]);
  }
}
