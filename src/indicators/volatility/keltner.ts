import type { Indicator } from "../kernel.js";
import { checkFactor, checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLowClose } from "../rows.js";
import { type SeriesKernel, seriesResultIndicator } from "../series-kernel.js";
import { ExponentialAverage } from "../smoothing.js";
import type { SourceOptions } from "../source.js";
import { AverageTrueRange } from "./atr.js";

/** A channel around an exponential average, as wide as the true range; all in the unit of the price. */
export interface KeltnerChannel {
  /** `factor` average true ranges above the middle. */
  readonly upper: number;
  /** The exponential average. */
  readonly middle: number;
  /** `factor` average true ranges below the middle. */
  readonly lower: number;
}

/**
 * The Keltner channel, as TradingView's indicator of that name draws it.
 *
 * ```text
 * middle = ema(n)
 * upper  = middle + factor · atr(atr)
 * lower  = middle − factor · atr(atr)
 * ```
 *
 * `undefined` for the first `max(n − 1, atr)` candles; exactly the price, all three, in a flat market. TradingView
 * counts `high − low` of the first candle as its range, which `atr` leaves out; the difference fades to a thousandth in
 * `7 · atr` candles. Defaults: `n` 20, `factor` 2, `atr` 10, `source` (of the middle) the close. Throws an
 * `InvalidInputError` unless `n` and `atr` are whole numbers from 1 to 100,000, `factor` is finite and at least 0, and
 * the source is valid.
 *
 * ```ts
 * import { keltner } from "pairstream";
 *
 * const channel = keltner(20, 1.5, 14, { source: "hlc3" });
 * ```
 */
export function keltner(n = 20, factor = 2, atr = 10, options?: SourceOptions): Indicator<KeltnerChannel> {
  checkPeriod("n", n);
  checkFactor("factor", factor);
  checkPeriod("atr", atr);
  return seriesResultIndicator(
    () => {
      const range = new AverageTrueRange(ExponentialAverage.ofWilder(atr));
      return new RangeChannel(factor, ExponentialAverage.ofSpan(n), range);
    },
    ["upper", "middle", "lower"],
    options,
  );
}

class RangeChannel implements SeriesKernel<KeltnerChannel | undefined> {
  constructor(
    private readonly factor: number,
    private readonly average: ExponentialAverage,
    private readonly range: AverageTrueRange,
  ) {}

  push(value: number, candle: HighLowClose): KeltnerChannel | undefined {
    return this.channel(this.average.push(value), this.range.push(candle));
  }

  peek(value: number, candle: HighLowClose): KeltnerChannel | undefined {
    return this.channel(this.average.peek(value), this.range.peek(candle));
  }

  fill(
    values: Float64Array,
    { upper, middle, lower }: ColumnsOf<KeltnerChannel>,
    { high, low, close }: CandleColumns,
  ): void {
    for (let at = 0; at < values.length; at += 1) {
      const result = this.push(values[at]!, { high: high[at]!, low: low[at]!, close: close[at]! });
      upper[at] = result?.upper ?? Number.NaN;
      middle[at] = result?.middle ?? Number.NaN;
      lower[at] = result?.lower ?? Number.NaN;
    }
  }

  fork(): RangeChannel {
    return new RangeChannel(this.factor, this.average.fork(), this.range.fork());
  }

  private channel(middle: number, range: number): KeltnerChannel | undefined {
    const reach = this.factor * range;
    if (Number.isNaN(middle + reach)) return undefined;
    return { upper: middle + reach, middle, lower: middle - reach };
  }
}
