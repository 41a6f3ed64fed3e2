import { checkNumber } from "../../contract/input.js";
import { type CandleKernel, candleIndicator } from "../candle-kernel.js";
import type { Indicator } from "../kernel.js";
import type { CandleColumns, HighLow } from "../rows.js";

/**
 * The parabolic stop and reverse (Wilder 1978; TA-Lib's `SAR`): a stop that follows the trend at a growing speed, and
 * changes sides when the price touches it.
 *
 * ```text
 * while the price rises:
 * stop = min(stop' + acceleration · (extreme − stop'), low', low'')        those of one and of two candles before
 *        extreme: the highest high since the trend began
 *        acceleration: step, and step more at each new extreme, up to max
 * where low ≤ stop the trend turns: stop = max(extreme, high', high), acceleration = step
 * while it falls: the same upside down
 * ```
 *
 * The value is a price: below the candle in a rising trend, above it in a falling trend. `undefined` for the first
 * candle. At the second candle the trend falls if the low fell by more than the high rose; else it rises. The price
 * itself in a flat market. Defaults: `step` 0.02, `max` 0.2. Throws an `InvalidInputError` unless `max` is from 0 to 1
 * and `step` from 0 to `max`.
 *
 * ```ts
 * import { psar } from "pairstream";
 *
 * const stops = { usual: psar(), patient: psar(0.01, 0.1) };
 * ```
 */
export function psar(step = 0.02, max = 0.2): Indicator<number> {
  checkNumber("max", max, { min: 0, max: 1 });
  checkNumber("step", step, { min: 0, max });
  return candleIndicator(() => new ParabolicStop(step, max));
}

/**
 * Prices carry the sign of the trend, so one formula serves both directions, and larger always means further into the
 * trend. `near` is the end of the candle on the side of the stop; `far` is the end at which the trend makes its
 * extremes.
 */
class ParabolicStop implements CandleKernel<number> {
  /** 1 in a rising trend, −1 in a falling one, 0 until the second candle. */
  private side = 0;
  /** The stop for the next candle. */
  private stop = Number.NaN;
  private extreme = Number.NaN;
  private acceleration = Number.NaN;
  /** The ends of the previous candle. */
  private near = Number.NaN;
  private far = Number.NaN;

  constructor(
    private readonly step: number,
    private readonly max: number,
  ) {}

  push(candle: HighLow): number {
    const { side, stop } = this;
    if (side === 0) return this.pushFirst(candle);
    const near = side > 0 ? candle.low : -candle.high;
    const far = side > 0 ? candle.high : -candle.low;
    if (near <= stop) return this.turn(near, far);
    if (far > this.extreme) {
      this.extreme = far;
      this.acceleration = Math.min(this.max, this.acceleration + this.step);
    }
    this.follow(near, far, this.near);
    return side * stop;
  }

  peek(candle: HighLow): number {
    const { side, stop } = this;
    if (side === 0) return this.fork().push(candle);
    const near = side > 0 ? candle.low : -candle.high;
    if (near > stop) return side * stop;
    return side * Math.max(this.extreme, this.far, side > 0 ? candle.high : -candle.low);
  }

  fill({ high, low }: CandleColumns, out: Float64Array): void {
    for (let at = 0; at < out.length; at += 1) out[at] = this.push({ high: high[at]!, low: low[at]! });
  }

  fork(): ParabolicStop {
    const copy = new ParabolicStop(this.step, this.max);
    copy.side = this.side;
    copy.stop = this.stop;
    copy.extreme = this.extreme;
    copy.acceleration = this.acceleration;
    copy.near = this.near;
    copy.far = this.far;
    return copy;
  }

  /** Sets the stop for the next candle. */
  private follow(near: number, far: number, nearBefore: number): void {
    this.stop = Math.min(this.stop + this.acceleration * (this.extreme - this.stop), nearBefore, near);
    this.near = near;
    this.far = far;
  }

  /** Changes sides; this candle is the first of the new trend. Returns its stop. */
  private turn(near: number, far: number): number {
    const { side } = this;
    const farBefore = this.far;
    const stop = Math.max(this.extreme, farBefore, far);
    this.side = -side;
    this.stop = -stop;
    this.extreme = -near;
    this.acceleration = this.step;
    this.follow(-far, -near, -farBefore);
    return side * stop;
  }

  private pushFirst(candle: HighLow): number {
    const { low, high } = candle;
    const [lowBefore, highBefore] = [this.near, this.far];
    const isSecond = !Number.isNaN(lowBefore);
    const isFalling = lowBefore > low && lowBefore - low > high - highBefore;
    // TA-Lib uses the second candle also as its own predecessor.
    this.near = isFalling ? -high : low;
    this.far = isFalling ? -low : high;
    if (!isSecond) return Number.NaN;
    this.side = isFalling ? -1 : 1;
    this.stop = isFalling ? -highBefore : lowBefore;
    this.extreme = this.far;
    this.acceleration = this.step;
    return this.push(candle);
  }
}
