import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * Wilder's moving average (TradingView's `ta.rma`), the smoothing inside RSI, ATR and ADX. It begins with the mean of
 * the first `n` numbers.
 *
 * ```text
 * rma = rma' + (x − rma') / n        rma': that of the candle before
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Old candles
 * fade but never drop out: feed it about `8 · n` candles before you rely on a value. Defaults: `n` 14, `source` the
 * close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { rma } from "pairstream";
 *
 * const range = rma(14, { source: (candle) => candle.high - candle.low });
 * ```
 */
export function rma(n = 14, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => ExponentialAverage.ofWilder(n), options);
}
