import type { Candle } from "../../contract/model.js";
import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { ExponentialAverage } from "../smoothing.js";
import { trueRange } from "../true-range.js";

/** How strong a trend is, and what speaks for either direction; all from 0 to 100. */
export interface DirectionalMovement {
  /** How strong the trend is, whichever way it goes; from about 25 on it is commonly called one. */
  readonly adx: number;
  /** How much of the range went into new highs. */
  readonly plusDi: number;
  /** How much of the range went into new lows. */
  readonly minusDi: number;
}

/**
 * The average directional index with both directional indicators (Wilder 1978; TA-Lib's `ADX`, `PLUS_DI` and
 * `MINUS_DI`).
 *
 * ```text
 * rise    = max(0, high − high')        fall = max(0, low' − low)        high', low': those of the candle before
 * plusDm  = rise where rise > fall, else 0
 * minusDm = fall where fall > rise, else 0
 * plusDi  = 100 · rma(plusDm) / rma(trueRange)
 * minusDi = 100 · rma(minusDm) / rma(trueRange)
 * adx     = rma(100 · |plusDi − minusDi| / (plusDi + minusDi))
 * ```
 *
 * The first candle has nothing before it and counts as 0 in the inner averages, as in TA-Lib; `adx` begins as the mean
 * of `n` numbers. All three are `undefined` for the first `2 · n − 1` candles, and 0 in a flat market. What is
 * past fades but never ends: give it about `10 · n` candles before the first value that counts. Default: `n` 14.
 * Throws an `InvalidInputError` where `n` is not whole or not from 1 to 100,000.
 *
 * ```ts
 * import { adx } from "pairstream";
 *
 * const strength = adx(14);
 * ```
 */
export function adx(n = 14): Indicator<DirectionalMovement> {
  checkPeriod("n", n);
  return candleResultIndicator(() => new DirectionalSums(n, ExponentialAverage.ofWilder(n)));
}

/** A range below it is one that nothing has gone into for ten thousand candles, and only rounding is left. */
const NO_RANGE = 1e-300;

/**
 * Wilder's averages but for a common factor, which the shares cancel: each sum keeps `(n − 1) / n` of itself and takes
 * a move in. As in TA-Lib they begin with the `n − 1` moves of the first `n` candles.
 */
class DirectionalSums implements CandleKernel<DirectionalMovement | undefined> {
  private high = Number.NaN;
  private low = Number.NaN;
  private close = Number.NaN;
  private plus = Number.NaN;
  private minus = Number.NaN;
  private range = Number.NaN;
  /** How many candles there were, up to `n`. */
  private seen = 0;
  private readonly keep: number;

  constructor(
    private readonly n: number,
    private readonly index: ExponentialAverage,
  ) {
    this.keep = (n - 1) / n;
  }

  push(candle: Candle): DirectionalMovement | undefined {
    if (this.seen < this.n) return this.pushFirst(candle);
    const { keep } = this;
    const rise = positivePart(candle.high - this.high);
    const fall = positivePart(this.low - candle.low);
    this.plus = keep * this.plus + largerOnly(rise, fall);
    this.minus = keep * this.minus + largerOnly(fall, rise);
    this.range = keep * this.range + trueRange(candle, this.close);
    this.high = candle.high;
    this.low = candle.low;
    this.close = candle.close;
    const scale = percentOf(this.range);
    const plusDi = scale * this.plus;
    const minusDi = scale * this.minus;
    const adx = this.index.push(indexOf(plusDi, minusDi));
    return Number.isNaN(adx) ? undefined : { adx, plusDi, minusDi };
  }

  peek(candle: Candle): DirectionalMovement | undefined {
    if (this.seen < this.n) return undefined;
    const { keep } = this;
    const rise = positivePart(candle.high - this.high);
    const fall = positivePart(this.low - candle.low);
    const scale = percentOf(keep * this.range + trueRange(candle, this.close));
    const plusDi = scale * (keep * this.plus + largerOnly(rise, fall));
    const minusDi = scale * (keep * this.minus + largerOnly(fall, rise));
    const adx = this.index.peek(indexOf(plusDi, minusDi));
    return Number.isNaN(adx) ? undefined : { adx, plusDi, minusDi };
  }

  fork(): DirectionalSums {
    const copy = new DirectionalSums(this.n, this.index.fork());
    copy.high = this.high;
    copy.low = this.low;
    copy.close = this.close;
    copy.plus = this.plus;
    copy.minus = this.minus;
    copy.range = this.range;
    copy.seen = this.seen;
    return copy;
  }

  private pushFirst(candle: Candle): undefined {
    const isFirst = this.seen === 0;
    const rise = positivePart(candle.high - this.high);
    const fall = positivePart(this.low - candle.low);
    this.plus = isFirst ? 0 : this.plus + largerOnly(rise, fall);
    this.minus = isFirst ? 0 : this.minus + largerOnly(fall, rise);
    this.range = isFirst ? 0 : this.range + trueRange(candle, this.close);
    this.high = candle.high;
    this.low = candle.low;
    this.close = candle.close;
    this.seen += 1;
  }
}

// Moves go either way, so a branch on their sign would be guessed wrong half of the time: these two do without.

function positivePart(move: number): number {
  return (Math.abs(move) + move) / 2;
}

function largerOnly(move: number, other: number): number {
  return move * Number(move > other);
}

function percentOf(range: number): number {
  return range < NO_RANGE ? 0 : 100 / range;
}

function indexOf(plusDi: number, minusDi: number): number {
  const sum = plusDi + minusDi;
  return sum === 0 ? 0 : (100 * Math.abs(plusDi - minusDi)) / sum;
}
