import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The exponential moving average (TA-Lib's `EMA`). It begins with the mean of the first `n` numbers.
 *
 * ```text
 * ema = ema' + 2 / (n + 1) · (x − ema')        ema': that of the candle before
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Old candles
 * fade but never drop out: feed it about `4 · n` candles before you rely on a value. Defaults: `n` 20, `source` the
 * close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
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
