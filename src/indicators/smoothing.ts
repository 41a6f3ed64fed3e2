/**
 * An exponential average that begins, with the n-th number, as the mean of the first n:
 * `average = value + keep · (average − value)`. Of equal numbers it is exact.
 */
export class ExponentialAverage {
  /** Of all numbers so far; it is given from the n-th on. */
  private average = 0;
  /** What the next number leaves of it; until the n-th, what makes it their mean. */
  private keep = 0;

  private constructor(
    private readonly n: number,
    private readonly steadyKeep: number,
    /** How many of the first `n` numbers are still to come. */
    private missing = n,
  ) {}

  /** Weight `2 / (n + 1)` for the newest: the EMA. */
  static ofSpan(n: number): ExponentialAverage {
    return new ExponentialAverage(n, (n - 1) / (n + 1));
  }

  /** Weight `1 / n` for the newest: Wilder's average, the RMA. */
  static ofWilder(n: number): ExponentialAverage {
    return new ExponentialAverage(n, (n - 1) / n);
  }

  /** The average once `value` is the newest; NaN until there are `n`. */
  peek(value: number): number {
    const average = value + this.keep * (this.average - value);
    return this.missing > 1 ? Number.NaN : average;
  }

  /** Takes `value` in, unless it is NaN, and gives the average. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const average = value + this.keep * (this.average - value);
    this.average = average;
    // It gives no number: one that came out of a call would be boxed, and with it the average, at every push.
    return this.missing > 0 && this.countDown() ? Number.NaN : average;
  }

  fork(): ExponentialAverage {
    const copy = new ExponentialAverage(this.n, this.steadyKeep, this.missing);
    copy.average = this.average;
    copy.keep = this.keep;
    return copy;
  }

  /** One of the first n numbers has come: counts it, and tells whether more of them are to come. */
  private countDown(): boolean {
    this.missing -= 1;
    const seen = this.n - this.missing;
    this.keep = this.missing > 0 ? seen / (seen + 1) : this.steadyKeep;
    return this.missing > 0;
  }
}
