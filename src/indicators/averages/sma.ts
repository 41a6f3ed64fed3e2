import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingMean } from "../windows/mean.js";

/**
 * The simple moving average: the mean of the last `n` numbers (TA-Lib's `SMA`).
 *
 * ```text
 * sma = (x[0] + x[1] + … + x[n − 1]) / n        x[i]: the number i candles ago
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Defaults:
 * `n` 20, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the
 * source is valid.
 *
 * ```ts
 * import { sma } from "pairstream";
 *
 * const middle = sma(20, { source: "hlc3" });
 * ```
 */
export function sma(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new SlidingMean(n), options);
}
