import type { ClientCore } from "../../client/core.js";
import { sleepUntil } from "../../client/timers.js";
import { APART, isApart } from "../../poll/apart.js";
import { spansUntil } from "../../spans.js";
import type { Intervals } from "../../timeframe.js";
import { mostIn } from "../making.js";
import { type CandleRules, windowStart } from "../rules.js";
import { ASKS, judged, type Losses, notWhole, pauseAfterStale, tellLosses } from "./asking.js";
import { EARLIEST } from "./beginning.js";
import { type CandleBook, emptyBook } from "./book.js";
import { firstRowOf } from "./evidence.js";
import type { FinalPart, ForwardOptions } from "./forward.js";
import { pauseFor } from "./judge.js";
import type { Page } from "./page.js";
import { FULL_PAGE, type ReadOptions, type SeriesPages } from "./pages.js";
import {
  coveredBy,
  limitOf,
  type Stride,
  shorterStride,
  startOfRange,
  strideAfter,
  strideToFind,
} from "./stride.js";

/** How many candles of the past are wanted. */
export interface Counted {
  readonly count: number;
  /** The intervals of the longer candles that are counted, each as a whole; default: the candles that are read. */
  readonly frames?: Intervals;
}

export interface BackwardOptions extends Counted, Losses {
  /** How far back to read at most; the start of an interval. Default: as far as there may be anything. */
  readonly from?: number;
  /** The newest known candle before that, if any is near: an answer that reaches so far back has to show it as well. */
  readonly beside?: readonly number[];
  /** The end of the newest of them, asked anew until one is found, as the first answer may tell the time. */
  readonly until: () => number;
  /** A candle before that which has been shown before, if any has: the first answer has to show it as well. */
  readonly known?: readonly number[];
  /** What a walk has found that has failed; this one goes on from there. */
  readonly walk: BackwardWalk;
  /** Told of each part as it is found; gives what takes its place. */
  readonly onPart?: (part: FinalPart) => FinalPart;
}

/** How far back a walk has come: what it has found, ascending, and how far it goes next. */
export interface BackwardWalk {
  readonly parts: FinalPart[];
  /** What answers have shown that were not whole: the next one has to show it as well. */
  book?: CandleBook;
  stride?: Stride;
  /** What pages have told of the beginnings of ranges, the nearest one last: they are read back to the last row of that. */
  told?: readonly Page[];
}

