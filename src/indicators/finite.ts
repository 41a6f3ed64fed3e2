import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** The contract's largest amount is 1e100; a candle that is made of many adds up their volumes. */
export const LARGEST = 1e110;

/**
 * Refuses a candle with a price or a volume that is no number, or so large that an indicator of it would not be finite,
 * before any state has changed.
 */
export function checkCandle(candle: Candle): void {
  const { open, high, low, close, volume } = candle;
  // One test of all fields, because every indicator makes it for every candle.
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
