/**
 * A sum without end that does not drift. The rounding error of each addition is known exactly (Knuth's two-sum) and
 * added up apart (Kahan and Babuška, Neumaier).
 */
export class RunningTotal {
  private sum = 0;
  /** The sum of all rounding errors of `sum`. */
  private lost = 0;

  /** The total including `value`. */
  peek(value: number): number {
    const sum = this.sum + value;
    return sum + (this.lost + rounding(this.sum, value, sum));
  }

  /** Adds `value` and returns the total. */
  push(value: number): number {
    const sum = this.sum + value;
    const lost = this.lost + rounding(this.sum, value, sum);
    this.sum = sum;
    this.lost = lost;
    return sum + lost;
  }

  fork(): RunningTotal {
    const copy = new RunningTotal();
    copy.sum = this.sum;
    copy.lost = this.lost;
    return copy;
  }
}

/** The rounding error of `sum`, the rounded `a + b`. */
function rounding(a: number, b: number, sum: number): number {
  const added = sum - a;
  return a - (sum - added) + (b - added);
}
