import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";

/** The difference of two averages, its own average, and the difference of both; all in the unit of the source. */
export interface Macd {
  /** The fast average less the slow one. */
  readonly macd: number;
  /** The exponential average of `macd`. */
  readonly signal: number;
  /** `macd` less `signal`. */
  readonly histogram: number;
}

/**
 * The moving average convergence/divergence (Appel; TA-Lib's `MACD`).
 *
 * ```text
 * macd      = ema(x, fast) − ema(x, slow)
 * signal    = ema(macd, signal)
 * histogram = macd − signal
 * ```
 *
 * In the unit of the source; `undefined` for the first `slow + signal − 2` candles; all 0 in a flat market. Each of the
 * three averages begins as the mean of its own first numbers. TA-Lib begins the fast one together with the slow one;
 * that difference fades by a factor of 1e9 about every `10 · fast` candles. Defaults: `fast` 12, `slow` 26, `signal` 9,
 * `source` the close. Throws an `InvalidInputError` unless each number is whole and from 1 to 100,000, `fast` is at
 * most `slow`, and the source is valid.
 *
 * ```ts
 * import { macd, withIndicators } from "pairstream";
 *
 * const trend = withIndicators({ macd: macd(12, 26, 9) });
 * ```
 */
export function macd(fast = 12, slow = 26, signal = 9, options?: SourceOptions): Indicator<Macd> {
  checkPeriod("slow", slow);
  checkPeriod("fast", fast, { max: slow });
  checkPeriod("signal", signal);
  const { ofSpan } = ExponentialAverage;
  return seriesResultIndicator(() => new Convergence(ofSpan(fast), ofSpan(slow), ofSpan(signal)), options);
}

class Convergence implements SeriesKernel<Macd | undefined> {
  constructor(
    private readonly fast: ExponentialAverage,
    private readonly slow: ExponentialAverage,
    private readonly signal: ExponentialAverage,
  ) {}

  push(value: number): Macd | undefined {
    const distance = this.fast.push(value) - this.slow.push(value);
    const signal = this.signal.push(distance);
    return Number.isNaN(signal) ? undefined : { macd: distance, signal, histogram: distance - signal };
  }

  peek(value: number): Macd | undefined {
    const distance = this.fast.peek(value) - this.slow.peek(value);
    const signal = this.signal.peek(distance);
    return Number.isNaN(signal) ? undefined : { macd: distance, signal, histogram: distance - signal };
  }

  fork(): Convergence {
    return new Convergence(this.fast.fork(), this.slow.fork(), this.signal.fork());
  }
}
