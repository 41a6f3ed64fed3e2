import { emptyBlock } from "./block.js";

/** The largest or the smallest of the last `n` numbers. `block.ts` explains the method. */
export class SlidingExtreme {
  private at = 0;
  /**
   * The extreme of the current block so far. For the smallest, all numbers have the opposite sign, in the block too.
   */
  private best = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly n: number,
    private readonly sign: number,
    private readonly block: number[] = emptyBlock(n, 1, Number.NEGATIVE_INFINITY),
  ) {}

  static highest(n: number): SlidingExtreme {
    return new SlidingExtreme(n, 1);
  }

  static lowest(n: number): SlidingExtreme {
    return new SlidingExtreme(n, -1);
  }

  /** The extreme with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    const { sign } = this;
    return sign * Math.max(this.block[this.at]!, Math.max(this.best, sign * value));
  }

  /** Adds `value` and returns the extreme. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const { block, at, sign } = this;
    const best = Math.max(this.best, sign * value);
    const extreme = sign * Math.max(block[at]!, best);
    block[at] = sign * value;
    this.best = best;
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return extreme;
  }

  fork(): SlidingExtreme {
    const copy = new SlidingExtreme(this.n, this.sign, this.block.slice());
    copy.at = this.at;
    copy.best = this.best;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    let best = Number.NEGATIVE_INFINITY;
    block[n - 1] = best;
    for (let at = n - 2; at >= 0; at -= 1) {
      best = Math.max(best, block[at]!);
      block[at] = best;
    }
    this.at = 0;
    this.best = Number.NEGATIVE_INFINITY;
  }
}
