import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import { SlidingMean } from "../windows/mean.js";

/**
 * The awesome oscillator (Bill Williams, "New Trading Dimensions", 1998; TradingView): the difference of two averages
 * of the candles' midpoints.
 *
 * ```text
 * middle            = (high + low) / 2
 * awesomeOscillator = sma(middle, fast) − sma(middle, slow)
 * ```
 *
 * In the unit of the price; `undefined` for the first `slow − 1` candles; exactly 0 in a flat market. Defaults: `fast`
 * 5, `slow` 34. Throws an `InvalidInputError` unless each number is whole and from 1 to 100,000, and `fast` is at most
 * `slow`.
 *
 * ```ts
 * import { awesomeOscillator } from "pairstream";
 *
 * const drive = awesomeOscillator(5, 34);
 * ```
 */
export function awesomeOscillator(fast = 5, slow = 34): Indicator<number> {
  checkPeriod("slow", slow);
  checkPeriod("fast", fast, { max: slow });
  return seriesIndicator(
    () => new DistanceOfMeans(new SlidingMean(fast), new SlidingMean(slow)),
    undefined,
    "hl2",
  );
}

class DistanceOfMeans implements SeriesKernel<number> {
  constructor(
    private readonly fast: SlidingMean,
    private readonly slow: SlidingMean,
  ) {}

  push(value: number): number {
    return this.fast.push(value) - this.slow.push(value);
  }

  peek(value: number): number {
    return this.fast.peek(value) - this.slow.peek(value);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): DistanceOfMeans {
    return new DistanceOfMeans(this.fast.fork(), this.slow.fork());
  }
}
