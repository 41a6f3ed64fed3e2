import { emptyBlock } from "./block.js";

/**
 * The mean of the last `n` numbers weighted 1 for the oldest to `n` for the newest; of equal ones exact. See
 * `block.ts` for how.
 *
 * Sums are weighted from 1 at their own beginning: those of the running block, once `m` older numbers stand before
 * them, weigh `m` more, and so does the newest.
 */
export class SlidingWeightedMean {
  private at = 0;
  private anchor = 0;
  /** Of the running block, about the anchor: the sum, and the weighted one. */
  private sum = 0;
  private weighted = 0;
  private readonly inverse: number;

  constructor(
    private readonly n: number,
    /** The weighted sum from each place of the block before to its end. */
    private readonly block: number[] = emptyBlock(n, 1, 0),
  ) {
    this.inverse = 2 / (n * (n + 1));
  }

  /** The weighted mean once `value` is the newest; NaN until there are `n`. */
  peek(value: number): number {
    const { at, anchor, n } = this;
    const older = this.block[at]! + (n - 1 - at) * this.sum;
    return anchor + (older + this.weighted + n * (value - anchor)) * this.inverse;
  }

  /** Takes `value` in, unless it is NaN, and gives the weighted mean. */
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
