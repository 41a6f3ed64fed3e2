import { isAmount, isCount, LARGEST_AMOUNT, wrongFieldOf } from "../contract/candle-numbers.js";
import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** The reason why a value cannot be the next candle of a history. */
export interface CandleFlaw {
  /** The wrong field; absent if the value as a whole is wrong. */
  readonly field?: keyof Candle;
  readonly allowed: string;
  readonly problem: string;
}

/**
 * Checks the next candle after one with the timestamp `newest`, by the same rules as for the service's answers. Returns
 * the flaw, or `undefined`.
 */
export function flawOf(value: unknown, newest: number): CandleFlaw | undefined {
  if (typeof value !== "object" || value === null) {
    const allowed = "an object with timestamp, open, high, low, close, volume and swaps";
    return { allowed, problem: `is ${show(value)}` };
  }
  const candle = value as Candle;
  const { timestamp } = candle;
  const field = isCount(timestamp) ? wrongFieldOf(candle) : "timestamp";
  if (field !== undefined) return { field, ...flawIn(candle, field) };
  if (timestamp > newest) return undefined;
  const problem =
    timestamp === newest
      ? "repeats that of the candle before"
      : `is older than ${newest}, that of the candle before`;
  return {
    field: "timestamp",
    allowed: "timestamps in ascending order, each once",
    problem: `(${timestamp}) ${problem}`,
  };
}

function flawIn(candle: Candle, field: keyof Candle): Pick<CandleFlaw, "allowed" | "problem"> {
  const value: unknown = candle[field];
  const problem = `is ${value === undefined ? "missing" : show(value)}`;
  if (field === "timestamp" || field === "swaps") return { allowed: "a whole number of at least 0", problem };
  if (!isAmount(value)) return { allowed: `a finite number from 0 to ${LARGEST_AMOUNT}`, problem };
  return { allowed: "a number that is not below low", problem: `${problem}, with a low of ${candle.low}` };
}

/** Makes the error for a flaw. `place` says where the candle is, such as `line 3`. */
export function candleError(place: string, { field, allowed, problem }: CandleFlaw): InvalidInputError {
  const parameter = field === undefined ? place : `${field} of ${place}`;
  return new InvalidInputError(parameter, allowed, problem);
}

/** A frozen copy of a candle, without any other fields. */
export function frozenCandle({ timestamp, open, high, low, close, volume, swaps }: Candle): Candle {
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}
