import { BoundedMap } from "../../../bounded-map.js";
import { type CheckedHistory, checkHistory, type HistoryQuery } from "../../../candles/history.js";
import { checkWatch } from "../../../candles/options.js";
import { windowStart } from "../../../candles/rules.js";
import type { Series } from "../../../contract/model.js";
import type { Behind } from "./behind.js";
import type { Fixed } from "./options.js";

/** How many histories are read at once; the others wait for their turn. */
const AT_ONCE = 8;
/** How many answers about what is final are kept where the client has no store, and of how many characters each. */
const KEPT = 16;
const LONGEST_KEPT = 1_000_000;

/** A history as it goes out. */
export interface HistoryText {
  readonly text: string;
  /** Whether it will be the same whenever it is asked for. */
  readonly isFinal: boolean;
}

interface Reading {
  readonly result: Promise<HistoryText>;
  readonly abort: AbortController;
  readers: number;
}

/** Reads histories for viewers: the same one once for all who ask for it at that time, and within a budget. */
export class Histories {
  readonly #behind: Behind;
  readonly #fixed: Fixed;
  readonly #turns = new Turns(AT_ONCE);
  readonly #reading = new Map<string, Reading>();
  readonly #kept = new BoundedMap<string, HistoryText>(KEPT);

  /** `fixed`: when candles of the gateway are final. */
  constructor(behind: Behind, fixed: Fixed) {
    this.#fixed = fixed;
    this.#behind = behind;
  }

  /** Rejects as `readHistory` does, and with a `RateLimitError` where the budget is spent. */
  async read(query: Series & HistoryQuery, signal: AbortSignal): Promise<HistoryText> {
    const checked = checkHistory(query, this.#behind.now());
    const { series, weekStart, range, count } = checked;
    const { network, pairAddress, timeframe, currency } = series;
    const key = [network, pairAddress, timeframe, currency, weekStart, range.from, range.to, count].join(" ");
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const known = this.#reading.get(key);
    const reading = known ?? this.#begin(key, query, checked);
    reading.readers += 1;
    try {
      return await raced(reading.result, signal);
    } finally {
      reading.readers -= 1;
      if (reading.readers === 0) {
        this.#reading.delete(key);
        reading.abort.abort();
      }
    }
  }

  #begin(key: string, query: Series & HistoryQuery, checked: CheckedHistory): Reading {
    const abort = new AbortController();
    const result = this.#read(query, checked, abort.signal);
    result.then(
      (history) => {
        if (!history.isFinal || history.text.length > LONGEST_KEPT || this.#behind.hasStore) return;
        this.#kept.set(key, history);
      },
      () => {},
    );
    const reading = { result, abort, readers: 0 };
    this.#reading.set(key, reading);
    return reading;
  }

  async #read(
    query: Series & HistoryQuery,
    { series, weekStart, range }: CheckedHistory,
    signal: AbortSignal,
  ): Promise<HistoryText> {
    const end = await this.#turns.take(signal);
    try {
      const provenAt = this.#behind.asked();
      const candles = await this.#behind.read(query, signal);
      const { rules } = checkWatch({ ...series, weekStart, ...this.#fixed.candles });
      const finalUntil = windowStart(rules, provenAt());
      return { text: JSON.stringify({ candles }), isFinal: range.to <= finalUntil };
    } finally {
      end();
    }
  }
}

/** Lets so many through at once, and the others in the order in which they came. */
class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  /** Gives the function that ends the turn; rejects with the signal's reason once that aborts. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else {
      let come = () => {};
      const turn = new Promise<void>((resolve) => {
        come = resolve;
      });
      this.#waiting.add(come);
      try {
        await raced(turn, signal);
      } catch (error) {
        // Where the turn had come at that very moment, it is passed on.
        if (!this.#waiting.delete(come)) this.#end();
        throw error;
      }
    }
    return () => this.#end();
  }

  #end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** Settles as the promise does, or rejects with the signal's reason once that aborts, whichever comes first. */
export function raced<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
