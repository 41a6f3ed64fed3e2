import { defer, from, Observable, type SchedulerLike, Subscription, switchMap } from "rxjs";
import { type ConsumerSignal, consume } from "./consumer.js";
import type { NatsConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { Store } from "./store.js";
import { type FeedSubjects, STATUS, splitSubject } from "./subjects.js";

/** What a reader of one feed is told. */
export type FeedSignal =
  | {
      readonly type: "message";
      /** The last part of the subject. */
      readonly last: string;
      readonly sequence: number;
      text(): string;
    }
  /** All that is stored has come. */
  | { readonly type: "caught-up" }
  /** The stream was made anew: what is stored comes again. */
  | { readonly type: "renewed" };

/** What of a feed is read: all of it, or only how it stands. */
export type FeedPart = "all" | "status";

/**
 * What is stored of a feed, then what is stored from now on, without hole or duplicate.
 *
 * All readers on a connection share one consumer for what comes; each reads what is stored by one of its own, which ends
 * with that. Servers of version 2.9 compare every message with every consumer of its stream, one after another.
 */
export function readFeed(
  connection: NatsConnection,
  { scheduler }: NatsSettings,
  feed: FeedSubjects,
  part: FeedPart,
): Observable<FeedSignal> {
  return defer(() => from(tailOf(connection, feed.stream, scheduler))).pipe(
    switchMap((tail) => tail.read(feed.key, part)),
  );
}

/** So many histories are read at once on a connection. */
const HISTORIES_AT_ONCE = 32;

const tails = new WeakMap<NatsConnection, Map<string, Promise<Tail>>>();

function tailOf(connection: NatsConnection, stream: string, scheduler: SchedulerLike): Promise<Tail> {
  const known = tails.get(connection) ?? new Map<string, Promise<Tail>>();
  tails.set(connection, known);
  const tail =
    known.get(stream) ?? Store.open(connection).then((store) => new Tail(store, stream, scheduler));
  known.set(stream, tail);
  return tail;
}

type Reader = (signal: ConsumerSignal) => void;

/** What comes from now on in a stream, for all its readers on a connection. */
class Tail {
  readonly #store: Store;
  readonly #stream: string;
  readonly #scheduler: SchedulerLike;
  readonly #readers = new Map<string, Set<Reader>>();
  readonly #failed = new Set<(error: unknown) => void>();
  readonly #waiting = new Set<() => void>();
  #reading = 0;
  #following = Subscription.EMPTY;
  #isAttached = false;

  constructor(store: Store, stream: string, scheduler: SchedulerLike) {
    this.#store = store;
    this.#stream = stream;
    this.#scheduler = scheduler;
  }

  read(key: string, part: FeedPart): Observable<FeedSignal> {
    return new Observable((subscriber) => {
      /** What came while the history was read; `undefined` once that is through. */
      let held: FeedSignal[] | undefined = [];
      let newest = 0;
      let history = Subscription.EMPTY;
      const fail = (error: unknown) => subscriber.error(error);

      const take = (signal: ConsumerSignal) => {
        if (signal.type === "renewed") {
          subscriber.next({ type: "renewed" });
          readHistory();
        } else if (signal.type === "attached") {
          readHistory();
        } else if (signal.type === "message") {
          const { last } = splitSubject(signal.subject);
          if (part === "status" && last !== STATUS) return;
          const { sequence, text } = signal;
          const told: FeedSignal = { type: "message", last, sequence, text };
          if (held !== undefined) held.push(told);
          else if (sequence > newest) subscriber.next(told);
        }
      };
      const readHistory = () => {
        history.unsubscribe();
        held = [];
        newest = 0;
        history = this.#inTurn((done) =>
          this.#history(part === "status" ? `${key}.${STATUS}` : `${key}.>`).subscribe({
            next: (signal) => {
              if (signal.type === "message") {
                newest = signal.sequence;
                const { last } = splitSubject(signal.subject);
                subscriber.next({ type: "message", last, sequence: newest, text: signal.text });
              } else if (signal.type === "renewed") {
                newest = 0;
                subscriber.next(signal);
              } else if (signal.type === "caught-up") {
                done();
                subscriber.next(signal);
                const late = held ?? [];
                held = undefined;
                for (const one of late)
                  if (one.type === "message" && one.sequence > newest) subscriber.next(one);
              }
            },
            error: fail,
          }),
        );
      };

      this.#enter(key, take, fail);
      if (this.#isAttached) readHistory();
      return () => {
        history.unsubscribe();
        this.#leave(key, take, fail);
      };
    });
  }

  #history(filter: string): Observable<ConsumerSignal> {
    return consume(this.#store, {
      stream: this.#stream,
      filter,
      from: "stored",
      scheduler: this.#scheduler,
    });
  }

  /** Begins as soon as few enough are at it; the place is free again once `done` is called, or it is unsubscribed. */
  #inTurn(begin: (done: () => void) => Subscription): Subscription {
    const turn = new Subscription();
    const start = () => {
      this.#waiting.delete(start);
      this.#reading += 1;
      let isDone = false;
      const done = () => {
        if (isDone) return;
        isDone = true;
        this.#reading -= 1;
        const [next] = this.#waiting;
        next?.();
        turn.unsubscribe();
      };
      turn.add(done);
      turn.add(begin(done));
    };
    turn.add(() => this.#waiting.delete(start));
    if (this.#reading < HISTORIES_AT_ONCE) start();
    else this.#waiting.add(start);
    return turn;
  }

  #enter(key: string, reader: Reader, fail: (error: unknown) => void): void {
    const readers = this.#readers.get(key) ?? new Set();
    this.#readers.set(key, readers.add(reader));
    this.#failed.add(fail);
    if (this.#failed.size === 1) this.#follow();
  }

  #leave(key: string, reader: Reader, fail: (error: unknown) => void): void {
    const readers = this.#readers.get(key);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(key);
    this.#failed.delete(fail);
    if (this.#failed.size === 0) {
      this.#following.unsubscribe();
      this.#isAttached = false;
    }
  }

  #follow(): void {
    const tail = consume(this.#store, {
      stream: this.#stream,
      from: "now",
      scheduler: this.#scheduler,
    });
    this.#following = tail.subscribe({
      next: (signal) => {
        if (signal.type === "message") {
          const readers = this.#readers.get(splitSubject(signal.subject).key);
          if (readers !== undefined) for (const reader of [...readers]) reader(signal);
          return;
        }
        if (signal.type === "attached") this.#isAttached = true;
        for (const readers of [...this.#readers.values()]) for (const reader of [...readers]) reader(signal);
      },
      error: (error) => {
        for (const fail of [...this.#failed]) fail(error);
      },
    });
  }
}
