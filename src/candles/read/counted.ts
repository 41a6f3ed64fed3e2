import type { Intervals } from "../../timeframe.js";
import { mostIn } from "../making.js";
import type { FinalPart } from "./forward.js";

/** How many candles of the past are wanted. */
export interface Counted {
  readonly count: number;
  /** The intervals of the longer candles that are counted, each as a whole; default: the candles that are read. */
  readonly frames?: Intervals;
}

/** The longer intervals with candles that ascending parts hold as a whole, ascending. */
export function wholeFrames(frames: Intervals, parts: readonly FinalPart[]): readonly number[] {
  const from = parts[0]?.from ?? Infinity;
  const starts = parts.flatMap(({ candles }) => candles.map(({ timestamp }) => frames.start(timestamp)));
  return [...new Set(starts.filter((start) => start >= from))];
}

/** How many candles are still to be found, at most, where so many are wanted, or so many of the longer `frames`. */
export function stillWanted(
  { count, frames }: Counted,
  parts: readonly FinalPart[],
  intervals: Intervals,
): number {
  if (frames === undefined) return parts.reduce((left, { candles }) => left - candles.length, count);
  return (count - wholeFrames(frames, parts).length) * mostIn(frames, intervals);
}

/** Ascending parts without all before the newest candles, so many of them; the first one begins at the first of these. */
export function newestOf(parts: readonly FinalPart[], count: number): readonly FinalPart[] {
  let surplus = parts.reduce((sum, { candles }) => sum + candles.length, -count);
  return parts.flatMap((part) => {
    if (surplus <= 0) return part;
    const candles = part.candles.slice(surplus);
    surplus -= part.candles.length;
    return candles.length === 0 ? [] : { ...part, from: candles[0]!.timestamp, candles };
  });
}
