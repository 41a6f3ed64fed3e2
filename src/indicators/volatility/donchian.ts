import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLow } from "../rows.js";
import { SlidingExtreme } from "../windows/extreme.js";

/** The range of the last candles; all in the unit of the price. */
export interface DonchianChannel {
  /** The highest high. */
  readonly upper: number;
  /** The midpoint of the two. */
  readonly middle: number;
  /** The lowest low. */
  readonly lower: number;
}

/**
 * The Donchian channel: the highest high and the lowest low of the last `n` candles (TradingView's Donchian Channels;
 * TA-Lib's `MAX` of the highs and `MIN` of the lows).
 *
 * ```text
 * upper  = max(high)                  over n candles
 * lower  = min(low)
 * middle = (upper + lower) / 2
 * ```
 *
 * The `n` candles include the newest, so no price lies outside: compare with the channel of the previous candle to see
 * a breakout. `undefined` for the first `n − 1` candles; exactly the price, all three, in a flat market. Default: `n`
 * 20. Throws an `InvalidInputError` unless `n` is a whole number from 1 to 100,000.
 *
 * ```ts
 * import { donchian } from "pairstream";
 *
 * const channel = donchian(20);
 * ```
 */
export function donchian(n = 20): Indicator<DonchianChannel> {
  checkPeriod("n", n);
  return candleResultIndicator(
    () => new ExtremesChannel(SlidingExtreme.highest(n), SlidingExtreme.lowest(n)),
    ["upper", "middle", "lower"],
  );
}

class ExtremesChannel implements CandleKernel<DonchianChannel | undefined> {
  constructor(
    private readonly highs: SlidingExtreme,
    private readonly lows: SlidingExtreme,
  ) {}

  push({ high, low }: HighLow): DonchianChannel | undefined {
    return between(this.lows.push(low), this.highs.push(high));
  }

  peek({ high, low }: HighLow): DonchianChannel | undefined {
    return between(this.lows.peek(low), this.highs.peek(high));
  }

  fill({ high, low }: CandleColumns, { upper, middle, lower }: ColumnsOf<DonchianChannel>): void {
    for (let at = 0; at < high.length; at += 1) {
      const result = this.push({ high: high[at]!, low: low[at]! });
      upper[at] = result?.upper ?? Number.NaN;
      middle[at] = result?.middle ?? Number.NaN;
      lower[at] = result?.lower ?? Number.NaN;
    }
  }

  fork(): ExtremesChannel {
    return new ExtremesChannel(this.highs.fork(), this.lows.fork());
  }
}

function between(lower: number, upper: number): DonchianChannel | undefined {
  if (Number.isNaN(lower)) return undefined;
  return { upper, middle: (upper + lower) / 2, lower };
}
