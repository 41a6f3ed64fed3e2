import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/**
 * The largest number that an indicator takes. The contract allows 1e100; a candle built from many candles sums up their
 * volumes.
 */
export const LARGEST = 1e110;

/**
 * Throws an `InvalidInputError` for a candle whose prices or volume are not numbers, or so large that an indicator
 * would overflow. It runs before any state changes.
 */
export function checkCandle(candle: Candle): void {
  const { open, high, low, close, volume } = candle;
  // One test covers all fields, because every indicator runs it for every candle.
  const total = Math.abs(open) + Math.abs(high) + Math.abs(low) + Math.abs(close) + Math.abs(volume);
  if (!(total <= LARGEST && typeof (open + high + low + close + volume) === "number")) checkFields(candle);
}

function checkFields({ open, high, low, close, volume }: Candle): void {
  for (const [field, value] of Object.entries({ open, high, low, close, volume })) {
    if (typeof value === "number" && Math.abs(value) <= LARGEST) continue;
    const allowed = `a finite number from -${LARGEST} to ${LARGEST}`;
    throw new InvalidInputError(`candle.${field}`, allowed, `is ${show(value)}`);
  }
}
