import { mix } from "../hash.js";

/** Numbers in [0, 1) that a seed decides, one a call. */
export function randomNumbers(seed: number): () => number {
  let state = mix(seed);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return mix(state) / 2 ** 32;
  };
}

/** The number in [0, 1) at a place, without the ones before it. */
export function randomAt(key: number, place: number): number {
  return mix(key ^ mix(place)) / 2 ** 32;
}

/** A smooth curve through a random number in [-1, 1) at every whole `x`. */
export function noise(key: number, x: number): number {
  const cell = Math.floor(x);
  const along = x - cell;
  const left = randomAt(key, cell);
  const right = randomAt(key, cell + 1);
  return 2 * (left + (right - left) * along * along * (3 - 2 * along)) - 1;
}

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

let words: readonly string[] | undefined;

/** 4,096 words of four letters: texts are put together from them five times as fast as from letters. */
function base58Words(): readonly string[] {
  words ??= Array.from({ length: 4_096 }, (_, number) => {
    const letter = (at: number) => DIGITS[mix(4 * number + at) % DIGITS.length];
    return `${letter(0)}${letter(1)}${letter(2)}${letter(3)}`;
  });
  return words;
}

/** The text at a place, of a given length, in the letters of base58: an address (44) or a signature (88). */
export function base58At(key: number, place: number, length: 44 | 88): string {
  const all = base58Words();
  let text = "";
  for (let part = 0; text.length < length; part += 1) {
    const bits = mix(key ^ Math.imul(place * 32 + part, 0x9e3779b1));
    text += all[bits & 4_095]! + all[bits >>> 20]!;
  }
  return text.slice(0, length);
}

/** Rounds to a number of decimals, as amounts on a chain are. */
export function toDecimals(amount: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(amount * scale) / scale;
}
