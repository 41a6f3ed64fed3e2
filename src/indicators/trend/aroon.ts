import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLow } from "../rows.js";
import { SlidingExtremeAge } from "../windows/extreme-age.js";

/** How recent the extremes are, from 0, `n` candles old, to 100, the newest candle. */
export interface Aroon {
  /** 100 if the newest candle has the highest high, 0 if the highest high is `n` candles old. */
  readonly up: number;
  /** 100 if the newest candle has the lowest low, 0 if the lowest low is `n` candles old. */
  readonly down: number;
  /** `up − down`, from −100 to 100. */
  readonly oscillator: number;
}

/**
 * Aroon (Chande 1995; TA-Lib's `AROON` and `AROONOSC`): how many candles ago the highest high and the lowest low came.
 *
 * ```text
 * up         = 100 · (n − age of the highest high) / n        over n + 1 candles; the newest is of age 0
 * down       = 100 · (n − age of the lowest low) / n
 * oscillator = up − down
 * ```
 *
 * Among equal extremes the most recent counts. So in a flat market `up` and `down` are 100 and the oscillator 0.
 * `undefined` for the first `n` candles. Default: `n` 14. Throws an `InvalidInputError` unless `n` is a whole number
 * from 1 to 100,000.
 *
 * ```ts
 * import { aroon } from "pairstream";
 *
 * const freshness = aroon(25);
 * ```
 */
export function aroon(n = 14): Indicator<Aroon> {
  checkPeriod("n", n);
  return candleResultIndicator(
    () => new ExtremeFreshness(n, SlidingExtremeAge.ofHighest(n + 1), SlidingExtremeAge.ofLowest(n + 1)),
    ["up", "down", "oscillator"],
  );
}

class ExtremeFreshness implements CandleKernel<Aroon | undefined> {
  constructor(
    private readonly n: number,
    private readonly highest: SlidingExtremeAge,
    private readonly lowest: SlidingExtremeAge,
  ) {}

  push(candle: HighLow): Aroon | undefined {
    return this.resultOf(this.highest.push(candle.high), this.lowest.push(candle.low));
  }

  peek(candle: HighLow): Aroon | undefined {
    return this.resultOf(this.highest.peek(candle.high), this.lowest.peek(candle.low));
  }

  fill({ high, low }: CandleColumns, { up, down, oscillator }: ColumnsOf<Aroon>): void {
    for (let at = 0; at < high.length; at += 1) {
      const result = this.push({ high: high[at]!, low: low[at]! });
      up[at] = result?.up ?? Number.NaN;
      down[at] = result?.down ?? Number.NaN;
      oscillator[at] = result?.oscillator ?? Number.NaN;
    }
  }

  fork(): ExtremeFreshness {
    return new ExtremeFreshness(this.n, this.highest.fork(), this.lowest.fork());
  }

  private resultOf(sinceHighest: number, sinceLowest: number): Aroon | undefined {
    if (Number.isNaN(sinceHighest)) return undefined;
    const { n } = this;
    return {
      up: (100 * (n - sinceHighest)) / n,
      down: (100 * (n - sinceLowest)) / n,
      oscillator: (100 * (sinceLowest - sinceHighest)) / n,
    };
  }
}