/** Reads what is past of a series, wherever that comes from. */
export interface PastReader {
  /** All of a range, ascending, part by part. */
  parts(query: ForwardOptions, options: ReadOptions): AsyncGenerator<FinalPart>;
  /** The newest candles before an instant, in ascending parts: as many as are wanted, and what else their answers have shown. */
  newest(query: BackwardOptions, options: ReadOptions): Promise<readonly FinalPart[]>;
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

/**
 * Reads a series back until `count` candles are found, or it begins. The parts ascend, and the first one begins at a
 * candle. Each answer has to show the first candle of the part after it. The silence before the series
 * counts once a second answer, made apart, has shown it.
 */
export async function readBackward(
  core: ClientCore,
  pages: SeriesPages,
  rules: CandleRules,
  query: BackwardOptions,
  options: ReadOptions,
): Promise<readonly FinalPart[]> {
  const { from: bottom = EARLIEST, until, known: shown = [], walk, onPart = (part) => part } = query;
  let { beside = [] } = query;
  const { intervals } = rules;
  const { parts } = walk;
  const { scheduler } = core;
  const pause = (ms: number) => sleepUntil(scheduler, scheduler.now() + ms, options.signal);
  const earliest = () => Math.max(intervals.start(bottom), intervals.start(pages.beginning.start ?? 0));
  const endOf = () => parts[0]?.from ?? until();
  // One that lies more than a page away would cost more than it tells.
  let known = shown.filter((timestamp) => intervals.count(timestamp, until()) <= FULL_PAGE);
  const anchorsOf = () => parts[0]?.candles.slice(0, 1).map(({ timestamp }) => timestamp) ?? known;
  walk.book ??= emptyBook(endOf(), anchorsOf());
  /** When an answer was made that shows nothing from the earliest start on. */
  let silentAt: number | undefined;
  let [asks, stale] = [0, 0];
  let page: Page | undefined;
  for (;;) {
    const missing = stillWanted(query, parts, intervals);
    const to = endOf();
    if (missing <= 0 || to <= earliest()) return parts;
    if (page?.failure !== undefined) throw page.failure;
    walk.stride ??= { length: Math.min(FULL_PAGE, stillWanted(query, [], intervals)) };
    const kept = toldUntil(walk, to);
    const begin = Math.max(startOfRange(intervals, walk.stride, to, earliest()), lastOf(walk));
    let { anchors } = walk.book;
    if (begin <= earliest()) anchors = [...new Set([...beside, ...anchors])];
    const limit = limitOf(walk.stride, missing);
    const asked = { from: begin, to, anchors, stale: stale + asks, searchUntil: to, ...limit };
    page = kept ?? (await pages.read(asked, options));
    if (page === undefined || page.to < to) {
      if (page?.candles.length) walk.told = [...(walk.told ?? []), page];
      walk.stride = shorterStride(walk.stride, intervals, asked);
      continue;
    }
    const { from } = page;
    const stride = coveredBy(walk.stride, intervals, page);
    if (windowStart(rules, page.at) < to) {
      // By the service's clock it ends sooner.
      if (endOf() < to) continue;
      // A cache may give an answer from before the range was final.
      stale += 1;
      await pause(pauseAfterStale(stale));
      continue;
    }
    // What lies before the first row is read with the next range.
    const inRange = page.candles.filter(({ timestamp }) => timestamp >= from);
    const start = firstRowOf({ candles: inRange, broken: page.broken, to });
    const isSilent = start === to;
    // An answer that is cut there lacks the first candle of the part after it, too.
    // What follows the last row that was told counts once an answer has begun with that.
    const isAscending = page.isAscending === true && inRange.at(-1)?.timestamp !== lastOf(walk);
    const part = { ...page, from: isSilent ? from : start, bornAt: to, isAscending };
    const { from: finalUntil } = part;
    const before = { ...walk.book, anchors, finalUntil, covered: spansUntil([], finalUntil) };
    const judgement = await judged(pages, rules, before, part, options);
    tellLosses(pages, part, judgement, query, options);
    const { doubt, gone } = judgement;
    const { finalUntil: told } = judgement.book;
    if (doubt === undefined && told < to) {
      walk.told = [...(walk.told ?? []), { ...page, to: told }];
      continue;
    }
    walk.book = judgement.book;
    if (doubt !== undefined) {
      if (gone !== undefined) {
        known = [];
        beside = [];
        parts.splice(0, 1, ...parts.slice(0, 1).flatMap(withoutFirst));
        walk.book = { ...walk.book, anchors: anchorsOf() };
      }
      asks = gone !== undefined ? 0 : asks + 1;
      if (asks > ASKS) throw notWhole(page);
      await pause(pauseFor(doubt) ?? APART);
      continue;
    }
    asks = 0;
    const { at: observedAt, epoch, hasUnplaced } = page;
    const common = { unreadable: new Set(page.broken), hasUnplaced, observedAt, epoch };
    if (inRange.length > 0) {
      parts.unshift(onPart({ from: start, to, candles: inRange, ...common }));
      walk.book = emptyBook(start, anchorsOf());
      stale = 0;
      walk.stride = strideToFind(stride, page, stillWanted(query, parts, intervals));
      silentAt = undefined;
    } else if (from > earliest()) {
      stale = 0;
      // The row that it should have shown is gone, and what was told up to there may be, too.
      if (from === lastOf(walk)) walk.told = [];
      await pages.beginning.learnCreation(page.at, options);
      walk.stride = { ...strideAfter(stride, page), silentTo: from };
    } else if (silentAt !== undefined && isApart(page.at, silentAt)) {
      parts.unshift(onPart({ from, to, candles: [], ...common }));
      return parts;
    } else {
      silentAt ??= page.at;
      stale += 1;
      await pause(APART);
    }
  }
}

/** The last row of the nearest beginning that has been told: what lies before it is not asked for again. */
function lastOf({ told }: BackwardWalk): number {
  return told?.at(-1)?.candles.at(-1)?.timestamp ?? -Infinity;
}

/** The nearest beginning that has been told, once all from its last row on is read by the same clock. */
function toldUntil(walk: BackwardWalk, to: number): Page | undefined {
  const last = lastOf(walk);
  if (last < to) return undefined;
  const page = walk.told!.at(-1)!;
  walk.told = walk.told!.slice(0, -1);
  if (last > to || page.epoch !== walk.parts[0]?.epoch) return toldUntil(walk, to);
  const broken = page.broken.filter((row) => row < to);
  const candles = page.candles.slice(0, -1);
  return { ...page, to, candles, broken, isAscending: false, failure: undefined };
}

/** A part without its first candle, which is gone: what lies before the next one is read again. */
function withoutFirst(part: FinalPart): readonly FinalPart[] {
  const candles = part.candles.slice(1);
  return candles.length > 0 ? [{ ...part, from: candles[0]!.timestamp, candles }] : [];
}
