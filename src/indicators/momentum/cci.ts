import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { History } from "../windows/history.js";
import { SlidingMean } from "../windows/mean.js";

/**
 * The commodity channel index (Lambert, 1980; TA-Lib's `CCI`): the distance of the price from its mean, in units of its
 * mean deviation.
 *
 * ```text
 * deviation = (|x[0] − sma(x, n)| + … + |x[n − 1] − sma(x, n)|) / n        x[i]: the number i candles ago
 * cci       = (x[0] − sma(x, n)) / (0.015 · deviation)
 * ```
 *
 * Without a unit or a bound, mostly within ±100; `undefined` for the first `n − 1` candles; 0 in a flat market. The
 * time per candle grows with `n`. Defaults: `n` 20, `source` `"hlc3"`, the typical price. Throws an `InvalidInputError`
 * unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { cci } from "pairstream";
 *
 * const stretch = cci(20);
 * ```
 */
export function cci(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new ChannelIndex(n, new SlidingMean(n), new History(n)), options, "hlc3");
}

class ChannelIndex implements SeriesKernel<number> {
  constructor(
    private readonly n: number,
    private readonly mean: SlidingMean,
    private readonly history: History,
  ) {}

  peek(value: number): number {
    const { n, history } = this;
    const mean = this.mean.peek(value);
    if (Number.isNaN(mean)) return mean;
    let distances = Math.abs(value - mean);
    for (let age = 1; age < n; age += 1) distances += Math.abs(history.ago(age) - mean);
    return distances === 0 ? 0 : (value - mean) / (0.015 * (distances / n));
  }

  push(value: number): number {
    const index = this.peek(value);
    this.mean.push(value);
    this.history.push(value);
    return index;
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): ChannelIndex {
    return new ChannelIndex(this.n, this.mean.fork(), this.history.fork());
  }
}
