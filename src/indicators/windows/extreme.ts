import { emptyBlock } from "./block.js";

/** The largest or the smallest of the last `n` numbers. See `block.ts` for how. */
export class SlidingExtreme {
  private at = 0;
  /** Of the running block; like the block, of numbers turned around where the smallest is looked for. */
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

  /** The extreme once `value` is the newest; NaN until there are `n`. */
  peek(value: number): number {
    const { sign } = this;
    return sign * Math.max(this.block[this.at]!, Math.max(this.best, sign * value));
  }

  /** Takes `value` in, unless it is NaN, and gives the extreme. */
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
