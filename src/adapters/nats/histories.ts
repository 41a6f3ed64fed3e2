import { type Observable, type SchedulerLike, Subscription } from "rxjs";
import { type ConsumerSignal, consume, type StreamSignal } from "./consumer.js";
import type { Store } from "./store.js";
import { splitSubject } from "./subjects.js";

/** A reader that gets the stored messages of a feed, and is told when these are all. */
export interface HistoryReader {
  /** What the subjects of the feed begin with. */
  readonly key: string;
  /** The subjects that it needs. It may get messages of other subjects of the feed too. */
  readonly filter: string;
  next(signal: StreamSignal): void;
  error(error: unknown): void;
}

/** A filter for every subject of the stream, because servers give the last message per subject only with a filter. */
const ALL = ">";
/** How many feeds are read at once, each by its own consumer. */
const AT_ONCE = 32;
/** How many messages can be read in the time that a server needs to create and delete a consumer. */
const MESSAGES_A_CONSUMER = 1_000;

/**
 * Reads the stored messages of feeds in one stream, for every reader that asks.
 *
 * Servers create consumers slowly. So if many readers wait, the whole stream is read for all of them at once, unless it
 * is too large.
 */
export class Histories {
  readonly #store: Store;
  readonly #stream: string;
  readonly #scheduler: SchedulerLike;
  readonly #waiting = new Set<HistoryReader>();
  /** The functions that end the readings under way. */
  readonly #leaving = new Map<HistoryReader, () => void>();
  #turns = 0;
  #isTooMuch = false;

  constructor(store: Store, stream: string, scheduler: SchedulerLike) {
    this.#store = store;
    this.#stream = stream;
    this.#scheduler = scheduler;
  }

  /** Reads for one reader as soon as it is its turn, until the reading is complete or unsubscribed. */
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
    // If many readers come at once, reading for the first ones begins before the others have come.
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
