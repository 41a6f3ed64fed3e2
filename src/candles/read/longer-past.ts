import type { Candle } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { longerCandles } from "../longer-candle.js";
import { type PastReader, wholeFrames } from "./backward.js";
import type { FinalPart } from "./forward.js";

/** The past of longer candles, made of those that another reader gives. Its ranges begin and end with a longer interval. */
export function longerPast(frames: Intervals, past: PastReader): PastReader {
  /** The newest candle that was read, for the range that follows on it. */
  let newest: number | undefined;

  /** Joins ascending parts; each gives the longer candles that are whole with it, from where the one before has ended. */
  const joining = (begin: number) => {
    let from = begin;
    let known: Candle[] = [];
    let rows: number[] = [];
    let hasUnplaced = false;
    return (part: FinalPart): readonly FinalPart[] => {
      const to = frames.start(part.to);
      known = [...known, ...part.candles.filter(({ timestamp }) => timestamp >= begin)];
      rows = [...rows, ...part.unreadable];
      hasUnplaced ||= part.hasUnplaced;
      if (to <= from) return [];
      const whole = known.filter(({ timestamp }) => timestamp < to);
      const unreadable = new Set(rows.filter((row) => row >= from && row < to).map(frames.start));
      const made = { ...part, from, to, candles: longerCandles(frames, whole), unreadable, hasUnplaced };
      newest = whole.at(-1)?.timestamp ?? newest;
      known = known.slice(whole.length);
      rows = rows.filter((row) => row >= to);
      hasUnplaced = false;
      from = to;
      return [made];
    };
  };

  return {
    async *parts(query, options) {
      const anchors = query.anchors?.length && newest !== undefined ? [newest] : [];
      const take = joining(query.from);
      // What has not been given is read again, should this read fail.
      for await (const part of past.parts({ ...query, anchors }, options)) yield* take(part);
    },
    async newest(query, options) {
      const parts = await past.newest({ ...query, frames }, options);
      const first = wholeFrames(frames, parts).at(-query.count) ?? parts[0]?.from ?? 0;
      return parts.flatMap(joining(frames.start(first)));
    },
  };
}
