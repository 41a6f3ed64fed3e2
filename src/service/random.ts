import { checkNumber } from "../contract/input.js";
import { InvalidInputError } from "../errors.js";

/** The `seed` in options. Throws an `InvalidInputError` if it is not a whole number. */
export function checkSeed(options: { readonly seed: number }): number {
  if (typeof options !== "object" || options === null) {
    throw new InvalidInputError("options", "an object with a seed", "is missing");
  }
  const { MIN_SAFE_INTEGER: min, MAX_SAFE_INTEGER: max } = Number;
  return checkNumber("seed", options.seed, { min, max, integer: true });
}

/** Scrambles 32 bits: neighbours get unrelated results, and no two inputs share one. */
export function mix(bits: number): number {
  let hash = bits | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A 32-bit hash of a text. Different salts give independent hashes. */
export function hashText(text: string, salt: number): number {
  let hash = mix(salt);
  for (let at = 0; at < text.length; at += 1)
    hash = mix(hash ^ Math.imul(text.charCodeAt(at) + 1, 0x9e3779b1));
  return hash;
}

/** A generator of numbers in [0, 1) from a seed, one per call. */
export function randomNumbers(seed: number): () => number {
  let state = mix(seed);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return mix(state) / 2 ** 32;
  };
}

/** The number in [0, 1) at a place of the sequence, without computing those before. */
export function randomAt(key: number, place: number): number {
  return mix(key ^ mix(place)) / 2 ** 32;
}

/** A number from `low` to `high` with a uniform logarithm: 1 to 10 is as likely as 10 to 100. */
export function spreadByOrder(random: () => number, low: number, high: number): number {
  return low * (high / low) ** random();
}

/** A random permutation of the values; every order is equally likely. */
export function shuffle<T>(values: readonly T[], random: () => number): T[] {
  const shuffled = [...values];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const chosen = Math.floor((last + 1) * random());
    [shuffled[last], shuffled[chosen]] = [shuffled[chosen]!, shuffled[last]!];
  }
  return shuffled;
}
