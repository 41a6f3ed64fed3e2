import { type Observable, type SchedulerLike, Subscription } from "rxjs";
import { type ConsumerSignal, consume } from "./consumer.js";
import type { Store } from "./store.js";
import { splitSubject } from "./subjects.js";

/** One who is told what is stored of a feed, and when that is all. */
export interface HistoryReader {
  /** What the subjects of the feed begin with. */
  readonly key: string;
  /** The subjects that it needs; it may be told of others of the feed. */
  readonly filter: string;
  next(signal: Exclude<ConsumerSignal, { type: "attached" }>): void;
  error(error: unknown): void;
}

/** Every subject of the stream: servers give the last message of each only by a filter. */
const ALL = ">";
/** So many are read at once, each by a consumer of its own. */
const AT_ONCE = 32;
/** So many messages are read in the time in which a server makes a consumer and takes it down. */
const MESSAGES_A_CONSUMER = 1_000;

/**
 * Reads what is stored of feeds in one stream, for each who asks.
 *
 * Servers make consumers slowly. So where many wait, all of the stream is read for them together, unless that is too much.
 */
export class Histories {
  readonly #store: Store;
  readonly #stream: string;
  readonly #scheduler: SchedulerLike;
  readonly #waiting = new Set<HistoryReader>();
  /** How those leave who are being read for. */
  readonly #leaving = new Map<HistoryReader, () => void>();
  #turns = 0;
  #isTooMuch = false;

  constructor(store: Store, stream: string, scheduler: SchedulerLike) {
    this.#store = store;
    this.#stream = stream;
    this.#scheduler = scheduler;
  }

  /** Reads for someone as soon as it is their turn, until that is done or unsubscribed. */
  read(reader: HistoryReader): Subscription {
    this.#waiting.add(reader);
    this.#next();
    return new Subscription(() => {
      this.#waiting.delete(reader);
      this.#leaving.get(reader)?.();
    });
  }

  #next(): void {
    while (this.#waiting.size > 0 && this.#turns < AT_ONCE) this.#begin();
    if (this.#waiting.size === 0) this.#isTooMuch = false;
  }

  #begin(): void {
    this.#turns += 1;
    // The first of many that come at once are read for before the others have come.
    const isForAll = this.#waiting.size > AT_ONCE && !this.#isTooMuch;
    const [first] = this.#waiting;
    const readers = new Set(isForAll ? this.#waiting : [first!]);
    const turn = new Subscription(() => {
      this.#turns -= 1;
      for (const reader of readers) this.#leaving.delete(reader);
      this.#next();
    });
    for (const reader of readers) {
      this.#waiting.delete(reader);
      this.#leaving.set(reader, () => {
        readers.delete(reader);
        this.#leaving.delete(reader);
        if (readers.size === 0) turn.unsubscribe();
      });
    }
    turn.add(isForAll ? this.#readAll(readers, turn) : this.#readOne(first!, turn));
  }

  #readOne(reader: HistoryReader, turn: Subscription): Subscription {
    return this.#consume(reader.filter).subscribe({
      next: (signal) => {
        if (signal.type !== "attached") reader.next(signal);
        if (signal.type === "caught-up") turn.unsubscribe();
      },
      error: (error) => reader.error(error),
    });
  }

  #readAll(readers: Set<HistoryReader>, turn: Subscription): Subscription {
    const byKey = new Map<string, HistoryReader[]>();
    for (const reader of readers) byKey.set(reader.key, [...(byKey.get(reader.key) ?? []), reader]);
    return this.#consume(ALL).subscribe({
      next: (signal) => {
        if (signal.type === "message") {
          for (const reader of byKey.get(splitSubject(signal.subject).key) ?? []) {
            if (readers.has(reader)) reader.next(signal);
          }
        } else if (signal.type === "caught-up") {
          for (const reader of [...readers]) reader.next(signal);
          turn.unsubscribe();
        } else if (signal.stored > readers.size * MESSAGES_A_CONSUMER) {
          this.#isTooMuch = true;
          for (const reader of readers) this.#waiting.add(reader);
          turn.unsubscribe();
        }
      },
      error: (error) => {
        for (const reader of [...readers]) reader.error(error);
      },
    });
  }

  #consume(filter: string): Observable<ConsumerSignal> {
    const plan = { stream: this.#stream, filter, from: "stored", scheduler: this.#scheduler } as const;
    return consume(this.#store, plan);
  }
}
