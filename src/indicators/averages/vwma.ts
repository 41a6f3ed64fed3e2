import type { Candle } from "../../contract/model.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingSum } from "../windows/sum.js";

/**
 * The volume-weighted moving average (TradingView's `ta.vwma`): each of the last `n` numbers weighs as much as its
 * candle's volume.
 *
 * ```text
 * vwma = Σ x · volume / Σ volume        over n candles
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles, and where the last `n` have no volume at all,
 * as with candles that fill a gap; the price in a flat market. Defaults: `n` 20, `source` the close. Throws an
 * `InvalidInputError` where `n` is not whole or not from 1 to 100,000, or the source is none.
 *
 * ```ts
 * import { vwma } from "pairstream";
 *
 * const paid = vwma(20, { source: "hlc3" });
 * ```
 */
export function vwma(n = 20, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new VolumeWeightedAverage(new SlidingSum(n), new SlidingSum(n)), options);
}

class VolumeWeightedAverage implements SeriesKernel<number> {
  constructor(
    private readonly amounts: SlidingSum,
    private readonly volumes: SlidingSum,
  ) {}

  // Nothing divided by nothing is NaN, which is what stands for no value here.
  push(value: number, { volume }: Candle): number {
    return this.amounts.push(value * volume) / this.volumes.push(volume);
  }

  peek(value: number, { volume }: Candle): number {
    return this.amounts.peek(value * volume) / this.volumes.peek(volume);
  }

  fork(): VolumeWeightedAverage {
    return new VolumeWeightedAverage(this.amounts.fork(), this.volumes.fork());
  }
}
