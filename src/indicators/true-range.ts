import type { Candle } from "../contract/model.js";

/** How far the price has moved since the candle before closed (Wilder); NaN where `previousClose` is. */
export function trueRange({ high, low }: Candle, previousClose: number): number {
  return Math.max(high, previousClose) - Math.min(low, previousClose);
}
