import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/**
 * The relative strength index (Wilder, "New Concepts in Technical Trading Systems", 1978; TA-Lib's `RSI`): the rises as
 * a share of all movement.
 *
 * ```text
 * up   = max(x[0] − x[1], 0)        down = max(x[1] − x[0], 0)
 * rsi  = 100 · rma(up) / (rma(up) + rma(down))        rma: Wilder's average, as `rma(n)`
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `n` candles; 50 while the price has not moved yet (TA-Lib
 * gives 0, and treats averages below 1e-14 as 0). An unchanged price leaves the value unchanged to the last bit, so
 * rounding alone causes no crossing. Old candles fade but never drop out: feed it about `8 · n` candles before you rely on a
 * value. Defaults: `n` 14, `source` the close. Throws an `InvalidInputError` unless `n` is
 * a whole number from 1 to 100,000 and the source is valid.
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

/** The kernel of `rsi`, for other indicators built on it. */
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

  push(value: number): number {
    return this.next(value, true);
  }

  peek(value: number): number {
    return this.next(value, false);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): RelativeStrength {
    const copy = new RelativeStrength(this.n, this.gains.fork(), this.losses.fork());
    copy.last = this.last;
    copy.strength = this.strength;
    return copy;
  }

  next(value: number, commits: boolean): number {
    const change = value - this.last;
    const size = Math.abs(change);
    const gain = this.gains.next((size + change) / 2, commits);
    const loss = this.losses.next((size - change) / 2, commits);
    const strength = this.strengthOf(change, gain, loss);
    if (commits) {
      this.last = value;
      this.strength = strength;
    }
    return strength;
  }

  private strengthOf(change: number, gain: number, loss: number): number {
    const both = gain + loss;
    if (both === 0) return 50;
    // Without a move both averages shrink by the same factor, so only rounding could change their ratio.
    if (change === 0 && !Number.isNaN(this.strength)) return this.strength;
    return 100 * (gain / both);
  }
}
