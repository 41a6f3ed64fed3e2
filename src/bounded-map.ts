/** A map that holds up to `most` entries, an even number. When it is full, it lets go of the older half. */
export class BoundedMap<Key, Value> {
  // Two maps: a single one that loses entries while it gains others is rebuilt again and again, and its old tables can
  // stay in memory for long.
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();
  readonly #half: number;

  constructor(most: number) {
    this.#half = most / 2;
  }

  get(key: Key): Value | undefined {
    const value = this.#newer.get(key);
    return value === undefined ? this.#older.get(key) : value;
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }
}
