import { emptyBlock } from "./block.js";

/**
 * The weighted mean of the last `n` numbers: the oldest has weight 1, the newest weight `n`. For equal numbers it is
 * exact. `block.ts` explains the method.
 *
 * Each sum starts its weights at 1. If `m` older numbers of the previous block come before the current block, each of
 * its numbers weighs `m` more, and so does the newest.
 */
export class SlidingWeightedMean {
  private at = 0;
  private anchor = 0;
  /** The sum and the weighted sum of the current block so far, relative to the anchor. */
  private sum = 0;
  private weighted = 0;
  private readonly inverse: number;

  constructor(
    private readonly n: number,
    /** The weighted sum from each place of the previous block to its end. */
    private readonly block: number[] = emptyBlock(n, 1, 0),
  ) {
    this.inverse = 2 / (n * (n + 1));
  }

  /** The weighted mean with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    const { at, anchor, n } = this;
    const older = this.block[at]! + (n - 1 - at) * this.sum;
    return anchor + (older + this.weighted + n * (value - anchor)) * this.inverse;
  }

  /** Adds `value` and returns the weighted mean. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const mean = this.peek(value);
    const { at, anchor } = this;
    this.block[at] = value;
    this.sum += value - anchor;
    this.weighted += (at + 1) * (value - anchor);
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return mean;
  }

  fill(values: Float64Array, out: Float64Array): void {
    for (let at = 0; at < values.length; at += 1) out[at] = this.push(values[at]!);
  }

  fork(): SlidingWeightedMean {
    const copy = new SlidingWeightedMean(this.n, this.block.slice());
    copy.at = this.at;
    copy.anchor = this.anchor;
    copy.sum = this.sum;
    copy.weighted = this.weighted;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    const anchor = n === 1 ? 0 : block[n - 2]!;
    let sum = 0;
    let weighted = 0;
    block[n - 1] = 0;
    for (let at = n - 2; at >= 0; at -= 1) {
      // One place further from the end, every number weighs one more.
      sum += block[at]! - anchor;
      weighted += sum;
      block[at] = weighted;
    }
    this.at = 0;
    this.anchor = anchor;
    this.sum = 0;
    this.weighted = 0;
  }
}
