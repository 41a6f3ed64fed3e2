import type { Candle } from "../../contract/model.js";
import type { RefusedRow } from "../../contract/refused-row.js";
import { countRefusals, type RefusalCounts } from "../../poll/refused-rows.js";
import type { Span } from "../../spans.js";

/** Rows of a series that break the contract, by their timestamps, and how many reads in a row have held each of them. */
export class BrokenRows {
  readonly #reads: RefusalCounts<number> = new Map();
  /** How many reads of a range have held rows without a timestamp; such a row may be on any page of the range. */
  #unplaced: readonly (Span & { readonly reads: number })[] = [];

  /** Takes in a page of a read of a range: the rows in the range that break the contract, and those that do not. */
  count(refused: readonly RefusedRow<number>[], wellRead: readonly Candle[], { from, to }: Span): void {
    countRefusals(this.#reads, refused, wellRead, ({ timestamp }) => timestamp);
    if (!this.#reads.has(undefined)) return;
    const before = this.#unplaced.find((range) => range.from < to && range.to > from);
    const reads = (before?.reads ?? 0) + 1;
    this.#unplaced = [...this.#unplaced.filter((range) => range !== before), { from, to, reads }];
    this.#reads.set(undefined, reads);
  }

  /** How many reads in a row have held a row; `undefined`: one without a timestamp. */
  readsOf(key: number | undefined): number {
    return this.#reads.get(key) ?? 0;
  }

  /** The rows of a range that its last read has not held, neither broken nor well; they are forgotten. */
  takeAbsent({ from, to }: Span, isThere: (key: number) => boolean): readonly number[] {
    const absent = [...this.#reads.keys()].filter(
      (key) => key !== undefined && key >= from && key < to && !isThere(key),
    ) as number[];
    for (const key of absent) this.#reads.delete(key);
    return absent;
  }

  /** Forgets the rows without a timestamp of a range of which a read has held none. */
  forgetUnplaced({ from, to }: Span): void {
    this.#unplaced = this.#unplaced.filter((range) => range.from >= to || range.to <= from);
  }

  /** Forgets those of intervals that will not be read again. */
  forgetBefore(timestamp: number): void {
    for (const key of this.#reads.keys()) if (key !== undefined && key < timestamp) this.#reads.delete(key);
    this.#unplaced = this.#unplaced.filter(({ to }) => to > timestamp);
  }
}
