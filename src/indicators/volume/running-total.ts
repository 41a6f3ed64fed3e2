/**
 * A sum without end that does not drift: what rounding takes away at each addition is known exactly (Knuth's two-sum),
 * and kept in a sum of its own (Kahan and Babuška, Neumaier).
 */
export class RunningTotal {
  private sum = 0;
  /** What the roundings of `sum` have taken away, in all. */
  private lost = 0;

  /** The total once `value` has been added. */
  peek(value: number): number {
    const sum = this.sum + value;
    return sum + (this.lost + rounding(this.sum, value, sum));
  }

  /** Adds `value`, and gives the total. */
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

/** What is missing in `sum`, the rounded `a + b`. */
function rounding(a: number, b: number, sum: number): number {
  const added = sum - a;
  return a - (sum - added) + (b - added);
}
