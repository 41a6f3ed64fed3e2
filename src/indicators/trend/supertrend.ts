import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkFactor, checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLowClose } from "../rows.js";
import { ExponentialAverage } from "../smoothing.js";
import { AverageTrueRange } from "../volatility/atr.js";

/** A stop that follows the trend, and the direction of the trend. */
export interface Supertrend {
  /** A price: the lower band in a rising trend, the upper band in a falling trend. */
  readonly value: number;
  /** 1 in a rising trend, −1 in a falling trend. TradingView uses the opposite sign. */
  readonly direction: 1 | -1;
}

/**
 * The supertrend (Seban; TradingView's `ta.supertrend`): a band at a distance of `factor` average true ranges. It moves
 * only with the trend, and changes sides when a close lies beyond it.
 *
 * ```text
 * upper     = hl2 + factor · atr(n), but upper' where that is less, unless close' > upper'
 * lower     = hl2 − factor · atr(n), but lower' where that is more, unless close' < lower'
 * direction = 1 where close > upper after −1; −1 where close < lower after 1; otherwise as before, at first −1
 * value     = lower in direction 1, upper in direction −1        upper', lower', close': those of the candle before
 * ```
 *
 * `undefined` for the first `n` candles. In a flat market the value is the price, and the direction stays. TradingView
 * differs in two ways. Its `ta.atr` counts `high − low` of the first candle as a range, which `atr` leaves out; that
 * difference fades. And it derives the previous direction from the value, so after a long flat stretch, when both bands
 * meet, its trend falls. Here a trend ends only with a close beyond its band. Defaults: `n` 10, `factor` 3. Throws an
 * `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and `factor` is finite and at least 0.
 *
 * ```ts
 * import { supertrend } from "pairstream";
 *
 * const trend = supertrend(10, 3);
 * ```
 */
export function supertrend(n = 10, factor = 3): Indicator<Supertrend> {
  checkPeriod("n", n);
  checkFactor("factor", factor);
  return candleResultIndicator(() => {
    return new TrendBands(factor, new AverageTrueRange(ExponentialAverage.ofWilder(n)));
  }, ["value", "direction"]);
}

class TrendBands implements CandleKernel<Supertrend | undefined> {
  // The widest bands: no price is below 0.
  private upper = Infinity;
  private lower = 0;
  private close = Number.NaN;
  /** The direction of the trend; 0 during the warm-up. */
  private direction: 1 | -1 | 0 = 0;

  constructor(
    private readonly factor: number,
    private readonly range: AverageTrueRange,
  ) {}

  push(candle: HighLowClose): Supertrend | undefined {
    return this.next(candle, true);
  }

  peek(candle: HighLowClose): Supertrend | undefined {
    return this.next(candle, false);
  }

  fill({ high, low, close }: CandleColumns, { value, direction }: ColumnsOf<Supertrend>): void {
    for (let at = 0; at < high.length; at += 1) {
      const result = this.push({ high: high[at]!, low: low[at]!, close: close[at]! });
      value[at] = result?.value ?? Number.NaN;
      direction[at] = result?.direction ?? Number.NaN;
    }
  }

  fork(): TrendBands {
    const copy = new TrendBands(this.factor, this.range.fork());
    copy.upper = this.upper;
    copy.lower = this.lower;
    copy.close = this.close;
    copy.direction = this.direction;
    return copy;
  }

  private next(candle: HighLowClose, commits: boolean): Supertrend | undefined {
    const reach = this.factor * this.range.next(candle.high, candle.low, candle.close, commits);
    const upper = this.nextUpper(candle, reach);
    const lower = this.nextLower(candle, reach);
    const direction = this.nextDirection(candle.close, upper, lower);
    if (commits) this.close = candle.close;
    if (Number.isNaN(reach)) return undefined;
    if (commits) {
      this.upper = upper;
      this.lower = lower;
      this.direction = direction;
    }
    return { value: direction > 0 ? lower : upper, direction };
  }

  private nextUpper({ high, low }: HighLowClose, reach: number): number {
    const upper = (high + low) / 2 + reach;
    return this.close > this.upper ? upper : Math.min(upper, this.upper);
  }

  private nextLower({ high, low }: HighLowClose, reach: number): number {
    const lower = (high + low) / 2 - reach;
    return this.close < this.lower ? lower : Math.max(lower, this.lower);
  }

  private nextDirection(close: number, upper: number, lower: number): 1 | -1 {
    if (this.direction > 0) return close < lower ? -1 : 1;
    return this.direction < 0 && close > upper ? 1 : -1;
  }
}
