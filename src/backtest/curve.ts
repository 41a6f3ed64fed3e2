/** The value of an account at the close of a candle. */
export interface EquityPoint {
  /** The end of the candle, ms since the epoch. */
  readonly at: number;
  /** The value: money, and positions at their last closes, in the currency of the account. */
  readonly equity: number;
  /** Whether tokens were held or owed at that close. */
  readonly isExposed: boolean;
}

const CHUNK_BITS = 13;
const CHUNK = 1 << CHUNK_BITS;

/** Instants at equal distances. */
interface Stretch {
  readonly from: number;
  step: number;
  count: number;
}

/**
 * The points of an account. A year of minutes has half a million of them, and few look at each one. They are kept in
 * little room, as objects or lists of that many would have all of the memory collected.
 */
export class Curve {
  readonly #stretches: Stretch[] = [];
  /** What the account was worth, point by point. */
  readonly #chunks: Float64Array[] = [];
  /** How many points there were when it became exposed, and when it no longer was, by turns. */
  readonly #turns: number[] = [];
  #length = 0;
  // The last point, as long as another candle may close at its instant.
  #at = Number.NaN;
  #equity = 0;
  #isExposed = false;
  #points: readonly EquityPoint[] | undefined;

  static of(points: Iterable<EquityPoint>): Curve {
    const curve = new Curve();
    for (const { at, equity, isExposed } of points) curve.push(at, equity, isExposed);
    return curve;
  }

  /** Adds a point. Candles that close at one instant make one, that of the last of them. */
  push(at: number, equity: number, isExposed: boolean): void {
    if (this.#at < at) this.#keep();
    this.#at = at;
    this.#equity = equity;
    this.#isExposed = isExposed;
  }

  each(visit: (at: number, equity: number, isExposed: boolean) => void): void {
    let [index, turn] = [0, 0];
    for (const { from, step, count } of this.#stretches) {
      for (let place = 0; place < count; place += 1) {
        if (this.#turns[turn] === index) turn += 1;
        visit(from + place * step, this.#chunks[index >> CHUNK_BITS]![index & (CHUNK - 1)]!, turn % 2 === 1);
        index += 1;
      }
    }
    if (!Number.isNaN(this.#at)) visit(this.#at, this.#equity, this.#isExposed);
  }

  /** All points, made when they are read for the first time. */
  points(): readonly EquityPoint[] {
    if (this.#points === undefined) {
      const points: EquityPoint[] = [];
      this.each((at, equity, isExposed) => points.push(Object.freeze({ at, equity, isExposed })));
      this.#points = Object.freeze(points);
    }
    return this.#points;
  }

  #keep(): void {
    const index = this.#length;
    const [at, stretch] = [this.#at, this.#stretches.at(-1)];
    if (stretch?.count === 1) stretch.step = at - stretch.from;
    if (stretch !== undefined && at === stretch.from + stretch.count * stretch.step) stretch.count += 1;
    else this.#stretches.push({ from: at, step: 0, count: 1 });
    if ((index & (CHUNK - 1)) === 0) this.#chunks.push(new Float64Array(CHUNK));
    this.#chunks[index >> CHUNK_BITS]![index & (CHUNK - 1)] = this.#equity;
    if (this.#isExposed !== (this.#turns.length % 2 === 1)) this.#turns.push(index);
    this.#length = index + 1;
  }
}
