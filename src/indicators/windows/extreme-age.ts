import { emptyBlock } from "./block.js";

/**
 * The age of the largest or the smallest of the last `n` numbers: 0 for the newest number, at most `n − 1`. Among equal
 * numbers the most recent counts, as in TA-Lib. `block.ts` explains the method.
 */
export class SlidingExtremeAge {
  private at = 0;
  /** The extreme of the current block so far and its place. For the smallest, all numbers have the opposite sign. */
  private best = -Infinity;
  private bestAt = 0;

  private constructor(
    private readonly n: number,
    private readonly sign: number,
    /** Two numbers per place: the extreme from there to the end of the previous block, and its place. */
    private readonly block: number[] = emptyBlock(n, 2, -Infinity),
  ) {}

  static ofHighest(n: number): SlidingExtremeAge {
    return new SlidingExtremeAge(n, 1);
  }

  static ofLowest(n: number): SlidingExtremeAge {
    return new SlidingExtremeAge(n, -1);
  }

  /** The age with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    const { at, n } = this;
    const signed = this.sign * value;
    const older = this.block[2 * at]!;
    if (Number.isNaN(older + value)) return Number.NaN;
    if (signed >= older && signed >= this.best) return 0;
    if (this.best >= older) return at - this.bestAt;
    return at + n - 1 - this.block[2 * at + 1]!;
  }

  /** Adds `value` and returns the age. Ignores NaN. */
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
    let best = -Infinity;
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
    this.best = -Infinity;
    this.bestAt = 0;
  }
}
