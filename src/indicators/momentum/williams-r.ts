import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, HighLowClose } from "../rows.js";
import { SlidingExtreme } from "../windows/extreme.js";

/**
 * Williams' %R (TA-Lib's `WILLR`): the distance of the close below the highest high of the last `n` candles, in percent
 * of the range.
 *
 * ```text
 * williamsR = 100 · (close − highest(high, n)) / (highest(high, n) − lowest(low, n))
 * ```
 *
 * From −100, at the bottom of the range, to 0, at its top, without a unit; `undefined` for the first `n − 1` candles;
 * −50 if the range is 0, where TA-Lib gives 0. Default: `n` 14. Throws an `InvalidInputError` unless `n` is a whole
 * number from 1 to 100,000.
 *
 * ```ts
 * import { williamsR } from "pairstream";
 *
 * const depth = williamsR(14);
 * ```
 */
export function williamsR(n = 14): Indicator<number> {
  checkPeriod("n", n);
  return candleIndicator(() => new DepthInRange(SlidingExtreme.highest(n), SlidingExtreme.lowest(n)));
}

class DepthInRange implements CandleKernel<number> {
  constructor(
    private readonly highest: SlidingExtreme,
    private readonly lowest: SlidingExtreme,
  ) {}

  push({ high, low, close }: HighLowClose): number {
    return depthOf(close, this.highest.push(high), this.lowest.push(low));
  }

  peek({ high, low, close }: HighLowClose): number {
    return depthOf(close, this.highest.peek(high), this.lowest.peek(low));
  }

  fill({ high, low, close }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]! });
  }

  fork(): DepthInRange {
    return new DepthInRange(this.highest.fork(), this.lowest.fork());
  }
}

function depthOf(close: number, highest: number, lowest: number): number {
  const range = highest - lowest;
  return range === 0 ? -50 : 100 * ((close - highest) / range);
}
