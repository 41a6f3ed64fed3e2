/** The last entries of a log, numbered from 1. */
export class ReplayLog<Entry> {
  readonly #ring: Entry[] = [];
  readonly #size: number;
  #head = 0;

  /** `size`: how many entries are kept. */
  constructor(size: number) {
    this.#size = size;
  }

  /** The number of the newest entry; 0 before the first. */
  get head(): number {
    return this.#head;
  }

  append(entry: Entry): void {
    if (this.#size > 0) this.#ring[this.#head % this.#size] = entry;
    this.#head += 1;
  }

  /**
   * The entries after the one with this number, in order; `undefined` if some of them are no longer kept, or if the
   * number is still to come.
   */
  after(number: number): Entry[] | undefined {
    const count = this.#head - number;
    if (count < 0 || count > this.#ring.length) return undefined;
    return Array.from({ length: count }, (_, at) => this.#ring[(number + at) % this.#size]!);
  }
}
