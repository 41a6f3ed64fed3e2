import { emptyBlock } from "./block.js";

/** The mean of the last `n` numbers. For equal numbers it is exact. `block.ts` explains the method. */
export class SlidingMean {
  private at = 0;
  private anchor = 0;
  /** The sum of the current block so far, relative to the anchor. */
  private sum = 0;
  private readonly inverse: number;

  constructor(
    private readonly n: number,
    private readonly block: number[] = emptyBlock(n, 1, 0),
  ) {
    this.inverse = 1 / n;
  }

  /** The mean with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    const { anchor } = this;
    return anchor + (this.block[this.at]! + (this.sum + (value - anchor))) * this.inverse;
  }

  /** Adds `value` and returns the mean. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const { block, at, anchor } = this;
    const sum = this.sum + (value - anchor);
    const mean = anchor + (block[at]! + sum) * this.inverse;
    block[at] = value;
    this.sum = sum;
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return mean;
  }

  /**
   * `push` for every value; NaN only before the first number, and `out` another array. A block stands in `values` as it
   * is, so while its means are written, its sums are taken from the end as well, and wait in `out` for the next block.
   */
  fill(values: Float64Array, out: Float64Array): void {
    const { block, inverse } = this;
    const width = this.n - 1;
    const end = values.length - width;
    let row = 0;
    for (; row < values.length && (this.at > 0 || Number.isNaN(values[row])); row += 1) {
      out[row] = this.push(values[row]!);
    }
    if (width > 0 && row + width <= end) {
      let { anchor } = this;
      for (let at = 0; at < width; at += 1) out[row + at] = block[at]!;
      for (; row + width <= end; row += width) {
        const last = values[row + width - 1]!;
        let sum = 0;
        let rest = 0;
        for (let at = row, back = row + width - 1; back >= row; at += 1, back -= 1) {
          sum += values[at]! - anchor;
          out[at] = anchor + (out[at]! + sum) * inverse;
          rest += values[back]! - last;
          out[back + width] = rest;
        }
        anchor = last;
      }
      this.anchor = anchor;
      for (let at = 0; at < width; at += 1) block[at] = out[row + at]!;
    }
    for (; row < values.length; row += 1) out[row] = this.push(values[row]!);
  }

  fork(): SlidingMean {
    const copy = new SlidingMean(this.n, this.block.slice());
    copy.at = this.at;
    copy.anchor = this.anchor;
    copy.sum = this.sum;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    const anchor = n === 1 ? 0 : block[n - 2]!;
    let sum = 0;
    block[n - 1] = 0;
    for (let at = n - 2; at >= 0; at -= 1) {
      sum += block[at]! - anchor;
      block[at] = sum;
    }
    this.at = 0;
    this.anchor = anchor;
    this.sum = 0;
  }
}
