import type { Candle } from "../../contract/model.js";
import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { rangeSince } from "../range-since.js";
import { ExponentialAverage } from "../smoothing.js";

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

  push(candle: Candle): number {
    const range = rangeSince(candle, this.previousClose);
    this.previousClose = candle.close;
    return this.average.push(range);
  }

  peek(candle: Candle): number {
    return this.average.peek(rangeSince(candle, this.previousClose));
  }

  fork(): AverageTrueRange {
    const copy = new AverageTrueRange(this.average.fork());
    copy.previousClose = this.previousClose;
    return copy;
  }
}
