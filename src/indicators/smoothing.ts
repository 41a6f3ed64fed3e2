/**
 * An exponential average: `average = keep · average + (1 − keep) · value`. It begins with the mean of the first n
 * numbers. For equal numbers it is exact.
 */
export class ExponentialAverage {
  /** The average of all numbers so far; returned from the n-th number on. */
  average = 0;
  /** The weight of the average when the next number comes. Until the n-th number it makes the average their mean. */
  keep = 0;

  protected constructor(
    protected readonly n: number,
    protected readonly steadyKeep: number,
    /** How many of the first `n` numbers are missing. */
    protected missing = n,
  ) {}

  /** The EMA: the newest number has weight `2 / (n + 1)`. */
  static ofSpan(n: number): ExponentialAverage {
    return n === 2 ? new AverageOfTwo() : new ExponentialAverage(n, (n - 1) / (n + 1));
  }

  /** Wilder's average, the RMA: the newest number has weight `1 / n`. */
  static ofWilder(n: number): ExponentialAverage {
    return new ExponentialAverage(n, (n - 1) / n);
  }

  /** The average with `value` as the newest number; NaN until there are `n`. */
  peek(value: number): number {
    return this.missing > 1 ? Number.NaN : faded(this.average, value, this.keep);
  }

  /** Adds `value` and returns the average. Ignores NaN. */
  push(value: number): number {
    if (Number.isNaN(value)) return value;
    const average = faded(this.average, value, this.keep);
    this.average = average;
    // `countDown` returns no number: V8 would box a returned number, and the average with it, at every push.
    return this.missing > 0 && this.countDown() ? Number.NaN : average;
  }

  /** Whether `faded` alone makes the next averages. A loop may then keep them in a local, in half the time. */
  get isSteady(): boolean {
    return this.missing === 0 && this.keep >= 0.5;
  }

  fill(values: Float64Array, out: Float64Array): void {
    let at = 0;
    for (; at < values.length && !this.isSteady; at += 1) out[at] = this.push(values[at]!);
    const { keep } = this;
    let { average } = this;
    for (; at < values.length; at += 1) {
      average = faded(average, values[at]!, keep);
      out[at] = average;
    }
    this.average = average;
  }

  /**
   * `push` or `peek`, for what writes its formula once. A chain of several averages calls those two itself: with this
   * call between, a program of few indicators takes half as long again.
   */
  next(value: number, commits: boolean): number {
    return commits ? this.push(value) : this.peek(value);
  }

  fork(): ExponentialAverage {
    const copy = new ExponentialAverage(this.n, this.steadyKeep, this.missing);
    copy.average = this.average;
    copy.keep = this.keep;
    return copy;
  }

  /** Counts one of the first n numbers and returns whether more are missing. */
  protected countDown(): boolean {
    this.missing -= 1;
    const seen = this.n - this.missing;
    this.keep = this.missing > 0 ? seen / (seen + 1) : this.steadyKeep;
    return this.missing > 0;
  }
}

/** The EMA of two, which keeps a third: with the other formula it would be exact only for most equal numbers. */
class AverageOfTwo extends ExponentialAverage {
  constructor(missing = 2) {
    super(2, 1 / 3, missing);
  }

  override peek(value: number): number {
    return this.missing > 1 ? Number.NaN : value + this.keep * (this.average - value);
  }

  override push(value: number): number {
    if (Number.isNaN(value)) return value;
    this.average = value + this.keep * (this.average - value);
    return this.missing > 0 && this.countDown() ? Number.NaN : this.average;
  }

  override fork(): ExponentialAverage {
    const copy = new AverageOfTwo(this.missing);
    copy.average = this.average;
    copy.keep = this.keep;
    return copy;
  }
}

/**
 * `keep · average + (1 − keep) · value`. For a `keep` of 0, or of one half and more, it is exact where both are equal:
 * then the difference is (Sterbenz), and so is the sum. That difference does not wait for the average before.
 */
export function faded(average: number, value: number, keep: number): number {
  return keep * average + (value - keep * value);
}
