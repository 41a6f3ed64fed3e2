/**
 * An exponential average that begins, with the n-th number, as the mean of the first n:
 * `average = value + keep · (average − value)`. Of equal numbers it is exact.
 */
export class ExponentialAverage {
  /** NaN until there are `n`, as is then what the formula makes of it. */
  private average = Number.NaN;
  /** Of the numbers before that: how many, the first, and the sum of their distances from it. */
  private seen = 0;
  private first = 0;
  private distances = 0;

  private constructor(
    private readonly n: number,
    private readonly keep: number,
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
    return Number.isNaN(average) ? this.seed(value) : average;
  }

  /** Takes `value` in, unless it is NaN, and gives the average. */
  push(value: number): number {
    const average = value + this.keep * (this.average - value);
    if (Number.isNaN(average)) return this.pushFirst(value);
    this.average = average;
    return average;
  }

  fork(): ExponentialAverage {
    const copy = new ExponentialAverage(this.n, this.keep);
    copy.average = this.average;
    copy.seen = this.seen;
    copy.first = this.first;
    copy.distances = this.distances;
    return copy;
  }

  private seed(value: number): number {
    if (this.seen + 1 < this.n) return Number.NaN;
    const first = this.seen === 0 ? value : this.first;
    return first + (this.distances + (value - first)) / this.n;
  }

  private pushFirst(value: number): number {
    if (Number.isNaN(value)) return value;
    this.average = this.seed(value);
    if (this.seen === 0) this.first = value;
    this.distances += value - this.first;
    this.seen += 1;
    return this.average;
  }
}
