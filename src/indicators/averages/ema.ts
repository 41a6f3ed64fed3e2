import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The exponential moving average (TA-Lib's `EMA`), which begins as the mean of its first `n` numbers.
 *
 * ```text
 * ema = ema' + 2 / (n + 1) · (x − ema')        ema': that of the candle before
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. What is
 * past fades but never ends: give it about `4 · n` candles before the first value that counts. Defaults: `n` 20,
 * `source` the close. Throws an `InvalidInputError` where `n` is not whole or not from 1 to 100,000, or the
 * source is none.
 *
 * ```ts
 * import { ema } from "pairstream";
 *
 * const averages = { fast: ema(9), slow: ema(21) };
 * ```
 */
export function ema(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => ExponentialAverage.ofSpan(n), options);
}
