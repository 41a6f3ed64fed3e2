import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import type { CandleColumns, HighLowCloseVolume } from "../rows.js";
import { moneyFlow } from "./money-flow.js";
import { RunningTotal } from "./running-total.js";

/**
 * The accumulation/distribution line (Chaikin; TA-Lib's `AD`): the sum of all volumes, each weighted by the position of
 * the close in the candle's range.
 *
 * ```text
 * flow = volume · ((close − low) − (high − close)) / (high − low)        0 where high = low
 * adl  = adl' + flow                                                     adl': that of the candle before
 * ```
 *
 * In the currency of the series. It begins with the first candle, without a warm-up. Its level depends on which candle
 * is the first, so only its changes have a meaning. Constant in a flat market; 0 if the market was flat from the start.
 * It is exact to the last digit after any number of candles.
 *
 * ```ts
 * import { adl } from "pairstream";
 *
 * const accumulation = adl();
 * ```
 */
export function adl(): Indicator<number> {
  return candleIndicator(() => new FlowTotal(new RunningTotal()));
}

class FlowTotal implements CandleKernel<number> {
  constructor(private readonly total: RunningTotal) {}

  push(candle: HighLowCloseVolume): number {
    return this.total.push(moneyFlow(candle));
  }

  peek(candle: HighLowCloseVolume): number {
    return this.total.peek(moneyFlow(candle));
  }

  fill({ high, low, close, volume }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]!, volume: volume[at]! });
  }

  fork(): FlowTotal {
    return new FlowTotal(this.total.fork());
  }
}
