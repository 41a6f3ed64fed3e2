import { checkNumber } from "../contract/input.js";

/** Enough for a day of seconds; beyond it a window is a mistake that would cost megabytes. */
const LONGEST = 100_000;

/** A number of candles; throws an `InvalidInputError` where it is not whole, or not from 1 to 100,000. */
export function checkPeriod(parameter: string, value: number, { max = LONGEST } = {}): number {
  return checkNumber(parameter, value, { min: 1, max, integer: true });
}

/** A factor of a distance, such as the bands' `k`; throws an `InvalidInputError` where it is negative. */
export function checkFactor(parameter: string, value: number): number {
  return checkNumber(parameter, value, { min: 0 });
}
