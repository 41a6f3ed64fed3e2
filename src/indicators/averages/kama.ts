import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { History } from "../windows/history.js";
import { SlidingSum } from "../windows/sum.js";

/**
 * Kaufman's adaptive moving average (TA-Lib's `KAMA`): an exponential average that is fast in a trend and slow when the
 * last `n` moves cancel out.
 *
 * ```text
 * efficiency = |x[0] − x[n]| / Σ |x[i] − x[i + 1]|        i from 0 to n − 1; 1 where nothing has moved
 * weight     = (efficiency · (2 / (fast + 1) − 2 / (slow + 1)) + 2 / (slow + 1))²
 * kama       = kama' + weight · (x[0] − kama')            kama': that of the candle before, at first x[1]
 * ```
 *
 * In the unit of the source; `undefined` for the first `n` candles; exactly the price in a flat market. Defaults: `n`
 * 10, `fast` 2, `slow` 30, `source` the close. Throws an `InvalidInputError` unless each number is whole and from 1 to
 * 100,000, `fast` is at most `slow`, and the source is valid.
 *
 * ```ts
 * import { kama } from "pairstream";
 *
 * const adaptive = kama(10, 2, 30);
 * ```
 */
export function kama(n = 10, fast = 2, slow = 30, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  checkPeriod("slow", slow);
  checkPeriod("fast", fast, { max: slow });
  const slowWeight = 2 / (slow + 1);
  const weights = { slow: slowWeight, spread: 2 / (fast + 1) - slowWeight };
  return seriesIndicator(() => new AdaptiveAverage(n, weights, new History(n), new SlidingSum(n)), options);
}

class AdaptiveAverage implements SeriesKernel<number> {
  private average = Number.NaN;

  constructor(
    private readonly n: number,
    private readonly weights: { readonly slow: number; readonly spread: number },
    private readonly history: History,
    private readonly path: SlidingSum,
  ) {}

  peek(value: number): number {
    const last = this.history.ago(1);
    const path = this.path.peek(Math.abs(value - last));
    const way = Math.abs(value - this.history.ago(this.n));
    const efficiency = way < path ? way / path : 1;
    const weight = efficiency * this.weights.spread + this.weights.slow;
    const average = Number.isNaN(this.average) ? last : this.average;
    return Number.isNaN(path) ? path : average + weight * weight * (value - average);
  }

  push(value: number): number {
    const average = this.peek(value);
    this.path.push(Math.abs(value - this.history.ago(1)));
    this.history.push(value);
    this.average = average;
    return average;
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): AdaptiveAverage {
    const copy = new AdaptiveAverage(this.n, this.weights, this.history.fork(), this.path.fork());
    copy.average = this.average;
    return copy;
  }
}
