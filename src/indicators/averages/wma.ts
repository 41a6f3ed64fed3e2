import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingWeightedMean } from "../windows/weighted-mean.js";

/**
 * The linearly weighted moving average (TA-Lib's `WMA`): the newest of `n` numbers has weight `n`, the oldest weight 1.
 *
 * ```text
 * wma = (n · x[0] + (n − 1) · x[1] + … + 1 · x[n − 1]) / (n · (n + 1) / 2)        x[i]: the number i candles ago
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Defaults:
 * `n` 20, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the
 * source is valid.
 *
 * ```ts
 * import { wma } from "pairstream";
 *
 * const trend = wma(20);
 * ```
 */
export function wma(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new SlidingWeightedMean(n), options);
}
