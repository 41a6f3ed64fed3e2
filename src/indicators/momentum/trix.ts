import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";
import { percentChange } from "./percent-change.js";

/**
 * The change of a triple-smoothed price from candle to candle (Hutson; TA-Lib's `TRIX`).
 *
 * ```text
 * smooth = ema(ema(ema(x)))        each `ema(n)`
 * trix   = 100 · (smooth[0] − smooth[1]) / smooth[1]
 * ```
 *
 * In percent per candle; `undefined` for the first `3 · n − 2` candles; 0 in a flat market, and if `smooth[1]` is 0.
 * Defaults: `n` 15, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000
 * and the source is valid.
 *
 * ```ts
 * import { ema, trix } from "pairstream";
 *
 * const turn = { trix: trix(15), signal: ema(9, { source: trix(15) }) };
 * ```
 */
export function trix(n = 15, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  const { ofSpan } = ExponentialAverage;
  return seriesIndicator(() => new SmoothedSlope(ofSpan(n), ofSpan(n), ofSpan(n)), options);
}

class SmoothedSlope implements SeriesKernel<number> {
  private last = Number.NaN;

  constructor(
    private readonly first: ExponentialAverage,
    private readonly second: ExponentialAverage,
    private readonly third: ExponentialAverage,
  ) {}

  push(value: number): number {
    const smooth = this.third.push(this.second.push(this.first.push(value)));
    const change = percentChange(smooth, this.last);
    this.last = smooth;
    return change;
  }

  peek(value: number): number {
    return percentChange(this.third.peek(this.second.peek(this.first.peek(value))), this.last);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): SmoothedSlope {
    const copy = new SmoothedSlope(this.first.fork(), this.second.fork(), this.third.fork());
    copy.last = this.last;
    return copy;
  }
}
