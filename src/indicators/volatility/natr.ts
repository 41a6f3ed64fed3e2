import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, HighLowClose } from "../rows.js";
import { ExponentialAverage } from "../smoothing.js";
import { AverageTrueRange } from "./atr.js";

/**
 * The normalized average true range (TA-Lib's `NATR`): the `atr` in percent of the close, so pairs at any price level
 * compare.
 *
 * ```text
 * natr = 100 · atr / close
 * ```
 *
 * In percent of the close, from 0; `undefined` for the first `n` candles; 0 in a flat market, and if the close is 0.
 * Default: `n` 14. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000.
 *
 * ```ts
 * import { natr } from "pairstream";
 *
 * const restlessness = natr(14);
 * ```
 */
export function natr(n = 14): Indicator<number> {
  checkPeriod("n", n);
  return candleIndicator(() => new NormalizedRange(new AverageTrueRange(ExponentialAverage.ofWilder(n))));
}

class NormalizedRange implements CandleKernel<number> {
  constructor(private readonly range: AverageTrueRange) {}

  push(candle: HighLowClose): number {
    return percentOfClose(this.range.push(candle), candle.close);
  }

  peek(candle: HighLowClose): number {
    return percentOfClose(this.range.peek(candle), candle.close);
  }

  fill({ high, low, close }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]! });
  }

  fork(): NormalizedRange {
    return new NormalizedRange(this.range.fork());
  }
}

function percentOfClose(range: number, close: number): number {
  // `0 * range` keeps NaN during the warm-up.
  return close === 0 ? 0 * range : (100 * range) / close;
}
