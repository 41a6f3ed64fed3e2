import type { Candle } from "./model.js";

/** The largest price, and the largest volume of a candle. Sums and squares of such numbers stay finite. */
export const LARGEST_AMOUNT = 1e100;

/** Whether a value can be a price or a volume. */
export function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= LARGEST_AMOUNT;
}

/** Whether a value can be a number of swaps. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

type Numbers = Omit<Candle, "timestamp">;

/**
 * The first wrong field of a candle, or `undefined`. The timestamp is not checked. `high` is wrong if it is below
 * `low`.
 */
export function wrongFieldOf(
  candle: { readonly [field in keyof Numbers]?: unknown },
): keyof Numbers | undefined {
  const { open, high, low, close, volume, swaps } = candle;
  if (!isAmount(open)) return "open";
  if (!isAmount(high)) return "high";
  if (!isAmount(low)) return "low";
  if (!isAmount(close)) return "close";
  if (!isAmount(volume)) return "volume";
  if (!isCount(swaps)) return "swaps";
  return high < low ? "high" : undefined;
}
