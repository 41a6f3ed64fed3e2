/** Values kept for the next time; of more than `most` the older half is let go. */
export class Kept<Key, Value> {
  readonly #values = new Map<Key, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    this.#values.set(key, value);
    if (this.#values.size <= this.#most) return;
    // By halves, for a Map that loses its first entry again and again looks through all the lost ones each time.
    let surplus = Math.ceil(this.#most / 2);
    for (const oldest of this.#values.keys()) {
      if (surplus === 0) break;
      this.#values.delete(oldest);
      surplus -= 1;
    }
  }
}
