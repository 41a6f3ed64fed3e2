import { emptyBlock } from "./block.js";

/**
 * The sum of the last `n` numbers, for amounts such as volumes; for prices see `SlidingMean`. It is never negative
 * unless a number is, and exactly 0 for zeros. `block.ts` explains the method.
 */
export class SlidingSum {
  private at = 0;
  /** The sum of the current block so far. */
  private sum = 0;

  constructor(
    private readonly n: number,
    private readonly block: number[] = emptyBlock(n, 1, 0),
  ) {}

  /** The sum with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    return this.block[this.at]! + (this.sum + value);
  }

  /** Adds `value` and returns the sum. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const { block, at } = this;
    const sum = this.sum + value;
    const total = block[at]! + sum;
    block[at] = value;
    this.sum = sum;
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return total;
  }

  fork(): SlidingSum {
    const copy = new SlidingSum(this.n, this.block.slice());
    copy.at = this.at;
    copy.sum = this.sum;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    let sum = 0;
    block[n - 1] = 0;
    for (let at = n - 2; at >= 0; at -= 1) {
      sum += block[at]!;
      block[at] = sum;
    }
    this.at = 0;
    this.sum = 0;
  }
}
