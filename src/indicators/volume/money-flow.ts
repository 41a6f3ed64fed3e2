import type { HighLowCloseVolume } from "../rows.js";

/**
 * Chaikin's money flow volume: the volume times the position of the close in the range, from −1 at the low to 1 at the
 * high; 0 for a candle without a range.
 */
export function moneyFlow({ high, low, close, volume }: HighLowCloseVolume): number {
  const range = high - low;
  return range > 0 ? ((close - low - (high - close)) / range) * volume : 0;
}
