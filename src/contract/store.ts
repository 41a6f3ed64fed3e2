import type { Span } from "../spans.js";
import type { Candle, Series, Timeframe, WeekStart } from "./model.js";

export type { Span };

/** One series at one service: all others are made of such. */
export interface StoreKey extends Series<Timeframe> {
  /** Origin and path of the client's `baseUrl`. */
  service: string;
  /** The day on which weeks begin; `"monday"` for every timeframe but `1w`. */
  weekStart: WeekStart;
}

/** All candles of `[from, to)`, final. An interval without a candle had no swaps. */
export interface Known extends Span {
  /** All candles of `[from, to)`, ascending, each once. */
  readonly candles: readonly Candle[];
}

/** What to read: the candles of `[from, to)`. */
export interface StoreRange extends Span {
  /** The number of candles to return, the newest ones, a whole number from 0; default: all. It does not limit `covered`. */
  readonly last?: number | undefined;
}

/** What a store holds of a range. */
export interface StoredCandles {
  /** The candles, ascending, each once. */
  readonly candles: readonly Candle[];
  /** The covered parts of the range: ascending spans that do not touch. */
  readonly covered: readonly Span[];
}

/**
 * Keeps final candles, and which spans of time are known, so that you pay for neither again. Any object with these methods
 * will do: `candleStore` of `pairstream/store` makes it a `store` of `createClient`.
 *
 * ```ts
 * import type { CandleStore, StoreKey } from "pairstream/store";
 *
 * const holdsAllOf = async (store: CandleStore, key: StoreKey, from: number, to: number) => {
 *   const { covered } = await store.read(key, { from, to, last: 0 });
 *   return covered.some((span) => span.from <= from && span.to >= to);
 * };
 * ```
 */
export interface CandleStore {
  /** Reads what the store holds of a range. */
  read(key: StoreKey, range: StoreRange): Promise<StoredCandles>;
  /** Writes the candles of a span: all of them or, if it rejects, none. Candles of the span that are not in `known` are deleted. */
  write(key: StoreKey, known: Known): Promise<void>;
  /** Deletes the candles of `[from, to)`. The span is not covered any more. */
  forget(key: StoreKey, from: number, to: number): Promise<void>;
}
