import type { Candle } from "../../contract/model.js";

/**
 * The candle's volume times where in its range it has closed, from −1 at the low to 1 at the high (Chaikin's money
 * flow volume); 0 for a candle without a range.
 */
export function moneyFlow({ high, low, close, volume }: Candle): number {
  const range = high - low;
  return range > 0 ? ((close - low - (high - close)) / range) * volume : 0;
}
