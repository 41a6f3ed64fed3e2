import type { Candle } from "../contract/model.js";

/**
 * The largest of the candle's range and its distances from the previous close (Wilder); NaN if `previousClose` is NaN.
 */
export function rangeSince({ high, low }: Candle, previousClose: number): number {
  return Math.max(high, previousClose) - Math.min(low, previousClose);
}
