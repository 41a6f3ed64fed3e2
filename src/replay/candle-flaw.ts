import { isAmount, LARGEST_AMOUNT } from "../contract/amount.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** Why something cannot be the next candle of a history. */
export interface CandleFlaw {
  /** The field that is wrong; absent where it is all of it. */
  readonly field?: keyof Candle;
  readonly allowed: string;
  readonly problem: string;
}

const { isSafeInteger } = Number;

/**
 * What is wrong with the next candle of a history whose newest one so far has this timestamp; the same as is refused in
 * an answer of the service.
 */
export function flawOf(value: unknown, newest: number): CandleFlaw | undefined {
  // Whatever else is no object has none of the fields, and is told apart where something is wrong.
  const candle = value as Candle | null | undefined;
  if (candle === null || candle === undefined) return detailedFlawOf(value, newest);
  const { timestamp, open, high, low, close, volume, swaps } = candle;
  const isRight =
    isSafeInteger(timestamp) &&
    timestamp >= 0 &&
    timestamp > newest &&
    isAmount(open) &&
    isAmount(high) &&
    isAmount(low) &&
    isAmount(close) &&
    isAmount(volume) &&
    isSafeInteger(swaps) &&
    swaps >= 0 &&
    high >= low;
  return isRight ? undefined : detailedFlawOf(value, newest);
}

function detailedFlawOf(value: unknown, newest: number): CandleFlaw {
  if (typeof value !== "object" || value === null) {
    const allowed = "an object with timestamp, open, high, low, close, volume and swaps";
    return { allowed, problem: `is ${value === null ? "null" : typeof value}` };
  }
  const candle = value as Candle;
  for (const field of ["timestamp", "open", "high", "low", "close", "volume", "swaps"] as const) {
    const number = candle[field];
    const isCount = field === "timestamp" || field === "swaps";
    if (isCount ? isSafeInteger(number) && number >= 0 : isAmount(number)) continue;
    const allowed = isCount ? "a whole number of at least 0" : `a finite number from 0 to ${LARGEST_AMOUNT}`;
    return { field, allowed, problem: `is ${typeof number === "number" ? number : wordFor(number)}` };
  }
  const { timestamp, high, low } = candle;
  if (timestamp <= newest) {
    const problem = timestamp === newest ? "is that of the candle before, too" : `comes after ${newest}`;
    return { field: "timestamp", allowed: "ascending, each once", problem: `(${timestamp}) ${problem}` };
  }
  return { field: "high", allowed: "no less than low", problem: `is ${high}, with a low of ${low}` };
}

function wordFor(value: unknown): string {
  if (value === undefined) return "missing";
  return value === null ? "null" : `of type ${typeof value}`;
}

/** The error about a flaw of the candle at a place, such as `line 3`. */
export function refusalOf(place: string, { field, allowed, problem }: CandleFlaw): InvalidInputError {
  const parameter = field === undefined ? place : `${field} of ${place}`;
  return new InvalidInputError(parameter, allowed, problem);
}

/** A frozen candle with the same numbers, and nothing else. */
export function frozenCandle({ timestamp, open, high, low, close, volume, swaps }: Candle): Candle {
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}
