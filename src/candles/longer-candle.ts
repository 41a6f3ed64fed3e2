import type { Candle } from "../contract/model.js";
import type { Intervals } from "../timeframe.js";

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

/** The longer candles of ascending ones. */
export function longerCandles(frames: Intervals, candles: readonly Candle[]): Candle[] {
  const parts = candles.map((candle) => ({ candle }));
  return Array.from(byFrame(frames, parts), ([start, inside]) => longerCandle(start, undefined, inside));
}

/** Ascending candles by the longer interval that they are in. */
export function byFrame<P extends Part>(
  frames: Intervals,
  parts: readonly P[],
): ReadonlyMap<number, readonly P[]> {
  const inside = new Map<number, P[]>();
  for (const part of parts) {
    const start = frames.start(part.candle.timestamp);
    const others = inside.get(start) ?? [];
    others.push(part);
    inside.set(start, others);
  }
  return inside;
}
