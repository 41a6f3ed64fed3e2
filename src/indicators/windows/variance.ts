import { emptyBlock } from "./block.js";

/**
 * The mean and the variance (of the population) of the last `n` numbers. For equal numbers both are exact. `block.ts`
 * explains the method.
 *
 * The variance is the mean square relative to the anchor, less the squared distance of the mean from the anchor. The
 * anchor is one of the numbers, so that squared distance is at most `n` variances. The subtraction therefore loses at
 * most a factor of `n + 1` in precision, for any numbers.
 */
export class SlidingVariance {
  private at = 0;
  private anchor = 0;
  /** The sum and the sum of squares of the current block so far, relative to the anchor. */
  private sum = 0;
  private squares = 0;
  private readonly inverse: number;

  constructor(
    private readonly n: number,
    /** Two numbers per place: the sum and the sum of squares from there to the end of the previous block. */
    private readonly block: number[] = emptyBlock(n, 2, 0),
  ) {
    this.inverse = 1 / n;
  }

  /** The mean with `value` as the newest number; NaN until there are `n`. */
  mean(value: number): number {
    const { anchor } = this;
    return anchor + (this.block[this.at]! + (this.sum + (value - anchor))) * this.inverse;
  }

  /** The variance with `value` as the newest number, never negative; NaN until there are `n`. */
  variance(value: number): number {
    const { block, at, inverse } = this;
    const distance = value - this.anchor;
    const mean = (block[at]! + (this.sum + distance)) * inverse;
    const square = (block[at + 1]! + (this.squares + distance * distance)) * inverse;
    return Math.max(0, square - mean * mean);
  }

  /** Adds `value`. Ignores NaN. Read the results before: they take the newest number as an argument. */
  push(value: number): void {
    if (Number.isNaN(value)) return;
    const { block, at } = this;
    const distance = value - this.anchor;
    block[at] = value;
    this.sum += distance;
    this.squares += distance * distance;
    this.at = at + 2;
    if (at + 4 >= block.length) this.turn();
  }

  /** What is asked, then `push`, for every value, block by block, as in `SlidingMean`, under the same conditions. */
  fill(values: Float64Array, means: Float64Array, variances: Float64Array): void {
    const { block, inverse } = this;
    const width = this.n - 1;
    const end = values.length - width;
    let row = 0;
    for (; row < values.length && this.at > 0; row += 1) this.ask(values[row]!, means, variances, row);
    if (width > 0 && row + width <= end) {
      let { anchor } = this;
      for (let at = 0; at < width; at += 1) {
        means[row + at] = block[2 * at]!;
        variances[row + at] = block[2 * at + 1]!;
      }
      for (; row + width <= end; row += width) {
        const last = values[row + width - 1]!;
        let sum = 0;
        let squares = 0;
        let restSum = 0;
        let restSquares = 0;
        for (let at = row, back = row + width - 1; back >= row; at += 1, back -= 1) {
          const distance = values[at]! - anchor;
          sum += distance;
          squares += distance * distance;
          const mean = (means[at]! + sum) * inverse;
          means[at] = anchor + mean;
          variances[at] = Math.max(0, (variances[at]! + squares) * inverse - mean * mean);
          const restDistance = values[back]! - last;
          restSum += restDistance;
          restSquares += restDistance * restDistance;
          means[back + width] = restSum;
          variances[back + width] = restSquares;
        }
        anchor = last;
      }
      this.anchor = anchor;
      for (let at = 0; at < width; at += 1) {
        block[2 * at] = means[row + at]!;
        block[2 * at + 1] = variances[row + at]!;
      }
    }
    for (; row < values.length; row += 1) this.ask(values[row]!, means, variances, row);
  }

  private ask(value: number, means: Float64Array, variances: Float64Array, row: number): void {
    means[row] = this.mean(value);
    variances[row] = this.variance(value);
    this.push(value);
  }

  fork(): SlidingVariance {
    const copy = new SlidingVariance(this.n, this.block.slice());
    copy.at = this.at;
    copy.anchor = this.anchor;
    copy.sum = this.sum;
    copy.squares = this.squares;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    const anchor = n === 1 ? 0 : block[2 * n - 4]!;
    let sum = 0;
    let squares = 0;
    block[2 * n - 2] = 0;
    block[2 * n - 1] = 0;
    for (let at = 2 * n - 4; at >= 0; at -= 2) {
      const distance = block[at]! - anchor;
      sum += distance;
      squares += distance * distance;
      block[at] = sum;
      block[at + 1] = squares;
    }
    this.at = 0;
    this.anchor = anchor;
    this.sum = 0;
    this.squares = 0;
  }
}
