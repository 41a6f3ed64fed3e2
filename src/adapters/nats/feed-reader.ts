import { defer, from, Observable, type SchedulerLike, Subscription, switchMap } from "rxjs";
import { type ConsumerSignal, consume, type StreamSignal } from "./consumer.js";
import { Histories, type HistoryReader } from "./histories.js";
import { type NatsConnection, SharedOnConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { Store } from "./store.js";
import { type FeedSubjects, isStatus, messagesOf, STATUS, splitSubject } from "./subjects.js";

/** Which part of a feed is read: all of it, or only its status. */
export type FeedPart = "all" | "status";

/**
 * The stored messages of a feed, and the ones that are stored from now on. They come in any order, and messages that
 * are new in between may come twice.
 *
 * All readers with one scheduler on a connection share two consumers at most for the new messages of a stream: servers of
 * version 2.9 compare every message with every consumer of its stream, one after another. The first one gives the feeds
 * that are asked for when it begins, if it can have a filter for each. Feeds that are asked for later come by another
 * one, which gives the whole stream: a consumer whose filters change would have to be made again, and read again what
 * may be missing. Stored messages are read by short-lived consumers.
 */
export function readFeed(
  connection: NatsConnection,
  { scheduler }: NatsSettings,
  feed: FeedSubjects,
  part: FeedPart,
): Observable<StreamSignal> {
  return defer(() => from(readersOf(connection, feed.stream, scheduler))).pipe(
    switchMap((readers) => readers.read(feed.key, part)),
  );
}

const streams = new SharedOnConnection<Promise<StreamReaders>>();

function readersOf(
  connection: NatsConnection,
  stream: string,
  scheduler: SchedulerLike,
): Promise<StreamReaders> {
  const known = streams.of(connection, scheduler);
  const readers =
    known.get(stream) ?? Store.open(connection).then((store) => new StreamReaders(store, stream, scheduler));
  known.set(stream, readers);
  return readers;
}

interface FeedReader extends HistoryReader {
  /** From here on, every message will come. */
  attached(): void;
}

/** All readers of a stream with one scheduler on a connection. */
class StreamReaders {
  readonly #store: Store;
  readonly #stream: string;
  readonly #scheduler: SchedulerLike;
  readonly #histories: Histories;
  readonly #tails = new Set<Tail>();

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
        filter: part === "status" ? `${key}.${STATUS}` : messagesOf(key),
        attached: () => {
          history = this.#histories.read(reader);
        },
        next: (signal) => {
          const isOther = part === "status" && signal.type === "message" && !isStatus(signal.subject);
          if (!isOther) subscriber.next(signal);
        },
        error: (error) => subscriber.error(error),
      };
      const tail = this.#tailOf(key);
      tail.enter(reader);
      return () => {
        history.unsubscribe();
        tail.leave(reader);
        if (tail.isEmpty) this.#tails.delete(tail);
      };
    });
  }

  #tailOf(key: string): Tail {
    for (const tail of this.#tails) if (tail.gives(key)) return tail;
    const mostFilters = this.#tails.size === 0 ? this.#store.mostFilters : 0;
    const consumeOf = (filter: readonly string[] | undefined) => {
      const plan = { stream: this.#stream, from: "now", scheduler: this.#scheduler } as const;
      return consume(this.#store, filter === undefined ? plan : { ...plan, filter });
    };
    const tail = new Tail(consumeOf, mostFilters);
    this.#tails.add(tail);
    return tail;
  }
}

/** The new messages of some feeds of a stream, or of all, for everybody who reads them. */
class Tail {
  readonly #readers = new Map<string, Set<FeedReader>>();
  /** The feeds whose messages come. `undefined`: those of everybody who asks, until it begins, or all. */
  #feeds: ReadonlySet<string> | undefined;
  #following = Subscription.EMPTY;
  #isAttached = false;

  constructor(
    consumeOf: (filter: readonly string[] | undefined) => Observable<ConsumerSignal>,
    mostFilters: number,
  ) {
    // All who ask in one go are there by then.
    void Promise.resolve().then(() => {
      if (this.isEmpty) return;
      if (this.#readers.size <= mostFilters) this.#feeds = new Set(this.#readers.keys());
      this.#follow(consumeOf(this.#feeds && [...this.#feeds].map(messagesOf)));
    });
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  gives(key: string): boolean {
    return this.#feeds === undefined || this.#feeds.has(key);
  }

  enter(reader: FeedReader): void {
    const readers = this.#readers.get(reader.key) ?? new Set();
    this.#readers.set(reader.key, readers.add(reader));
    if (this.#isAttached) reader.attached();
  }

  leave(reader: FeedReader): void {
    const readers = this.#readers.get(reader.key);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(reader.key);
    if (this.isEmpty) this.#following.unsubscribe();
  }

  #follow(coming: Observable<ConsumerSignal>): void {
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
