import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The relative strength index (Wilder, "New Concepts in Technical Trading Systems", 1978; TA-Lib's `RSI`): how much
 * of the movement went up.
 *
 * ```text
 * up   = max(x[0] − x[1], 0)        down = max(x[1] − x[0], 0)
 * rsi  = 100 · rma(up) / (rma(up) + rma(down))        rma: Wilder's average, as `rma(n)`
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `n` candles; 50 where nothing has moved yet (TA-Lib says
 * 0, and takes averages below 1e-14 for nothing). A candle that does not move the price leaves the value as it was,
 * to the last bit, so that nothing crosses it on rounding alone. Defaults: `n` 14, `source` the close. Throws an
 * `InvalidInputError` where `n` is not whole or not from 1 to 100,000, or the source is none.
 *
 * ```ts
 * import { rsi, sma } from "pairstream";
 *
 * const strength = { rsi: rsi(14), line: sma(9, { source: rsi(14) }) };
 * ```
 */
export function rsi(n = 14, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => RelativeStrength.over(n), options);
}

/** The kernel of `rsi`, for those that are made of it. */
export class RelativeStrength implements SeriesKernel<number> {
  private last = Number.NaN;
  private strength = Number.NaN;

  private constructor(
    private readonly n: number,
    private readonly gains: ExponentialAverage,
    private readonly losses: ExponentialAverage,
  ) {}

  static over(n: number): RelativeStrength {
    return new RelativeStrength(n, ExponentialAverage.ofWilder(n), ExponentialAverage.ofWilder(n));
  }

  peek(value: number): number {
    const change = value - this.last;
    const size = Math.abs(change);
    return this.strengthOf(
      change,
      this.gains.peek((size + change) / 2),
      this.losses.peek((size - change) / 2),
    );
  }

  push(value: number): number {
    const change = value - this.last;
    const size = Math.abs(change);
    this.last = value;
    this.strength = this.strengthOf(
      change,
      this.gains.push((size + change) / 2),
      this.losses.push((size - change) / 2),
    );
    return this.strength;
  }

  fork(): RelativeStrength {
    const copy = new RelativeStrength(this.n, this.gains.fork(), this.losses.fork());
    copy.last = this.last;
    copy.strength = this.strength;
    return copy;
  }

  private strengthOf(change: number, gain: number, loss: number): number {
    const both = gain + loss;
    if (both === 0) return 50;
    // Without a move both averages shrink alike: their ratio stays, but for the rounding.
    if (change === 0 && !Number.isNaN(this.strength)) return this.strength;
    return 100 * (gain / both);
  }
}
