import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * Wilder's moving average (TradingView's `ta.rma`), which begins as the mean of its first `n` numbers; the smoothing
 * inside RSI, ATR and ADX.
 *
 * ```text
 * rma = rma' + (x − rma') / n        rma': that of the candle before
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Its past
 * fades about half as fast as that of `ema(n)`. Defaults: `n` 14, `source` the close. Throws an `InvalidInputError`
 * where `n` is not whole or not from 1 to 100,000, or the source is none.
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
