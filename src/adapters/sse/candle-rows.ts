import type { Candle } from "../../contract/model.js";

/**
 * The newest candles of a series, ascending. Both ends of a channel have such a table, and forget candles by the same
 * rule.
 */
export class CandleRows<Row extends { readonly candle: Candle }> {
  readonly #rows: Row[] = [];
  #keep: number;
  #after: number | undefined;

  /** `keep`: the most candles that it holds. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** The newest forgotten candle. No message follows about it or about a candle before it. */
  get after(): number | undefined {
    return this.#after;
  }

  /** Ascending. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  get newest(): Row | undefined {
    return this.#rows.at(-1);
  }

  get(timestamp: number): Row | undefined {
    const row = this.#rows[this.#indexOf(timestamp)];
    return row?.candle.timestamp === timestamp ? row : undefined;
  }

  isForgotten(timestamp: number): boolean {
    return this.#after !== undefined && timestamp <= this.#after;
  }

  set(row: Row): void {
    const { timestamp } = row.candle;
    const at = this.#indexOf(timestamp);
    const isKnown = this.#rows[at]?.candle.timestamp === timestamp;
    this.#rows.splice(at, isKnown ? 1 : 0, row);
    this.#forget();
  }

  delete(timestamp: number): void {
    const at = this.#indexOf(timestamp);
    if (this.#rows[at]?.candle.timestamp === timestamp) this.#rows.splice(at, 1);
  }

  /** Changes how many candles are kept, and forgets the oldest beyond that. */
  resize(keep: number): void {
    this.#keep = keep;
    this.#forget();
  }

  #forget(): void {
    const surplus = this.#rows.length - this.#keep;
    if (surplus > 0) this.#after = this.#rows.splice(0, surplus).at(-1)!.candle.timestamp;
  }

  /** The index at which a timestamp is or belongs. It tries the end first, because nearly all of them are there. */
  #indexOf(timestamp: number): number {
    let high = this.#rows.length;
    if (high === 0 || this.#rows[high - 1]!.candle.timestamp < timestamp) return high;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rows[middle]!.candle.timestamp < timestamp) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
