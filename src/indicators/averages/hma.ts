import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingWeightedMean } from "../windows/weighted-mean.js";

/**
 * The Hull moving average (TradingView's `ta.hma`): a weighted average of twice a fast weighted average less a slow
 * one.
 *
 * ```text
 * hma = wma(2 · wma(x, ⌊n / 2⌋) − wma(x, n), ⌊√n⌋)        a window is at least 1
 * ```
 *
 * In the unit of the source; `undefined` for the first `n + ⌊√n⌋ − 2` candles; the price in a flat market. It can
 * overshoot: after a price jump it leaves the range of its inputs. Defaults: `n` 9, `source` the close. Throws an
 * `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { hma } from "pairstream";
 *
 * const turn = hma(9);
 * ```
 */
export function hma(n = 9, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  const half = new SlidingWeightedMean(Math.max(1, Math.floor(n / 2)));
  const smooth = new SlidingWeightedMean(Math.floor(Math.sqrt(n)));
  const empty = new HullAverage(half, new SlidingWeightedMean(n), smooth);
  return seriesIndicator(() => empty.fork(), options);
}

class HullAverage implements SeriesKernel<number> {
  constructor(
    private readonly half: SlidingWeightedMean,
    private readonly whole: SlidingWeightedMean,
    private readonly smooth: SlidingWeightedMean,
  ) {}

  push(value: number): number {
    return this.smooth.push(2 * this.half.push(value) - this.whole.push(value));
  }

  peek(value: number): number {
    return this.smooth.peek(2 * this.half.peek(value) - this.whole.peek(value));
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): HullAverage {
    return new HullAverage(this.half.fork(), this.whole.fork(), this.smooth.fork());
  }
}
