import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { rangeSince } from "../range-since.js";
import type { CandleColumns, HighLowClose } from "../rows.js";

/**
 * The true range: how far the price moved since the previous close (Wilder; TA-Lib's `TRANGE`).
 *
 * ```text
 * trueRange = max(high, close') − min(low, close')        close': that of the candle before
 * ```
 *
 * In the unit of the price, never negative; `undefined` for the first candle, which has no previous close; 0 in a flat
 * market.
 *
 * ```ts
 * import { sma, trueRange } from "pairstream";
 *
 * const meanRange = sma(10, { source: trueRange() });
 * ```
 */
export function trueRange(): Indicator<number> {
  return candleIndicator(() => new TrueRange());
}

class TrueRange implements CandleKernel<number> {
  private previousClose = Number.NaN;

  push(candle: HighLowClose): number {
    const range = rangeSince(candle.high, candle.low, this.previousClose);
    this.previousClose = candle.close;
    return range;
  }

  peek(candle: HighLowClose): number {
    return rangeSince(candle.high, candle.low, this.previousClose);
  }

  fill({ high, low, close }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]! });
  }

  fork(): TrueRange {
    const copy = new TrueRange();
    copy.previousClose = this.previousClose;
    return copy;
  }
}
