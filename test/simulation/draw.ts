/** Scrambles 32 bits, one to one. */
function scramble(bits: number): number {
  let hash = bits | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** A number in [0, 1) that depends on all parts, and on nothing else. */
export function chanceOf(...parts: readonly (number | string)[]): number {
  let hash = 0x9e3779b9;
  for (const part of parts) {
    if (typeof part === "number") {
      hash = scramble(hash ^ scramble(part) ^ Math.imul(scramble(Math.floor(part / 2 ** 32)), 31));
    } else {
      for (let at = 0; at < part.length; at += 1) hash = scramble(hash ^ (part.charCodeAt(at) + 1));
    }
  }
  return scramble(hash) / 2 ** 32;
}

/** Draws one thing after another; what is drawn from a fork does not change what follows it. */
export class Draw {
  readonly #key: string;
  #state: number;

  constructor(key: string) {
    this.#key = key;
    this.#state = chanceOf(key) * 2 ** 32;
  }

  fork(name: string | number): Draw {
    return new Draw(`${this.#key}/${name}`);
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return scramble(this.#state) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number, both ends included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  /** Small numbers as often as large ones, by their magnitude. */
  scaled(low: number, high: number): number {
    return Math.round(low * (high / low) ** this.next());
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)]!;
  }

  /** One of several by their weights. */
  weighed<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of entries) {
      left -= weight;
      if (left < 0) return choice;
    }
    return entries.at(-1)![0];
  }
}
