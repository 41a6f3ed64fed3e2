import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingRegression } from "../windows/regression.js";

/** The straight line of least squares through the last candles. */
export interface LinearRegression {
  /** Where the line stands at the newest candle, in the unit of the source. */
  readonly value: number;
  /** How much it rises from candle to candle, in the unit of the source. */
  readonly slope: number;
  /** How much of the variance the line explains, from 0 to 1; 0 in a flat market, where there is none. */
  readonly rSquared: number;
}

/**
 * The line of least squares through the last `n` numbers (TA-Lib's `LINEARREG` and `LINEARREG_SLOPE`).
 *
 * ```text
 * slope    = covariance(i, x) / variance(i)        i: 0 for the oldest number, n − 1 for the newest
 * value    = mean(x) + slope · (n − 1) / 2
 * rSquared = slope² · variance(i) / variance(x)
 * ```
 *
 * `undefined` for the first `n − 1` candles. In a flat market the value is exactly the price and the slope 0, and so
 * is `rSquared`: a bot that takes it for the strength of a trend sees none. Defaults: `n` 14, `source` the close.
 * Throws an `InvalidInputError` where `n` is not whole or not from 1 to 100,000, or the source is none.
 *
 * ```ts
 * import { linearRegression } from "pairstream";
 *
 * const growth = linearRegression(50, { source: (candle) => Math.log(candle.close) });
 * ```
 */
export function linearRegression(n = 14, options?: SourceOptions): Indicator<LinearRegression> {
  checkPeriod("n", n);
  return seriesResultIndicator(() => new RegressionLine(n, new SlidingRegression(n)), options);
}

class RegressionLine implements SeriesKernel<LinearRegression | undefined> {
  constructor(
    private readonly n: number,
    private readonly line: SlidingRegression,
  ) {}

  peek(value: number): LinearRegression | undefined {
    const mean = this.line.mean(value);
    if (Number.isNaN(mean)) return undefined;
    const slope = this.line.slope(value);
    const variance = this.line.variance(value);
    const explained = (slope * slope * (this.n * this.n - 1)) / 12;
    return {
      value: mean + (slope * (this.n - 1)) / 2,
      slope,
      rSquared: explained < variance ? explained / variance : Math.sign(variance),
    };
  }

  push(value: number): LinearRegression | undefined {
    const result = this.peek(value);
    this.line.push(value);
    return result;
  }

  fork(): RegressionLine {
    return new RegressionLine(this.n, this.line.fork());
  }
}
