import type { Candle } from "../../contract/model.js";

/** One candle an interval: of several, the one with the most swaps. */
export function fullest(candles: readonly Candle[]): Iterable<Candle> {
  if (isDescending(candles)) return candles;
  const best = new Map<number, Candle>();
  for (const candle of candles) {
    const other = best.get(candle.timestamp);
    const isFuller =
      other === undefined ||
      candle.swaps > other.swaps ||
      (candle.swaps === other.swaps && candle.volume > other.volume);
    if (isFuller) best.set(candle.timestamp, candle);
  }
  return best.values();
}

/** Whether candles come newest first, each once, as services usually serve them. */
function isDescending(candles: readonly Candle[]): boolean {
  for (let at = 1; at < candles.length; at++) {
    if (candles[at]!.timestamp >= candles[at - 1]!.timestamp) return false;
  }
  return true;
}

/** The order of a page's candles; `undefined` if it has fewer than two. */
export function orderOf(candles: readonly Candle[]): "descending" | "other" | undefined {
  if (candles.length < 2) return undefined;
  return isDescending(candles) ? "descending" : "other";
}
