import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { ColumnsOf } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingRegression } from "../windows/regression.js";

/** The least-squares line through the last candles. */
export interface LinearRegression {
  /** The value of the line at the newest candle, in the unit of the source. */
  readonly value: number;
  /** The rise of the line per candle, in the unit of the source. */
  readonly slope: number;
  /** The share of the variance that the line explains, from 0 to 1; 0 in a flat market, which has no variance. */
  readonly rSquared: number;
}

/**
 * The least-squares line through the last `n` numbers (TA-Lib's `LINEARREG` and `LINEARREG_SLOPE`).
 *
 * ```text
 * slope    = covariance(i, x) / variance(i)        i: 0 for the oldest number, n − 1 for the newest
 * value    = mean(x) + slope · (n − 1) / 2
 * rSquared = slope² · variance(i) / variance(x)
 * ```
 *
 * `undefined` for the first `n − 1` candles. In a flat market `value` is exactly the price, and `slope` and `rSquared`
 * are 0, so a bot that reads `rSquared` as trend strength sees no trend. Defaults: `n` 14, `source` the close. Throws
 * an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { linearRegression } from "pairstream";
 *
 * const growth = linearRegression(50, { source: (candle) => Math.log(candle.close) });
 * ```
 */
export function linearRegression(n = 14, options?: SourceOptions): Indicator<LinearRegression> {
  checkPeriod("n", n);
  return seriesResultIndicator(
    () => new RegressionLine(n, new SlidingRegression(n)),
    ["value", "slope", "rSquared"],
    options,
  );
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

  fill(values: Float64Array, { value, slope, rSquared }: ColumnsOf<LinearRegression>): void {
    for (let at = 0; at < values.length; at += 1) {
      const result = this.push(values[at]!);
      value[at] = result?.value ?? Number.NaN;
      slope[at] = result?.slope ?? Number.NaN;
      rSquared[at] = result?.rSquared ?? Number.NaN;
    }
  }

  fork(): RegressionLine {
    return new RegressionLine(this.n, this.line.fork());
  }
}
