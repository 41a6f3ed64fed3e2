import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, HighLowCloseVolume } from "../rows.js";
import { SlidingSum } from "../windows/sum.js";

/**
 * The rounding error of a sum of three prices, relative to its size: the order of the additions changes the last
 * digits.
 */
const ROUNDING = 1e-14;

/**
 * The money flow index (Quong and Soudack, 1989; TA-Lib's `MFI`): the share of the traded money that moved at rising
 * prices.
 *
 * ```text
 * typical = (high + low + close) / 3
 * flow    = typical · volume
 * mfi     = 100 · Σ flow where typical rose / Σ flow where it rose or fell        over n candles
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `n` candles; 50 without volume or without a move, where
 * TA-Lib gives 0. A change of the typical price by less than 1e-14 of its size does not count as a move. Default: `n`
 * 14. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000.
 *
 * ```ts
 * import { mfi } from "pairstream";
 *
 * const pressure = mfi(14);
 * ```
 */
export function mfi(n = 14): Indicator<number> {
  checkPeriod("n", n);
  return candleIndicator(() => new MoneyFlow(new SlidingSum(n), new SlidingSum(n)));
}

class MoneyFlow implements CandleKernel<number> {
  private last = Number.NaN;

  constructor(
    private readonly rising: SlidingSum,
    private readonly falling: SlidingSum,
  ) {}

  peek(candle: HighLowCloseVolume): number {
    const typical = (candle.high + candle.low + candle.close) / 3;
    const flow = typical * candle.volume;
    const direction = directionOf(this.last, typical);
    return moneyFlowIndex(
      this.rising.peek((flow * (Math.abs(direction) + direction)) / 2),
      this.falling.peek((flow * (Math.abs(direction) - direction)) / 2),
    );
  }

  push(candle: HighLowCloseVolume): number {
    const typical = (candle.high + candle.low + candle.close) / 3;
    const flow = typical * candle.volume;
    const direction = directionOf(this.last, typical);
    this.last = typical;
    return moneyFlowIndex(
      this.rising.push((flow * (Math.abs(direction) + direction)) / 2),
      this.falling.push((flow * (Math.abs(direction) - direction)) / 2),
    );
  }

  fill({ high, low, close, volume }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]!, volume: volume[at]! });
  }

  fork(): MoneyFlow {
    const copy = new MoneyFlow(this.rising.fork(), this.falling.fork());
    copy.last = this.last;
    return copy;
  }
}

/** 1 for up, −1 for down, 0 for unchanged; NaN if there is no previous price. */
function directionOf(last: number, typical: number): number {
  const change = typical - last;
  return Math.abs(change) < ROUNDING * Math.abs(typical) ? 0 : Math.sign(change);
}

function moneyFlowIndex(rising: number, falling: number): number {
  const both = rising + falling;
  return both === 0 ? 50 : 100 * (rising / both);
}
