import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { History } from "../windows/history.js";

/**
 * The momentum (TA-Lib's `MOM`): the price less the price `n` candles ago.
 *
 * ```text
 * momentum = x[0] − x[n]        x[i]: the number i candles ago
 * ```
 *
 * In the unit of the source; `undefined` for the first `n` candles; 0 in a flat market. Defaults: `n` 10, `source` the
 * close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000 and the source is valid.
 *
 * ```ts
 * import { momentum } from "pairstream";
 *
 * const push = momentum(10);
 * ```
 */
export function momentum(n = 10, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new Distance(n, new History(n)), options);
}

class Distance implements SeriesKernel<number> {
  constructor(
    private readonly n: number,
    private readonly history: History,
  ) {}

  peek(value: number): number {
    return value - this.history.ago(this.n);
  }

  push(value: number): number {
    const distance = this.peek(value);
    this.history.push(value);
    return distance;
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): Distance {
    return new Distance(this.n, this.history.fork());
  }
}
