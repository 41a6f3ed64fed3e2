import { checkNumber } from "../contract/input.js";

/** The longest window: more than a day of 1s candles. A longer one is a mistake that would cost megabytes. */
const LONGEST_WINDOW = 100_000;

/** Checks a number of candles. Throws an `InvalidInputError` unless it is whole and from 1 to 100,000. */
export function checkPeriod(parameter: string, value: number, { max = LONGEST_WINDOW } = {}): number {
  return checkNumber(parameter, value, { min: 1, max, integer: true });
}

/** Checks a factor, such as the `k` of the bands. Throws an `InvalidInputError` if it is negative or not finite. */
export function checkFactor(parameter: string, value: number): number {
  return checkNumber(parameter, value, { min: 0 });
}
