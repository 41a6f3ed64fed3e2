import type { Candle } from "../contract/model.js";

/**
 * Candles by column: the numbers of one candle stand at the same place of every array. The fields are those of `Candle`.
 *
 * ```ts
 * import { type CandleColumns, ema, indicatorColumns } from "pairstream";
 *
 * const averagesOf = (columns: CandleColumns) => indicatorColumns({ fast: ema(9) }, columns).fast;
 * ```
 */
export interface CandleColumns {
  /** Starts of the intervals, ms since the epoch, ascending. */
  readonly timestamp: Float64Array;
  /** The price of the first swap of each candle. */
  readonly open: Float64Array;
  /** The highest prices. */
  readonly high: Float64Array;
  /** The lowest prices. */
  readonly low: Float64Array;
  /** The price of the last swap of each candle. */
  readonly close: Float64Array;
  /** The traded volumes. */
  readonly volume: Float64Array;
  /** How many swaps each candle covers. Only indicators that read them need this column. */
  readonly swaps?: Float64Array;
}

/** The values of an indicator by column: one array for numbers, one a field for objects. */
export type ColumnsOf<T> = T extends undefined
  ? never
  : T extends number
    ? Float64Array
    : { readonly [Field in keyof T]: Float64Array };

// What kernels read of a candle.
export type HighLow = Pick<Candle, "high" | "low">;
export type HighLowClose = Pick<Candle, "high" | "low" | "close">;
export type HighLowCloseVolume = Pick<Candle, "high" | "low" | "close" | "volume">;
