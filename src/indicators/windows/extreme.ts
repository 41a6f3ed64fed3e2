import { emptyBlock } from "./block.js";

/** The largest or the smallest of the last `n` numbers. `block.ts` explains the method. */
export class SlidingExtreme {
  private at = 0;
  /**
   * The extreme of the current block so far. For the smallest, all numbers have the opposite sign, in the block too.
   */
  private best = -Infinity;

  private constructor(
    private readonly n: number,
    private readonly sign: number,
    private readonly block: number[] = emptyBlock(n, 1, -Infinity),
  ) {}

  static highest(n: number): SlidingExtreme {
    return new SlidingExtreme(n, 1);
  }

  static lowest(n: number): SlidingExtreme {
    return new SlidingExtreme(n, -1);
  }

  /**
   * The extreme with `value` as the newest number; NaN until there are `n`. What the window holds is compared first: that
   * is the same at each try of a candle. A difference of nothing makes NaN of NaN, faster than a branch.
   */
  peek(value: number): number {
    const { sign } = this;
    return sign * larger(sign * value, larger(this.best, this.block[this.at]!)) - (value - value);
  }

  /** Adds `value` and returns the extreme. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const { block, at, sign } = this;
    const best = larger(sign * value, this.best);
    const extreme = sign * larger(best, block[at]!);
    block[at] = sign * value;
    this.best = best;
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return extreme;
  }

  /** `push` for every value, block by block, as in `SlidingMean`, under the same conditions. */
  fill(values: Float64Array, out: Float64Array): void {
    const { block, sign } = this;
    const width = this.n - 1;
    const end = values.length - width;
    let row = 0;
    for (; row < values.length && (this.at > 0 || Number.isNaN(values[row])); row += 1) {
      out[row] = this.push(values[row]!);
    }
    if (width > 0 && row + width <= end) {
      for (let at = 0; at < width; at += 1) out[row + at] = block[at]!;
      for (; row + width <= end; row += width) {
        let best = -Infinity;
        let rest = -Infinity;
        for (let at = row, back = row + width - 1; back >= row; at += 1, back -= 1) {
          best = larger(sign * values[at]!, best);
          out[at] = sign * larger(best, out[at]!);
          rest = larger(rest, sign * values[back]!);
          out[back + width] = rest;
        }
      }
      for (let at = 0; at < width; at += 1) block[at] = out[row + at]!;
    }
    for (; row < values.length; row += 1) out[row] = this.push(values[row]!);
  }

  fork(): SlidingExtreme {
    const copy = new SlidingExtreme(this.n, this.sign, this.block.slice());
    copy.at = this.at;
    copy.best = this.best;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    let best = -Infinity;
    block[n - 1] = best;
    for (let at = n - 2; at >= 0; at -= 1) {
      best = larger(best, block[at]!);
      block[at] = best;
    }
    this.at = 0;
    this.best = -Infinity;
  }
}

/** NaN where `other` is. `Math.max` takes longer, because it also looks at the signs of zeros. */
function larger(one: number, other: number): number {
  // biome-ignore lint/complexity/useMathMinMax: see above.
  return one > other ? one : other;
}
