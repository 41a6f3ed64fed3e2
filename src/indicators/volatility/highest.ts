import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingExtreme } from "../windows/extreme.js";

/**
 * The highest of the last `n` highs, including the newest (TA-Lib's `MAX`, TradingView's `ta.highest`).
 *
 * ```text
 * highest = max(high)        over n candles
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Defaults:
 * `n` 20, `source` the high. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the
 * source is valid.
 *
 * ```ts
 * import { highest } from "pairstream";
 *
 * const tops = { high: highest(50), close: highest(50, { source: "close" }) };
 * ```
 */
export function highest(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => SlidingExtreme.highest(n), options, "high");
}
