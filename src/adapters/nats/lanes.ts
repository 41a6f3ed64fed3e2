/** How many messages that share their lanes may wait for their acknowledgement at once. */
export const MESSAGES_AT_ONCE = 256;

/** Lanes, of which a fixed number may be taken at once. */
export class Lanes {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a lane. If none is free, `retry` is called once one is. */
  enter(retry: () => void): boolean {
    if (this.#taken >= this.#most) {
      this.#waiting.add(retry);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  /** Takes a lane as soon as one is free. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      const retry = () => {
        if (this.enter(retry)) resolve();
      };
      retry();
    });
  }

  leave(): void {
    this.#taken -= 1;
    // Whoever is called may take no lane, or take one and wait for another.
    while (this.#taken < this.#most) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      next();
    }
  }
}
