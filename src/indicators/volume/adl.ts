import type { Candle } from "../../contract/model.js";
import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { moneyFlow } from "./money-flow.js";
import { RunningTotal } from "./running-total.js";

/**
 * The accumulation/distribution line (Chaikin; TA-Lib's `AD`): the volumes, each counted by where in its range the
 * candle has closed, ever since.
 *
 * ```text
 * flow = volume · ((close − low) − (high − close)) / (high − low)        0 where high = low
 * adl  = adl' + flow                                                     adl': that of the candle before
 * ```
 *
 * In the currency of the series. It begins with the first candle's flow, so its level depends on where the candles
 * begin and only its changes mean something; there is no warming up. Constant in a flat market, and 0 where it has
 * always been flat. However many candles there are, it is as exact as its last digit.
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

  push(candle: Candle): number {
    return this.total.push(moneyFlow(candle));
  }

  peek(candle: Candle): number {
    return this.total.peek(moneyFlow(candle));
  }

  fork(): FlowTotal {
    return new FlowTotal(this.total.fork());
  }
}
