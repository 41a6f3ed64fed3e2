import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { ColumnsOf } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import type { SourceOptions } from "../source.js";
import { RelativeStrength } from "./rsi.js";
import { RangePosition, type Stochastic } from "./stochastic.js";

/**
 * The stochastic RSI (Chande and Kroll, "The New Technical Trader", 1994; smoothed as on TradingView): the position of
 * the RSI within its own recent range.
 *
 * ```text
 * r   = rsi(x, rsi)
 * raw = 100 · (r − lowest(r, stochastic)) / (highest(r, stochastic) − lowest(r, stochastic))
 * k   = sma(raw, k)
 * d   = sma(k, d)
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `rsi + stochastic + k + d − 3` candles. `raw` is 50 while
 * the RSI does not change, as in a gap without swaps. TA-Lib's `STOCHRSI` leaves out the first smoothing, and gives 0
 * there. Defaults: `rsi` 14, `stochastic` 14, `k` 3, `d` 3, `source` the close. Throws an `InvalidInputError` unless
 * each number is whole and from 1 to 100,000, and the source is valid.
 *
 * ```ts
 * import { stochRsi } from "pairstream";
 *
 * const nervous = stochRsi(14, 14, 3, 3);
 * ```
 */
export function stochRsi(
  rsi = 14,
  stochastic = 14,
  k = 3,
  d = 3,
  options?: SourceOptions,
): Indicator<Stochastic> {
  checkPeriod("rsi", rsi);
  checkPeriod("stochastic", stochastic);
  checkPeriod("k", k);
  checkPeriod("d", d);
  return seriesResultIndicator(
    () => new StochasticOfStrength(RelativeStrength.over(rsi), RangePosition.over(stochastic, k, d)),
    ["k", "d"],
    options,
  );
}

class StochasticOfStrength implements SeriesKernel<Stochastic | undefined> {
  constructor(
    private readonly strength: RelativeStrength,
    private readonly position: RangePosition,
  ) {}

  push(value: number): Stochastic | undefined {
    const strength = this.strength.push(value);
    return this.position.push(strength, strength, strength);
  }

  peek(value: number): Stochastic | undefined {
    const strength = this.strength.peek(value);
    return this.position.peek(strength, strength, strength);
  }

  fill(values: Float64Array, out: ColumnsOf<Stochastic>): void {
    const strengths = new Float64Array(values.length);
    this.strength.fill(values, strengths);
    this.position.fill(strengths, strengths, strengths, out);
  }

  fork(): StochasticOfStrength {
    return new StochasticOfStrength(this.strength.fork(), this.position.fork());
  }
}
