import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingVariance } from "../windows/variance.js";

/**
 * The standard deviation of the last `n` numbers, as a population: divided by `n` (TA-Lib's `STDDEV`).
 *
 * ```text
 * stdDev = √(Σ (x − mean)² / n)        over n candles
 * ```
 *
 * In the unit of the source, never negative; `undefined` for the first `n − 1` candles; exactly 0 in a flat market.
 * TA-Lib gives 0 below a variance of 1e-14, which is where most young tokens trade; this one does not. Defaults: `n`
 * 20, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source
 * is valid.
 *
 * ```ts
 * import { stdDev } from "pairstream";
 *
 * const spread = stdDev(20, { source: (candle) => Math.log(candle.close) });
 * ```
 */
export function stdDev(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new StandardDeviation(new SlidingVariance(n)), options);
}

class StandardDeviation implements SeriesKernel<number> {
  constructor(private readonly window: SlidingVariance) {}

  push(value: number): number {
    const deviation = Math.sqrt(this.window.variance(value));
    this.window.push(value);
    return deviation;
  }

  peek(value: number): number {
    return Math.sqrt(this.window.variance(value));
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): StandardDeviation {
    return new StandardDeviation(this.window.fork());
  }
}
