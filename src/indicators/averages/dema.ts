import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The double exponential moving average (Mulloy; TA-Lib's `DEMA`). It lags less than an `ema` of the same `n`.
 *
 * ```text
 * dema = 2 · ema(x) − ema(ema(x))
 * ```
 *
 * In the unit of the source; `undefined` for the first `2 · n − 2` candles; the price in a flat market. It can
 * overshoot: after a price jump it leaves the range of its inputs. Defaults: `n` 20, `source` the close. Throws an
 * `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { dema } from "pairstream";
 *
 * const quick = dema(20);
 * ```
 */
export function dema(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(
    () => new DoubleAverage(ExponentialAverage.ofSpan(n), ExponentialAverage.ofSpan(n)),
    options,
  );
}

class DoubleAverage implements SeriesKernel<number> {
  constructor(
    private readonly first: ExponentialAverage,
    private readonly second: ExponentialAverage,
  ) {}

  push(value: number): number {
    const once = this.first.push(value);
    return 2 * once - this.second.push(once);
  }

  peek(value: number): number {
    const once = this.first.peek(value);
    return 2 * once - this.second.peek(once);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): DoubleAverage {
    return new DoubleAverage(this.first.fork(), this.second.fork());
  }
}
