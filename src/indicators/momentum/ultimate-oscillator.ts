import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { rangeSince } from "../range-since.js";
import type { CandleColumns, HighLowClose } from "../rows.js";
import { SlidingSum } from "../windows/sum.js";

/**
 * The ultimate oscillator (Williams, 1985; TA-Lib's `ULTOSC`): the buying pressure (close above the low) as a share of
 * the range, over three lengths.
 *
 * ```text
 * pressure = close − min(low, close')        close': that of the candle before
 * range    = max(high, close') − min(low, close')
 * share(n) = Σ pressure / Σ range            over n candles; 1 / 2 where there is no range
 * ultimateOscillator = 100 · (4 · share(short) + 2 · share(medium) + share(long)) / 7
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `long` candles; 50 in a flat market. TA-Lib counts a share
 * without a range as 0, and sorts the three lengths. Defaults: `short` 7, `medium` 14, `long` 28. Throws an
 * `InvalidInputError` unless each number is whole, from 1 to 100,000, and at least as large as the one before.
 *
 * ```ts
 * import { ultimateOscillator } from "pairstream";
 *
 * const buyers = ultimateOscillator(7, 14, 28);
 * ```
 */
export function ultimateOscillator(short = 7, medium = 14, long = 28): Indicator<number> {
  checkPeriod("long", long);
  checkPeriod("medium", medium, { max: long });
  checkPeriod("short", short, { max: medium });
  return candleIndicator(
    () => new WeightedShares(BuyingShare.over(short), BuyingShare.over(medium), BuyingShare.over(long)),
  );
}

class WeightedShares implements CandleKernel<number> {
  private last = Number.NaN;

  constructor(
    private readonly short: BuyingShare,
    private readonly medium: BuyingShare,
    private readonly long: BuyingShare,
  ) {}

  push(candle: HighLowClose): number {
    const pressure = candle.close - Math.min(candle.low, this.last);
    const range = rangeSince(candle.high, candle.low, this.last);
    this.last = candle.close;
    const short = this.short.push(pressure, range);
    const medium = this.medium.push(pressure, range);
    return 100 * ((4 * short + 2 * medium + this.long.push(pressure, range)) / 7);
  }

  peek(candle: HighLowClose): number {
    const pressure = candle.close - Math.min(candle.low, this.last);
    const range = rangeSince(candle.high, candle.low, this.last);
    const short = this.short.peek(pressure, range);
    const medium = this.medium.peek(pressure, range);
    return 100 * ((4 * short + 2 * medium + this.long.peek(pressure, range)) / 7);
  }

  fill({ high, low, close }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1)
      out[at] = this.push({ high: high[at]!, low: low[at]!, close: close[at]! });
  }

  fork(): WeightedShares {
    const copy = new WeightedShares(this.short.fork(), this.medium.fork(), this.long.fork());
    copy.last = this.last;
    return copy;
  }
}

class BuyingShare {
  private constructor(
    private readonly pressures: SlidingSum,
    private readonly ranges: SlidingSum,
  ) {}

  static over(n: number): BuyingShare {
    return new BuyingShare(new SlidingSum(n), new SlidingSum(n));
  }

  push(pressure: number, range: number): number {
    return pressureShare(this.pressures.push(pressure), this.ranges.push(range));
  }

  peek(pressure: number, range: number): number {
    return pressureShare(this.pressures.peek(pressure), this.ranges.peek(range));
  }

  fork(): BuyingShare {
    return new BuyingShare(this.pressures.fork(), this.ranges.fork());
  }
}

function pressureShare(pressure: number, range: number): number {
  return range === 0 ? 0.5 : pressure / range;
}
