import { emptyBlock } from "./block.js";

/**
 * How long ago the largest or the smallest of the last `n` numbers came: 0 for the newest, up to `n − 1`; of equal
 * ones the most recent counts, as in TA-Lib. See `block.ts` for how.
 */
export class SlidingExtremeAge {
  private at = 0;
  /** Of the running block, turned around where the smallest is looked for, and the place where it stands. */
  private best = Number.NEGATIVE_INFINITY;
  private bestAt = 0;

  private constructor(
    private readonly n: number,
    private readonly sign: number,
    /** Two a place: the extreme from there to the end of the block before, and the place where it stands. */
    private readonly block: number[] = emptyBlock(n, 2, Number.NEGATIVE_INFINITY),
  ) {}

  static ofHighest(n: number): SlidingExtremeAge {
    return new SlidingExtremeAge(n, 1);
  }

  static ofLowest(n: number): SlidingExtremeAge {
    return new SlidingExtremeAge(n, -1);
  }

  /** The age once `value` is the newest; NaN until there are `n`. */
  peek(value: number): number {
    const { at, n } = this;
    const signed = this.sign * value;
    const older = this.block[2 * at]!;
    if (Number.isNaN(older + value)) return Number.NaN;
    if (signed >= older && signed >= this.best) return 0;
    if (this.best >= older) return at - this.bestAt;
    return at + n - 1 - this.block[2 * at + 1]!;
  }

  /** Takes `value` in, unless it is NaN, and gives the age. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const age = this.peek(value);
    const { at } = this;
    const signed = this.sign * value;
    this.block[2 * at] = signed;
    if (signed >= this.best) {
      this.best = signed;
      this.bestAt = at;
    }
    this.at = at + 1;
    if (at + 2 >= this.n) this.turn();
    return age;
  }

  fork(): SlidingExtremeAge {
    const copy = new SlidingExtremeAge(this.n, this.sign, this.block.slice());
    copy.at = this.at;
    copy.best = this.best;
    copy.bestAt = this.bestAt;
    return copy;
  }

  private turn(): void {
    const { block, n } = this;
    let best = Number.NEGATIVE_INFINITY;
    let bestAt = 0;
    block[2 * n - 2] = best;
    for (let at = n - 2; at >= 0; at -= 1) {
      if (block[2 * at]! > best) {
        best = block[2 * at]!;
        bestAt = at;
      }
      block[2 * at] = best;
      block[2 * at + 1] = bestAt;
    }
    this.at = 0;
    this.best = Number.NEGATIVE_INFINITY;
    this.bestAt = 0;
  }
}
