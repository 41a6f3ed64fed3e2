import type { Candle, CandleStatus } from "pairstream";
import type { ValuedEvent, Values } from "./indicators.js";

export interface Row {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly values: Values;
}

/** Something that happened to a candle after it had closed. */
export interface Correction {
  readonly timestamp: number;
  readonly kind: "corrected" | "late" | "removed";
  /** When it was seen, by the service's clock. */
  readonly observedAt: number;
}

/** More candles than a channel keeps. */
export const MOST = 4_000;
const CORRECTIONS = 200;

/** The candles of a series as they stand, with their values, and what was corrected. */
export class ShownCandles {
  readonly #rows = new Map<number, Row>();
  readonly #corrections = new Map<number, Correction>();
  #newest = Number.NEGATIVE_INFINITY;
  /** When the first event was true. What was true by then is history; a correction after it is one, though it is not live. */
  #historyUntil: number | undefined;

  get corrections(): readonly Correction[] {
    return [...this.#corrections.values()];
  }

  get newest(): Row | undefined {
    return this.#rows.get(this.#newest);
  }

  *candles(): Iterable<Candle> {
    for (const { candle } of this.#rows.values()) yield candle;
  }

  /** What was corrected of a candle. */
  correctionAt(timestamp: number): Correction | undefined {
    return this.#corrections.get(timestamp);
  }

  at(timestamp: number): Row | undefined {
    return this.#rows.get(timestamp);
  }

  /** Ascending. */
  all(): readonly Row[] {
    return [...this.#rows.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  take(event: ValuedEvent): void {
    const { candle, status, values, observedAt } = event;
    const { timestamp } = candle;
    this.#historyUntil ??= observedAt;
    const isNews = observedAt > this.#historyUntil;
    const before = this.#rows.get(timestamp);
    const correct = (kind: Correction["kind"]) => {
      if (isNews) this.#correct({ timestamp, kind, observedAt });
    };
    if (event.type === "removed") {
      this.#rows.delete(timestamp);
      if (timestamp === this.#newest) this.#newest = Math.max(...this.#rows.keys());
      correct("removed");
      return;
    }
    this.#rows.set(timestamp, { candle, status, values });
    if (before === undefined && timestamp < this.#newest) correct("late");
    const wasOver = before !== undefined && before.status !== "open";
    if (wasOver && event.type === "updated" && !isSame(event.previous, candle)) correct("corrected");
    this.#newest = Math.max(this.#newest, timestamp);
    if (this.#rows.size > MOST) this.#rows.delete(Math.min(...this.#rows.keys()));
  }

  #correct(correction: Correction): void {
    this.#corrections.delete(correction.timestamp);
    this.#corrections.set(correction.timestamp, correction);
    if (this.#corrections.size <= CORRECTIONS) return;
    const [first] = this.#corrections.keys();
    this.#corrections.delete(first!);
  }
}

function isSame(a: Candle, b: Candle): boolean {
  return (
    a.open === b.open &&
    a.high === b.high &&
    a.low === b.low &&
    a.close === b.close &&
    a.volume === b.volume &&
    a.swaps === b.swaps
  );
}
