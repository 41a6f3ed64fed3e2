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
export class LongerPast {
  readonly #frames: Intervals;
  readonly #past: Past;
  /** The newest candle that was read, for the range that follows on it. */
  #newest: number | undefined;

  constructor(frames: Intervals, past: Past) {
    this.#frames = frames;
    this.#past = past;
  }

  async *parts(query: ForwardOptions, options: ReadOptions): AsyncGenerator<FinalPart> {
    const anchors =
      query.anchors === undefined || query.anchors.length === 0 || this.#newest === undefined
        ? []
        : [this.#newest];
    const joined = new JoinedParts(this.#frames, query.from);
    for await (const part of this.#past.parts({ ...query, anchors }, options)) {
      const longer = joined.take(part);
      if (longer === undefined) continue;
      // What follows is read on from here, should this read fail.
      this.#newest = joined.newest;
      yield longer;
    }
  }

  async newest(query: BackwardOptions, options: ReadOptions): Promise<readonly FinalPart[]> {
    const frames = this.#frames;
    const parts = await this.#past.newest({ ...query, frames }, options);
    const starts = wholeFrames(frames, parts);
    const first = starts.length < query.count ? parts[0]?.from : starts.at(-query.count);
    const joined = new JoinedParts(frames, first === undefined ? 0 : frames.start(first));
    const longer = parts.flatMap((part) => joined.take(part) ?? []);
    this.#newest = joined.newest;
    return longer;
  }
}

/** Ascending parts of a past, made into those of longer candles. */
class JoinedParts {
  readonly #frames: Intervals;
  #rest: FinalPart | undefined;
  /** Where the next part begins: the start of a longer interval. */
  #from: number;
  /** The newest candle of what has been given. */
  newest: number | undefined;

  constructor(frames: Intervals, from: number) {
    this.#frames = frames;
    this.#from = from;
  }

  /** All that is whole with this part; `undefined` if nothing is. */
  take(part: FinalPart): FinalPart | undefined {
    const frames = this.#frames;
    const from = this.#from;
    const to = frames.start(part.to);
    const candles = [...(this.#rest?.candles ?? []), ...part.candles].filter(
      ({ timestamp }) => timestamp >= from,
    );
    const unreadable = new Set([...(this.#rest?.unreadable ?? []), ...part.unreadable]);
    const hasUnplaced = part.hasUnplaced || this.#rest?.hasUnplaced === true;
    const whole = { ...part, from, to, candles, unreadable, hasUnplaced };
    this.#rest = whole;
    if (to <= from) return undefined;
    const isIn = (timestamp: number) => timestamp < to;
    this.#rest = {
      ...whole,
      candles: candles.filter(({ timestamp }) => !isIn(timestamp)),
      unreadable: new Set([...unreadable].filter((timestamp) => !isIn(timestamp))),
    };
    this.#from = to;
    const inside = candles.filter(({ timestamp }) => isIn(timestamp));
    this.newest = inside.at(-1)?.timestamp ?? this.newest;
    const held = inside.map((candle) => ({ candle }));
    return {
      ...whole,
      candles: Array.from(byFrame(frames, held), ([start, parts]) => longerCandle(start, undefined, parts)),
      unreadable: new Set([...unreadable].filter(isIn).map(frames.start)),
    };
  }
}
