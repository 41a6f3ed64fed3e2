import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingWeightedMean } from "../windows/weighted-mean.js";

/**
 * The Hull moving average (TradingView's `ta.hma`): a weighted average of what two others point at.
 *
 * ```text
 * hma = wma(2 · wma(x, ⌊n / 2⌋) − wma(x, n), ⌊√n⌋)        a window is at least 1
 * ```
 *
 * In the unit of the source; `undefined` for the first `n + ⌊√n⌋ − 2` candles; the price in a flat market. It can
 * overshoot: where the price jumps it leaves the range of its numbers. Defaults: `n` 9, `source` the close. Throws
 * an `InvalidInputError` where `n` is not whole or not from 1 to 100,000, or the source is none.
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

  fork(): HullAverage {
    return new HullAverage(this.half.fork(), this.whole.fork(), this.smooth.fork());
  }
}
