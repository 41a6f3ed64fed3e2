import { type CandleKernel, candleResultIndicator } from "../candle-kernel.js";
import { LARGEST } from "../finite.js";
import type { Indicator } from "../kernel.js";
import { checkPeriod } from "../parameters.js";
import type { CandleColumns, ColumnsOf, HighLowClose } from "../rows.js";
import { SlidingExtreme } from "../windows/extreme.js";
import { SlidingMean } from "../windows/mean.js";

/** Where the newest number is within its recent range, from 0, at the bottom, to 100, at the top. */
export interface Stochastic {
  /** The position, smoothed once. */
  readonly k: number;
  /** `k`, smoothed again: the signal line. */
  readonly d: number;
}

/**
 * The stochastic oscillator (Lane; TA-Lib's `STOCH` with simple averages): the position of the close within the range
 * of the last `k` candles.
 *
 * ```text
 * raw = 100 · (close − lowest(low, k)) / (highest(high, k) − lowest(low, k))
 * k   = sma(raw, smooth)
 * d   = sma(k, d)
 * ```
 *
 * From 0 to 100, without a unit; `undefined` for the first `k + smooth + d − 3` candles. `raw` is 50 if the range is 0,
 * where TA-Lib gives 0. With `smooth` 1 it is the fast stochastic. Defaults: `k` 14, `smooth` 3, `d` 3. Throws an
 * `InvalidInputError` unless each number is whole and from 1 to 100,000.
 *
 * ```ts
 * import { stochastic } from "pairstream";
 *
 * const slow = stochastic(14, 3, 3);
 * const fast = stochastic(14, 1, 3);
 * ```
 */
export function stochastic(k = 14, smooth = 3, d = 3): Indicator<Stochastic> {
  checkPeriod("k", k);
  checkPeriod("smooth", smooth);
  checkPeriod("d", d);
  return candleResultIndicator(() => new StochasticOfCandles(RangePosition.over(k, smooth, d)), ["k", "d"]);
}

class StochasticOfCandles implements CandleKernel<Stochastic | undefined> {
  constructor(private readonly position: RangePosition) {}

  push({ high, low, close }: HighLowClose): Stochastic | undefined {
    return this.position.push(high, low, close);
  }

  peek({ high, low, close }: HighLowClose): Stochastic | undefined {
    return this.position.peek(high, low, close);
  }

  fill({ high, low, close }: CandleColumns, out: ColumnsOf<Stochastic>): void {
    this.position.fill(high, low, close, out);
  }

  fork(): StochasticOfCandles {
    return new StochasticOfCandles(this.position.fork());
  }
}

/** The position of a number between the extremes of two series, smoothed twice. NaN leaves the state unchanged. */
export class RangePosition {
  private constructor(
    private readonly highest: SlidingExtreme,
    private readonly lowest: SlidingExtreme,
    private readonly smooth: SlidingMean,
    private readonly signal: SlidingMean,
  ) {}

  static over(n: number, smooth: number, signal: number): RangePosition {
    return new RangePosition(
      SlidingExtreme.highest(n),
      SlidingExtreme.lowest(n),
      new SlidingMean(smooth),
      new SlidingMean(signal),
    );
  }

  push(high: number, low: number, value: number): Stochastic | undefined {
    const k = this.smooth.push(positionIn(this.highest.push(high), this.lowest.push(low), value));
    const d = this.signal.push(k);
    return Number.isNaN(d) ? undefined : { k, d };
  }

  peek(high: number, low: number, value: number): Stochastic | undefined {
    const k = this.smooth.peek(positionIn(this.highest.peek(high), this.lowest.peek(low), value));
    const d = this.signal.peek(k);
    return Number.isNaN(d) ? undefined : { k, d };
  }

  /** The lines of `push` again, window by window; `k` and `d` hold what goes from one to the next. */
  fill(highs: Float64Array, lows: Float64Array, values: Float64Array, { k, d }: ColumnsOf<Stochastic>): void {
    this.highest.fill(highs, k);
    this.lowest.fill(lows, d);
    let total = 0;
    for (let at = 0; at < values.length; at += 1) {
      const position = positionIn(k[at]!, d[at]!, values[at]!);
      d[at] = position;
      total += Number.isNaN(position) ? 0 : Math.abs(position);
    }
    if (total <= LARGEST) {
      this.smooth.fill(d, k);
      this.signal.fill(k, d);
    } else {
      // Numbers far outside of a tiny range: a mean of them may be none.
      for (let at = 0; at < values.length; at += 1) {
        k[at] = this.smooth.push(d[at]!);
        d[at] = this.signal.push(k[at]!);
      }
    }
    for (let at = 0; at < values.length; at += 1) if (Number.isNaN(d[at])) k[at] = Number.NaN;
  }

  fork(): RangePosition {
    const { highest, lowest, smooth, signal } = this;
    return new RangePosition(highest.fork(), lowest.fork(), smooth.fork(), signal.fork());
  }
}

function positionIn(highest: number, lowest: number, value: number): number {
  const range = highest - lowest;
  return range === 0 ? 50 : 100 * ((value - lowest) / range);
}
