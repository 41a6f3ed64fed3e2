import type { Candle } from "../contract/model.js";

/** Something that holds a candle. */
interface Part {
  readonly candle: Candle;
}

/**
 * The candle of a longer interval, out of those in it: `settled`, which is made of the oldest ones, and the first `count`
 * of the others, ascending. There is at least one. Volumes are added in the order of time, so that parts give what all
 * of them at once give. Flat candles, which fill gaps, do not count before the first other one: their price is that of
 * an interval before.
 */
export function longerCandle(
  timestamp: number,
  settled: Candle | undefined,
  parts: readonly Part[],
  count = parts.length,
): Candle {
  if (settled !== undefined && count === 0) return settled;
  let { open, high, low, close, volume, swaps } = settled ?? parts[0]!.candle;
  for (let at = settled === undefined ? 1 : 0; at < count; at += 1) {
    const { candle } = parts[at]!;
    if (swaps === 0 && candle.swaps > 0) ({ open, high, low, volume } = { ...candle, volume: 0 });
    high = Math.max(high, candle.high);
    low = Math.min(low, candle.low);
    close = candle.close;
    volume += candle.volume;
    swaps += candle.swaps;
  }
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}
