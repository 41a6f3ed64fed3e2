import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The triple exponential moving average (Mulloy; TA-Lib's `TEMA`). It lags less than a `dema` of the same `n`.
 *
 * ```text
 * tema = 3 · ema(x) − 3 · ema(ema(x)) + ema(ema(ema(x)))
 * ```
 *
 * In the unit of the source; `undefined` for the first `3 · n − 3` candles; the price in a flat market. It can
 * overshoot: after a price jump it leaves the range of its inputs. Defaults: `n` 20, `source` the close. Throws an
 * `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { tema } from "pairstream";
 *
 * const quickest = tema(20);
 * ```
 */
export function tema(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  const { ofSpan } = ExponentialAverage;
  return seriesIndicator(() => new TripleAverage(ofSpan(n), ofSpan(n), ofSpan(n)), options);
}

class TripleAverage implements SeriesKernel<number> {
  constructor(
    private readonly first: ExponentialAverage,
    private readonly second: ExponentialAverage,
    private readonly third: ExponentialAverage,
  ) {}

  push(value: number): number {
    const once = this.first.push(value);
    const twice = this.second.push(once);
    return 3 * (once - twice) + this.third.push(twice);
  }

  peek(value: number): number {
    const once = this.first.peek(value);
    const twice = this.second.peek(once);
    return 3 * (once - twice) + this.third.peek(twice);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): TripleAverage {
    return new TripleAverage(this.first.fork(), this.second.fork(), this.third.fork());
  }
}
