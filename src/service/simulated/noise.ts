import { randomAt } from "../random.js";

/** A smooth curve with a random value in [-1, 1) at every whole `x`. */
export function noise(key: number, x: number): number {
  const cell = Math.floor(x);
  const along = x - cell;
  const left = randomAt(key, cell);
  const right = randomAt(key, cell + 1);
  return 2 * (left + (right - left) * along * along * (3 - 2 * along)) - 1;
}
