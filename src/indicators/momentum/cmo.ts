import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import { type SeriesKernel, seriesIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { RelativeStrength } from "./rsi.js";

/**
 * The Chande momentum oscillator with Wilder's averages (TA-Lib's `CMO`): the rises less the falls, as a share of all
 * movement.
 *
 * ```text
 * up  = max(x[0] − x[1], 0)        down = max(x[1] − x[0], 0)
 * cmo = 100 · (rma(up) − rma(down)) / (rma(up) + rma(down)) = 2 · rsi − 100        rma: as `rma(n)`
 * ```
 *
 * Chande ("The New Technical Trader", 1994) and TradingView sum up the last `n` moves instead, so their values differ.
 * From −100 to 100, without a unit; `undefined` for the first `n` candles; 0 while the price has not moved yet.
 * Defaults: `n` 14, `source` the close. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000
 * and the source is valid.
 *
 * ```ts
 * import { cmo } from "pairstream";
 *
 * const balance = cmo(14, { source: "hlc3" });
 * ```
 */
export function cmo(n = 14, options?: SourceOptions): Indicator<number> {
  checkPeriod("n", n);
  return seriesIndicator(() => new MomentumBalance(RelativeStrength.over(n)), options);
}

class MomentumBalance implements SeriesKernel<number> {
  constructor(private readonly strength: RelativeStrength) {}

  push(value: number): number {
    return this.next(value, true);
  }

  peek(value: number): number {
    return this.next(value, false);
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): MomentumBalance {
    return new MomentumBalance(this.strength.fork());
  }

  private next(value: number, commits: boolean): number {
    return 2 * this.strength.next(value, commits) - 100;
  }
}
