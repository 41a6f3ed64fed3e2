/**
 * An exponential average: `average = value + keep · (average − value)`. It begins with the mean of the first n numbers.
 * For equal numbers it is exact.
 */
export class ExponentialAverage {
  /** The average of all numbers so far; returned from the n-th number on. */
  private average = 0;
  /** The weight of the average when the next number comes. Until the n-th number it makes the average their mean. */
  private keep = 0;

  private constructor(
    private readonly n: number,
    private readonly steadyKeep: number,
    /** How many of the first `n` numbers are missing. */
    private missing = n,
  ) {}

  /** The EMA: the newest number has weight `2 / (n + 1)`. */
  static ofSpan(n: number): ExponentialAverage {
    return new ExponentialAverage(n, (n - 1) / (n + 1));
  }

  /** Wilder's average, the RMA: the newest number has weight `1 / n`. */
  static ofWilder(n: number): ExponentialAverage {
    return new ExponentialAverage(n, (n - 1) / n);
  }

  /** The average with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    const average = value + this.keep * (this.average - value);
    return this.missing > 1 ? Number.NaN : average;
  }

  /** Adds `value` and returns the average. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const average = value + this.keep * (this.average - value);
    this.average = average;
    // `countDown` returns no number: V8 would box a returned number, and the average with it, at every push.
    return this.missing > 0 && this.countDown() ? Number.NaN : average;
  }

  fork(): ExponentialAverage {
    const copy = new ExponentialAverage(this.n, this.steadyKeep, this.missing);
    copy.average = this.average;
    copy.keep = this.keep;
    return copy;
  }

  /** Counts one of the first n numbers and returns whether more are missing. */
  private countDown(): boolean {
    this.missing -= 1;
    const seen = this.n - this.missing;
    this.keep = this.missing > 0 ? seen / (seen + 1) : this.steadyKeep;
    return this.missing > 0;
  }
}
