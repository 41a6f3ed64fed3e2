import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, HighLowCloseVolume } from "../rows.js";
import { moneyFlow } from "./money-flow.js";

/**
 * The Chaikin oscillator (TA-Lib's `ADOSC`): a fast average of the `adl` less a slow one.
 *
 * ```text
 * chaikinOscillator = average(adl, fast) − average(adl, slow)
 * average(x, n)     = average' + 2 / (n + 1) · (x − average')        average': that of the candle before, at first x
 * ```
 *
 * In the currency of the series. The averages begin with the first `adl`, as in TA-Lib and TradingView; those of `ema`
 * begin with the mean of the first `n`. `undefined` for the first `slow − 1` candles; 0 in a flat market. Old candles
 * fade but never drop out: feed it about `4 · slow` candles before you rely on a value. Defaults: `fast` 3, `slow` 10.
 * Throws an `InvalidInputError` unless each number is whole and from 1 to 100,000, and `fast` is at most `slow`.
 *
 * ```ts
 * import { chaikinOscillator } from "pairstream";
 *
 * const pressure = chaikinOscillator(3, 10);
 * ```
 */
export function chaikinOscillator(fast = 3, slow = 10): Indicator<number> {
  checkPeriod("slow", slow);
  checkPeriod("fast", fast, { max: slow });
  return candleIndicator(() => new AverageLags(fast, slow));
}

/**
 * Holds the distance of the line above each average, `keep · (lead' + flow)`, and not the line itself. The line is a
 * sum without end; it cancels out of the difference, and its rounding errors with it.
 */
class AverageLags implements CandleKernel<number> {
  private readonly keepFast: number;
  private readonly keepSlow: number;
  /** NaN before the first candle, at which both averages begin. */
  private overFast = Number.NaN;
  private overSlow = Number.NaN;
  /** How many candles it has seen, up to `slow`. */
  private seen = 0;

  constructor(
    private readonly fast: number,
    private readonly slow: number,
  ) {
    this.keepFast = (fast - 1) / (fast + 1);
    this.keepSlow = (slow - 1) / (slow + 1);
  }

  push(candle: HighLowCloseVolume): number {
    const flow = moneyFlow(candle);
    const isFirst = this.seen === 0;
    this.overFast = isFirst ? 0 : this.keepFast * (this.overFast + flow);
    this.overSlow = isFirst ? 0 : this.keepSlow * (this.overSlow + flow);
    if (this.seen < this.slow) this.seen += 1;
    return this.seen < this.slow ? Number.NaN : this.overSlow - this.overFast;
  }

  peek(candle: HighLowCloseVolume): number {
    if (this.seen + 1 < this.slow) return Number.NaN;
    if (this.seen === 0) return 0;
    const flow = moneyFlow(candle);
    return this.keepSlow * (this.overSlow + flow) - this.keepFast * (this.overFast + flow);
  }

  fill({ high, low, close, volume }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]!, volume: volume[at]! });
  }

  fork(): AverageLags {
    const copy = new AverageLags(this.fast, this.slow);
    copy.overFast = this.overFast;
    copy.overSlow = this.overSlow;
    copy.seen = this.seen;
    return copy;
  }
}
