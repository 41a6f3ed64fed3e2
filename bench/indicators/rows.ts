import type { Candle } from "pairstream";
import { marketOf, randomOf } from "../../test/indicators/random-candles.js";

/** Candles as they come: each in `step` versions in a row, of which the last one is to be committed. */
export interface Rows {
  step: number;
  candles: readonly Candle[];
  /** The same in columns. */
  high: Float64Array;
  low: Float64Array;
  close: Float64Array;
}

export function rowsOf(candles: readonly Candle[], step = 1): Rows {
  return {
    step,
    candles,
    high: Float64Array.from(candles, ({ high }) => high),
    low: Float64Array.from(candles, ({ low }) => low),
    close: Float64Array.from(candles, ({ close }) => close),
  };
}

/** A walk of `length` candles, each of which is tried `tries` times while it runs, and then committed. */
export function walk(length: number, tries: number): Rows {
  const random = randomOf(5);
  const candles = marketOf(6, length).flatMap((candle) => {
    const versions = Array.from({ length: tries }, (_, at) =>
      versionOf(candle, (at + 1) / (tries + 1), random()),
    );
    return [...versions, versionOf(candle, 1)];
  });
  return rowsOf(candles, tries + 1);
}

/**
 * The candle after this share of its time, of one shape and frozen, as they are in a stream; where it closes
 * between its low and its high, if that is not over.
 */
function versionOf(candle: Candle, share: number, place?: number): Candle {
  const { timestamp, open, swaps } = candle;
  const high = open + share * (candle.high - open);
  const low = open + share * (candle.low - open);
  const close = place === undefined ? candle.close : low + place * (high - low);
  const volume = share * candle.volume;
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}
