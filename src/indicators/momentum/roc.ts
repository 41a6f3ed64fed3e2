import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { History } from "../windows/history.js";
import { percentChange } from "./percent-change.js";

/**
 * The rate of change (TA-Lib's `ROC`): the change of the price over `n` candles, in percent.
 *
 * ```text
 * roc = 100 · (x[0] − x[n]) / x[n]        x[i]: the number i candles ago
 * ```
 *
 * In percent, for prices never below −100; `undefined` for the first `n` candles; 0 in a flat market, and if `x[n]` is
 * 0. Defaults: `n` 10, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000
 * and the source is valid.
 *
 * ```ts
 * import { roc } from "pairstream";
 *
 * const growth = roc(10);
 * ```
 */
export function roc(n = 10, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new RateOfChange(n, new History(n)), options);
}

class RateOfChange implements SeriesKernel<number> {
  constructor(
    private readonly n: number,
    private readonly history: History,
  ) {}

  peek(value: number): number {
    return percentChange(value, this.history.ago(this.n));
  }

  push(value: number): number {
    const change = this.peek(value);
    this.history.push(value);
    return change;
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): RateOfChange {
    return new RateOfChange(this.n, this.history.fork());
  }
}
