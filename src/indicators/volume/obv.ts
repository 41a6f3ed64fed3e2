import type { Candle } from "../../contract/model.js";
import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import type { CandleColumns } from "../rows.js";
import { RunningTotal } from "./running-total.js";

/**
 * The on-balance volume (Granville 1963; TA-Lib's `OBV`): the total volume of candles that closed higher, less that of
 * candles that closed lower.
 *
 * ```text
 * obv = obv' + volume        where close > close'        close', obv': those of the candle before
 *       obv' − volume        where close < close'
 *       obv'                 where close = close'
 * ```
 *
 * In the currency of the series. It begins with the first candle's volume, as in TA-Lib (TradingView begins with 0),
 * without a warm-up. Its level depends on which candle is the first, so only its changes have a meaning. Constant in a
 * flat market. It is exact to the last digit after any number of candles.
 *
 * ```ts
 * import { ema, obv } from "pairstream";
 *
 * const balance = { now: obv(), average: ema(20, { source: obv() }) };
 * ```
 */
export function obv(): Indicator<number> {
  return candleIndicator(() => new VolumeBalance(new RunningTotal()));
}

class VolumeBalance implements CandleKernel<number> {
  /** Below any close, so that the first volume counts as a rise. */
  private close = -Infinity;

  constructor(private readonly total: RunningTotal) {}

  push({ close, volume }: Pick<Candle, "close" | "volume">): number {
    const signed = Math.sign(close - this.close) * volume;
    this.close = close;
    return this.total.push(signed);
  }

  peek({ close, volume }: Pick<Candle, "close" | "volume">): number {
    return this.total.peek(Math.sign(close - this.close) * volume);
  }

  fill({ close, volume }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ close: close[at]!, volume: volume[at]! });
  }

  fork(): VolumeBalance {
    const copy = new VolumeBalance(this.total.fork());
    copy.close = this.close;
    return copy;
  }
}
