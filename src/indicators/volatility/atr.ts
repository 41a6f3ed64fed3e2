import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { rangeSince } from "../range-since.js";
import type { CandleColumns, HighLowClose } from "../rows.js";
import { ExponentialAverage, faded } from "../smoothing.js";

/**
 * The average true range: Wilder's average of the `trueRange` (TA-Lib's `ATR`).
 *
 * ```text
 * atr = atr' + (trueRange − atr') / n        atr': that of the candle before; the first: the mean of n ranges
 * ```
 *
 * In the unit of the price, never negative; `undefined` for the first `n` candles: the first candle's range is left
 * out, as in TA-Lib, while TradingView counts its `high − low`; 0 in a flat market. Old candles fade but never drop
 * out: feed it about `8 · n` candles before you rely on a value. Default: `n` 14. Throws an `InvalidInputError` unless
 * `n` is a whole number from 1 to 100,000.
 *
 * ```ts
 * import { atr } from "pairstream";
 *
 * const stopDistance = atr(14);
 * ```
 */
export function atr(n = 14): Indicator<number> {
  checkPeriod("n", n);
  return candleIndicator(() => new AverageTrueRange(ExponentialAverage.ofWilder(n)));
}

/** Wilder's average of the true ranges; NaN for the first `n` candles. */
export class AverageTrueRange implements CandleKernel<number> {
  private previousClose = Number.NaN;

  constructor(private readonly average: ExponentialAverage) {}

  push({ high, low, close }: HighLowClose): number {
    return this.next(high, low, close, true);
  }

  peek({ high, low, close }: HighLowClose): number {
    return this.next(high, low, close, false);
  }

  fill({ high, low, close }: CandleColumns, out: Float64Array): void {
    let at = 0;
    for (; at < out.length && !this.average.isSteady; at += 1) {
      out[at] = this.next(high[at]!, low[at]!, close[at]!, true);
    }
    const { keep } = this.average;
    let { average } = this.average;
    let { previousClose } = this;
    for (; at < out.length; at += 1) {
      average = faded(average, rangeSince(high[at]!, low[at]!, previousClose), keep);
      previousClose = close[at]!;
      out[at] = average;
    }
    this.average.average = average;
    this.previousClose = previousClose;
  }

  fork(): AverageTrueRange {
    const copy = new AverageTrueRange(this.average.fork());
    copy.previousClose = this.previousClose;
    return copy;
  }

  next(high: number, low: number, close: number, commits: boolean): number {
    const range = rangeSince(high, low, this.previousClose);
    if (commits) this.previousClose = close;
    return this.average.next(range, commits);
  }
}
