import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { ColumnsOf } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";
import { percentChange } from "./percent-change.js";

/** The difference of two averages in percent, its own average, and the difference of both. */
export interface Ppo {
  /** The fast average less the slow one, in percent of the slow one. */
  readonly ppo: number;
  /** The exponential average of `ppo`, in percent. */
  readonly signal: number;
  /** `ppo` less `signal`, in percent. */
  readonly histogram: number;
}

/**
 * The percentage price oscillator (TradingView): the MACD in percent of its slow average, so pairs at any price level
 * compare.
 *
 * ```text
 * ppo       = 100 · (ema(x, fast) − ema(x, slow)) / ema(x, slow)
 * signal    = ema(ppo, signal)
 * histogram = ppo − signal
 * ```
 *
 * In percent; `undefined` for the first `slow + signal − 2` candles; all 0 in a flat market, and `ppo` is 0 if the slow
 * average is 0. Each of the averages begins as the mean of its own first numbers. Defaults: `fast` 12, `slow` 26,
 * `signal` 9, `source` the close. Throws an `InvalidInputError` unless each number is whole and from 1 to 100,000,
 * `fast` is at most `slow`, and the source is valid.
 *
 * ```ts
 * import { ppo } from "pairstream";
 *
 * const comparable = ppo(12, 26, 9);
 * ```
 */
export function ppo(fast = 12, slow = 26, signal = 9, options?: SourceOptions): Indicator<Ppo> {
  checkPeriod("slow", slow);
  checkPeriod("fast", fast, { max: slow });
  checkPeriod("signal", signal);
  const { ofSpan } = ExponentialAverage;
  return seriesResultIndicator(
    () => new PercentConvergence(ofSpan(fast), ofSpan(slow), ofSpan(signal)),
    ["ppo", "signal", "histogram"],
    options,
  );
}

class PercentConvergence implements SeriesKernel<Ppo | undefined> {
  constructor(
    private readonly fast: ExponentialAverage,
    private readonly slow: ExponentialAverage,
    private readonly signal: ExponentialAverage,
  ) {}

  push(value: number): Ppo | undefined {
    const distance = percentChange(this.fast.push(value), this.slow.push(value));
    return resultOf(distance, this.signal.push(distance));
  }

  peek(value: number): Ppo | undefined {
    const distance = percentChange(this.fast.peek(value), this.slow.peek(value));
    return resultOf(distance, this.signal.peek(distance));
  }

  fill(values: Float64Array, { ppo, signal, histogram }: ColumnsOf<Ppo>): void {
    for (let at = 0; at < values.length; at += 1) {
      const result = this.push(values[at]!);
      ppo[at] = result?.ppo ?? Number.NaN;
      signal[at] = result?.signal ?? Number.NaN;
      histogram[at] = result?.histogram ?? Number.NaN;
    }
  }

  fork(): PercentConvergence {
    return new PercentConvergence(this.fast.fork(), this.slow.fork(), this.signal.fork());
  }
}

function resultOf(distance: number, signal: number): Ppo | undefined {
  return Number.isNaN(signal) ? undefined : { ppo: distance, signal, histogram: distance - signal };
}
