import type { Intervals } from "../../timeframe.js";
import { longerCandle } from "../longer-candle.js";
import type { BackwardOptions } from "./backward.js";
import { wholeFrames } from "./counted.js";
import type { FinalPart, ForwardOptions } from "./forward.js";
import { byFrame } from "./longer-book.js";
import type { ReadOptions } from "./pages.js";

/** What reads a past. */
interface Past {
  parts(query: ForwardOptions, options: ReadOptions): AsyncGenerator<FinalPart>;
  newest(query: BackwardOptions, options: ReadOptions): Promise<readonly FinalPart[]>;
}

/** The past of longer candles, made of those that another reader gives. Its ranges begin and end with a longer interval. */
export function longerPast(frames: Intervals, past: Past): Past {
  /** The newest candle that was read, for the range that follows on it. */
  let newest: number | undefined;

  /** Joins ascending parts; each gives all that is whole with it, from where the one before has ended. */
  const joining = (begin: number) => {
    let from = begin;
    let rest: FinalPart | undefined;
    return (part: FinalPart): readonly FinalPart[] => {
      const known = rest === undefined ? part : joined(rest, part);
      const to = Math.max(from, frames.start(part.to));
      rest = cut(known, to, part.to);
      if (to === from) return [];
      const whole = cut(known, from, to);
      from = to;
      newest = whole.candles.at(-1)?.timestamp ?? newest;
      const inside = byFrame(
        frames,
        whole.candles.map((candle) => ({ candle })),
      );
      const candles = Array.from(inside, ([start, parts]) => longerCandle(start, undefined, parts));
      return [{ ...whole, candles, unreadable: new Set([...whole.unreadable].map(frames.start)) }];
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
      const starts = wholeFrames(frames, parts);
      const first = starts.length < query.count ? parts[0]?.from : starts.at(-query.count);
      return parts.flatMap(joining(frames.start(first ?? 0)));
    },
  };
}

function joined(a: FinalPart, b: FinalPart): FinalPart {
  return {
    ...b,
    candles: [...a.candles, ...b.candles],
    unreadable: new Set([...a.unreadable, ...b.unreadable]),
    hasUnplaced: a.hasUnplaced || b.hasUnplaced,
  };
}

/** What lies in `[from, to)`. */
function cut(part: FinalPart, from: number, to: number): FinalPart {
  const isIn = (timestamp: number) => timestamp >= from && timestamp < to;
  return {
    ...part,
    from,
    to,
    candles: part.candles.filter(({ timestamp }) => isIn(timestamp)),
    unreadable: new Set([...part.unreadable].filter(isIn)),
  };
}
