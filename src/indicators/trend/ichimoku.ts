import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLow } from "../rows.js";
import { SlidingExtreme } from "../windows/extreme.js";

/** Four lines of the Ichimoku chart, all of them prices, none displaced. */
export interface Ichimoku {
  /** Tenkan-sen, the conversion line. */
  readonly conversion: number;
  /** Kijun-sen, the base line. */
  readonly base: number;
  /** Senkou span A, one edge of the cloud. */
  readonly spanA: number;
  /** Senkou span B, the other edge of the cloud. */
  readonly spanB: number;
}

/**
 * Ichimoku kinkō hyō (Hosoda; TradingView's indicator of that name): midpoints of the extremes over three lengths.
 *
 * ```text
 * middle(n)  = (the highest high + the lowest low of n candles) / 2
 * conversion = middle(conversion)
 * base       = middle(base)
 * spanA      = (conversion + base) / 2
 * spanB      = middle(span)
 * ```
 *
 * All four values belong to the candle that they are computed at. TradingView draws the spans 25 candles later: its
 * displacement of 26 counts the candle itself. So the cloud that it draws at a candle is the spans of 25 candles ago.
 * Its fifth line (chikou span) is the close, drawn 25 candles earlier.
 *
 * `undefined` until the longest of the three windows is full; exactly the price in a flat market. Defaults:
 * `conversion` 9, `base` 26, `span` 52. Throws an `InvalidInputError` unless each of them is a whole number from 1 to
 * 100,000.
 *
 * ```ts
 * import { ichimoku } from "pairstream";
 *
 * const lines = ichimoku(9, 26, 52);
 * ```
 */
export function ichimoku(conversion = 9, base = 26, span = 52): Indicator<Ichimoku> {
  checkPeriod("conversion", conversion);
  checkPeriod("base", base);
  checkPeriod("span", span);
  const { of } = MiddleOfExtremes;
  return candleResultIndicator(
    () => new MiddleLines(of(conversion), of(base), of(span)),
    ["conversion", "base", "spanA", "spanB"],
  );
}

class MiddleLines implements CandleKernel<Ichimoku | undefined> {
  constructor(
    private readonly conversion: MiddleOfExtremes,
    private readonly base: MiddleOfExtremes,
    private readonly span: MiddleOfExtremes,
  ) {}

  push(candle: HighLow): Ichimoku | undefined {
    return linesOf(this.conversion.push(candle), this.base.push(candle), this.span.push(candle));
  }

  peek(candle: HighLow): Ichimoku | undefined {
    return linesOf(this.conversion.peek(candle), this.base.peek(candle), this.span.peek(candle));
  }

  fill({ high, low }: CandleColumns, { conversion, base, spanA, spanB }: ColumnsOf<Ichimoku>): void {
    for (let at = 0; at < high.length; at += 1) {
      const result = this.push({ high: high[at]!, low: low[at]! });
      conversion[at] = result?.conversion ?? Number.NaN;
      base[at] = result?.base ?? Number.NaN;
      spanA[at] = result?.spanA ?? Number.NaN;
      spanB[at] = result?.spanB ?? Number.NaN;
    }
  }

  fork(): MiddleLines {
    return new MiddleLines(this.conversion.fork(), this.base.fork(), this.span.fork());
  }
}

function linesOf(conversion: number, base: number, spanB: number): Ichimoku | undefined {
  const spanA = (conversion + base) / 2;
  return Number.isNaN(spanA + spanB) ? undefined : { conversion, base, spanA, spanB };
}

/** The midpoint of the highest high and the lowest low of the last `n` candles; NaN until there are `n`. */
class MiddleOfExtremes {
  private constructor(
    private readonly highest: SlidingExtreme,
    private readonly lowest: SlidingExtreme,
  ) {}

  static of(n: number): MiddleOfExtremes {
    return new MiddleOfExtremes(SlidingExtreme.highest(n), SlidingExtreme.lowest(n));
  }

  push({ high, low }: HighLow): number {
    return (this.highest.push(high) + this.lowest.push(low)) / 2;
  }

  peek({ high, low }: HighLow): number {
    return (this.highest.peek(high) + this.lowest.peek(low)) / 2;
  }

  fork(): MiddleOfExtremes {
    return new MiddleOfExtremes(this.highest.fork(), this.lowest.fork());
  }
}
