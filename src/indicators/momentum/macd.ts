import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { ColumnsOf } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import { ExponentialAverage, faded } from "../smoothing.js";
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
  return seriesResultIndicator(
    () => new Convergence(ofSpan(fast), ofSpan(slow), ofSpan(signal)),
    ["macd", "signal", "histogram"],
    options,
  );
}

class Convergence implements SeriesKernel<Macd | undefined> {
  constructor(
    private readonly fast: ExponentialAverage,
    private readonly slow: ExponentialAverage,
    private readonly signal: ExponentialAverage,
  ) {}

  push(value: number): Macd | undefined {
    const distance = this.fast.push(value) - this.slow.push(value);
    return resultOf(distance, this.signal.push(distance));
  }

  peek(value: number): Macd | undefined {
    const distance = this.fast.peek(value) - this.slow.peek(value);
    return resultOf(distance, this.signal.peek(distance));
  }

  /** The lines of `next` again: its object would be made after all, and take as long as the rest. */
  fill(values: Float64Array, { macd, signal, histogram }: ColumnsOf<Macd>): void {
    let at = 0;
    for (; at < values.length && !this.isSteady; at += 1) {
      const result = this.push(values[at]!);
      macd[at] = result?.macd ?? Number.NaN;
      signal[at] = result?.signal ?? Number.NaN;
      histogram[at] = result?.histogram ?? Number.NaN;
    }
    const [fastKeep, slowKeep, signalKeep] = [this.fast.keep, this.slow.keep, this.signal.keep];
    let fast = this.fast.average;
    let slow = this.slow.average;
    let average = this.signal.average;
    for (; at < values.length; at += 1) {
      const value = values[at]!;
      fast = faded(fast, value, fastKeep);
      slow = faded(slow, value, slowKeep);
      const distance = fast - slow;
      average = faded(average, distance, signalKeep);
      macd[at] = distance;
      signal[at] = average;
      histogram[at] = distance - average;
    }
    this.fast.average = fast;
    this.slow.average = slow;
    this.signal.average = average;
  }

  fork(): Convergence {
    return new Convergence(this.fast.fork(), this.slow.fork(), this.signal.fork());
  }

  private get isSteady(): boolean {
    return this.fast.isSteady && this.slow.isSteady && this.signal.isSteady;
  }
}

function resultOf(distance: number, signal: number): Macd | undefined {
  return Number.isNaN(signal) ? undefined : { macd: distance, signal, histogram: distance - signal };
}
