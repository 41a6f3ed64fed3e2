import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingExtreme } from "../windows/extreme.js";

/**
 * The lowest of the last `n` lows, including the newest (TA-Lib's `MIN`, TradingView's `ta.lowest`).
 *
 * ```text
 * lowest = min(low)        over n candles
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles; exactly the price in a flat market. Defaults:
 * `n` 20, `source` the low. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source
 * is valid.
 *
 * ```ts
 * import { lowest } from "pairstream";
 *
 * const bottoms = { low: lowest(50), close: lowest(50, { source: "close" }) };
 * ```
 */
export function lowest(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => SlidingExtreme.lowest(n), options, "low");
}
