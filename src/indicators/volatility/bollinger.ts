import type { Indicator } from "../kernel.js";
import { checkFactor, checkPeriod } from "../parameters.js";
import type { ColumnsOf } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingVariance } from "../windows/variance.js";

/** Bands around a simple average; their width follows the volatility of the price. */
export interface BollingerBands {
  /** `k` standard deviations above the middle, in the unit of the source. */
  readonly upper: number;
  /** The mean of the last `n` numbers, in the unit of the source. */
  readonly middle: number;
  /** `k` standard deviations below the middle, in the unit of the source. */
  readonly lower: number;
  /**
   * The position of the number: 0 on the lower band, 1 on the upper band, outside of 0 to 1 beyond the bands; 0.5 if
   * the bands have no width.
   */
  readonly percentB: number;
  /** The distance of the bands, as a fraction of the middle: 0.1 is a tenth; 0 if the middle is 0. */
  readonly width: number;
}

/**
 * Bollinger bands, with the standard deviation of the population (Bollinger; TA-Lib's `BBANDS`).
 *
 * ```text
 * middle   = mean(x)                       over n candles
 * upper    = middle + k · stdDev(x)
 * lower    = middle − k · stdDev(x)
 * percentB = (x − lower) / (upper − lower)
 * width    = (upper − lower) / middle
 * ```
 *
 * `undefined` for the first `n − 1` candles. In a flat market all three bands are exactly the price, `percentB` is 0.5
 * and `width` 0. TA-Lib gives bands of no width below a variance of 1e-14, which is where most young tokens trade; this
 * one does not. Defaults: `n` 20, `k` 2, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number
 * from 1 to 100,000, `k` is finite and at least 0, and the source is valid.
 *
 * ```ts
 * import { bollinger } from "pairstream";
 *
 * const bands = bollinger(20, 2.5, { source: "hlc3" });
 * ```
 */
export function bollinger(n = 20, k = 2, options?: SourceOptions): Indicator<BollingerBands> {
  checkPeriod("n", n);
  checkFactor("k", k);
  return seriesResultIndicator(
    () => new Bands(k, new SlidingVariance(n)),
    ["upper", "middle", "lower", "percentB", "width"],
    options,
  );
}

class Bands implements SeriesKernel<BollingerBands | undefined> {
  constructor(
    private readonly k: number,
    private readonly window: SlidingVariance,
  ) {}

  push(value: number): BollingerBands | undefined {
    const bands = this.peek(value);
    this.window.push(value);
    return bands;
  }

  peek(value: number): BollingerBands | undefined {
    const middle = this.window.mean(value);
    if (Number.isNaN(middle)) return undefined;
    const reach = this.k * Math.sqrt(this.window.variance(value));
    return {
      upper: middle + reach,
      middle,
      lower: middle - reach,
      percentB: reach === 0 ? 0.5 : 0.5 + (value - middle) / (2 * reach),
      width: middle === 0 ? 0 : (2 * reach) / middle,
    };
  }

  /**
   * The lines of `peek` again, without its object; `width` holds the variances until they are used. Functions for both
   * would cost `peek` a quarter of its speed.
   */
  fill(values: Float64Array, { upper, middle, lower, percentB, width }: ColumnsOf<BollingerBands>): void {
    this.window.fill(values, middle, width);
    for (let at = 0; at < values.length; at += 1) {
      const mean = middle[at]!;
      const reach = this.k * Math.sqrt(width[at]!);
      upper[at] = mean + reach;
      lower[at] = mean - reach;
      percentB[at] = reach === 0 ? 0.5 : 0.5 + (values[at]! - mean) / (2 * reach);
      width[at] = mean === 0 ? 0 : (2 * reach) / mean;
    }
  }

  fork(): Bands {
    return new Bands(this.k, this.window.fork());
  }
}
