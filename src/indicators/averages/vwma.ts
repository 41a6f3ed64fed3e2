import type { Candle } from "../../contract/model.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns } from "../rows.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { SlidingSum } from "../windows/sum.js";

/**
 * The volume-weighted moving average (TradingView's `ta.vwma`): each of the last `n` numbers is weighted by the volume
 * of its candle.
 *
 * ```text
 * vwma = Σ x · volume / Σ volume        over n candles
 * ```
 *
 * In the unit of the source; `undefined` for the first `n − 1` candles, and while the last `n` candles have no volume,
 * as in a filled gap; the price in a flat market. Defaults: `n` 20, `source` the close. Throws an `InvalidInputError`
 * unless `n` is a whole number from 1 to 100,000 and the source is valid.
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

  // Without volume this is 0 / 0: NaN, which means no value.
  push(value: number, { volume }: Pick<Candle, "volume">): number {
    return this.amounts.push(value * volume) / this.volumes.push(volume);
  }

  peek(value: number, { volume }: Pick<Candle, "volume">): number {
    return this.amounts.peek(value * volume) / this.volumes.peek(volume);
  }

  fill(values: Float64Array, out: Float64Array, { volume }: CandleColumns): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!, { volume: volume[at]! });
  }

  fork(): VolumeWeightedAverage {
    return new VolumeWeightedAverage(this.amounts.fork(), this.volumes.fork());
  }
}
