import { mix } from "../random.js";

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

let words: readonly string[] | undefined;

/** 4,096 words of four letters. Joining words is five times as fast as joining letters. */
function base58Words(): readonly string[] {
  words ??= Array.from({ length: 4_096 }, (_, number) => {
    const letter = (at: number) => DIGITS[mix(4 * number + at) % DIGITS.length];
    return `${letter(0)}${letter(1)}${letter(2)}${letter(3)}`;
  });
  return words;
}

/** The text at a place, in the letters of base58, of a length: 44 for an address, 88 for a signature. */
export function base58At(key: number, place: number, length: 44 | 88): string {
  const all = base58Words();
  let text = "";
  for (let part = 0; text.length < length; part += 1) {
    const bits = mix(key ^ Math.imul(place * 32 + part, 0x9e3779b1));
    text += all[bits & 4_095]! + all[bits >>> 20]!;
  }
  return text.slice(0, length);
}
