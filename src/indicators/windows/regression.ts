import { emptyBlock } from "./block.js";

/**
 * The least-squares line through the last `n` numbers, one step apart. `block.ts` explains the method. Weights run from
 * 1 for the oldest to `n`, as in `SlidingWeightedMean`.
 */
export class SlidingRegression {
  private at = 0;
  private anchor = 0;
  /** The sum, the weighted sum and the sum of squares of the current block so far, relative to the anchor. */
  private sum = 0;
  private weighted = 0;
  private squares = 0;
  /**
   * The sum of the squared distances of the steps from their middle. For `n` = 1 any number will do, because the slope
   * is 0.
   */
  private readonly steps: number;

  constructor(
    private readonly n: number,
    /** Three numbers per place: the sums from there to the end of the previous block. */
    private readonly block: number[] = emptyBlock(n, 3, 0),
  ) {
    this.steps = n === 1 ? 1 : (n * (n * n - 1)) / 12;
  }

  /** The mean of the numbers with `value` as the newest number; NaN until there are `n`. */
  mean(value: number): number {
    const { anchor } = this;
    return anchor + (this.block[this.at]! + (this.sum + (value - anchor))) / this.n;
  }

  /** The rise of the line per step with `value` as the newest number, 0 for `n` = 1; NaN until there are `n`. */
  slope(value: number): number {
    const { block, at, n } = this;
    const distance = value - this.anchor;
    const sum = block[at]! + (this.sum + distance);
    const weighted = block[at + 1]! + (n - 1 - at / 3) * this.sum + (this.weighted + n * distance);
    return (weighted - ((n + 1) / 2) * sum) / this.steps;
  }

  /** The variance of the numbers with `value` as the newest number, never negative; NaN until there are `n`. */
  variance(value: number): number {
    const { block, at, n } = this;
    const distance = value - this.anchor;
    const mean = (block[at]! + (this.sum + distance)) / n;
    const square = (block[at + 2]! + (this.squares + distance * distance)) / n;
    return Math.max(0, square - mean * mean);
  }

  /** Adds `value`. Ignores NaN. Read the results before: they take the newest number as an argument. */
  push(value: number): void {
    if (Number.isNaN(value)) return;
    const { block, at } = this;
    const distance = value - this.anchor;
    block[at] = value;
    this.sum += distance;
    this.weighted += (at / 3 + 1) * distance;
    this.squares += distance * distance;
    this.at = at + 3;
    if (at + 6 >= block.length) this.turn();
  }

  fork(): SlidingRegression {
    const copy = new SlidingRegression(this.n, this.block.slice());
    copy.at = this.at;
    copy.anchor = this.anchor;
    copy.sum = this.sum;
    copy.weighted = this.weighted;
    copy.squares = this.squares;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    const anchor = n === 1 ? 0 : block[3 * n - 6]!;
    let sum = 0;
    let weighted = 0;
    let squares = 0;
    block.fill(0, 3 * n - 3);
    for (let at = 3 * n - 6; at >= 0; at -= 3) {
      const distance = block[at]! - anchor;
      sum += distance;
      weighted += sum;
      squares += distance * distance;
      block[at] = sum;
      block[at + 1] = weighted;
      block[at + 2] = squares;
    }
    this.at = 0;
    this.anchor = anchor;
    this.sum = 0;
    this.weighted = 0;
    this.squares = 0;
  }
}
