import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** Refuses a candle with a price or a volume that is not a finite number, before any state has changed. */
export function checkCandle(candle: Candle): void {
  // One test, because every indicator makes it for every candle.
  const sum = candle.open + candle.high + candle.low + candle.close + candle.volume;
  if (!Number.isFinite(sum)) refuse(candle);
}

function refuse({ open, high, low, close, volume }: Candle): never {
  const fields = Object.entries({ open, high, low, close, volume });
  const [field, value] = fields.find(([, each]) => !Number.isFinite(each)) ?? ["volume", volume];
  throw new InvalidInputError(
    `candle.${field}`,
    "a number that is finite, as is its sum with the others",
    `is ${describe(value)}`,
  );
}

/** A value in a message. */
export function describe(value: unknown): string {
  if (typeof value === "string") return `"${value.slice(0, 60)}"`;
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}
