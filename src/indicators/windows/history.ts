/** The last `n` numbers themselves. */
export class History {
  /** Where the next number goes. The oldest number is there now. */
  private at = 0;

  constructor(
    private readonly n: number,
    private readonly ring: number[] = new Array<number>(n).fill(Number.NaN),
  ) {}

  /** The number pushed `age` pushes ago, from 1 (the last one) to `n`; NaN if there were fewer. */
  ago(age: number): number {
    const index = this.at - age;
    return this.ring[index < 0 ? index + this.n : index]!;
  }

  /** Adds `value`. Ignores NaN. */
  push(value: number): void {
    if (Number.isNaN(value)) return;
    this.ring[this.at] = value;
    this.at = this.at + 1 === this.n ? 0 : this.at + 1;
  }

  fork(): History {
    const copy = new History(this.n, this.ring.slice());
    copy.at = this.at;
    return copy;
  }
}
