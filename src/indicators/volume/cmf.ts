import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, HighLowCloseVolume } from "../rows.js";
import { SlidingSum } from "../windows/sum.js";
import { moneyFlow } from "./money-flow.js";

/**
 * The Chaikin money flow (TradingView's indicator of that name): the share of the volume with closes near the high,
 * less the share with closes near the low.
 *
 * ```text
 * flow = volume · ((close − low) − (high − close)) / (high − low)        0 where high = low
 * cmf  = Σ flow / Σ volume                                               over n candles; 0 without volume
 * ```
 *
 * From −1, if every candle closes at its low, to 1, if every candle closes at its high; `undefined` for the first `n −
 * 1` candles; 0 in a flat market. Default: `n` 20. Throws an `InvalidInputError` unless `n` is a whole number from 1 to
 * 100,000.
 *
 * ```ts
 * import { cmf } from "pairstream";
 *
 * const flow = cmf(20);
 * ```
 */
export function cmf(n = 20): Indicator<number> {
  checkPeriod("n", n);
  return candleIndicator(() => new FlowShare(new SlidingSum(n), new SlidingSum(n)));
}

class FlowShare implements CandleKernel<number> {
  constructor(
    private readonly flows: SlidingSum,
    private readonly volumes: SlidingSum,
  ) {}

  push(candle: HighLowCloseVolume): number {
    return flowShare(this.flows.push(moneyFlow(candle)), this.volumes.push(candle.volume));
  }

  peek(candle: HighLowCloseVolume): number {
    return flowShare(this.flows.peek(moneyFlow(candle)), this.volumes.peek(candle.volume));
  }

  fill({ high, low, close, volume }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]!, volume: volume[at]! });
  }

  fork(): FlowShare {
    return new FlowShare(this.flows.fork(), this.volumes.fork());
  }
}

function flowShare(flow: number, volume: number): number {
  return volume === 0 ? 0 : flow / volume;
}
