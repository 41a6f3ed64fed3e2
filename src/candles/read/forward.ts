import { type ClientCore, serviceNow } from "../../client/core.js";
import { sleepUntil } from "../../client/timers.js";
import type { Candle } from "../../contract/model.js";
import { APART } from "../../poll/apart.js";
import type { Intervals } from "../../timeframe.js";
import type { CandleRules } from "../rules.js";
import { ASKS, judgedWithLosses, type Losses, notWhole, pauseAfterStale } from "./asking.js";
import { EARLIEST } from "./beginning.js";
import { type CandleBook, emptyBook, isFinal } from "./book.js";
import { pauseFor } from "./judge.js";
import type { Page, ReadOptions, SeriesPages } from "./pages.js";
import {
  coveredBy,
  endOfRange,
  FIRST_STRIDE,
  isSilent,
  limitOf,
  type Stride,
  strideAfter,
  strideOver,
} from "./stride.js";

/** A part of a series that is final: all candles of `[from, to)`, save those whose rows could not be read. */
export interface FinalPart {
  readonly from: number;
  readonly to: number;
  readonly candles: readonly Candle[];
  readonly unreadable: ReadonlySet<number>;
  /** Whether there was a row that could not be read and may be that of any interval. */
  readonly hasUnplaced: boolean;
  /** The service's clock when this was true, and its epoch. */
  readonly observedAt: number;
  readonly epoch: number;
}

export interface ForwardOptions extends Losses {
  /** The first that is read; the start of an interval. */
  readonly from: number;
  /** Known candles before it. */
  readonly anchors?: readonly number[];
  /** The end, asked anew before each range, as it may be learned on the way or move. */
  readonly until: () => number;
  /** Told when an answer was made. */
  readonly onAnswer?: (at: number) => void;
}

/** How a walk goes on: kept where it fails. */
export interface ForwardWalk {
  stride: Stride;
  /** What pages have told of the ends of ranges, the nearest one last: they are read up to the first row of that. */
  readonly ends: Page[];
}

/** Reads a series on, page by page, as it becomes final. Rejects where an answer is not whole even when it is asked for again. */
export async function* readForward(
  core: ClientCore,
  pages: SeriesPages,
  rules: CandleRules,
  query: ForwardOptions,
  options: ReadOptions,
  walk: ForwardWalk = { stride: FIRST_STRIDE, ends: [] },
): AsyncGenerator<FinalPart> {
  const { ends } = walk;
  const { from: begin, anchors: before, until, onAnswer } = query;
  const { intervals } = rules;
  const { scheduler } = core;
  const pause = (ms: number) => sleepUntil(scheduler, scheduler.now() + ms, options.signal);
  let book = emptyBook(begin, before);
  /** An answer that begins with a silence: it counts once another one has shown that, too. */
  let waiting: Page | undefined;
  let page: Page | undefined;
  let [asks, stale] = [0, 0];
  // From before there was any pair nothing shows: the report says where to begin.
  if (begin < EARLIEST) await pages.beginning.learnCreation(serviceNow(core), options);
  for (let end = until(); book.finalUntil < end; end = until()) {
    if (page?.failure !== undefined) throw page.failure;
    const { finalUntil: from, anchors, silence, epoch } = book;
    const { stride } = walk;
    const isConfirming = waiting !== undefined && silence !== undefined;
    page = isConfirming || waiting?.epoch !== epoch ? undefined : waiting;
    if (!isConfirming) waiting = undefined;
    page ??= endAt(walk, intervals, book, end);
    if (page === undefined) {
      const known = Math.min(end, intervals.end(ends.at(-1)?.from ?? end));
      const to = isConfirming
        ? Math.min(intervals.end(silence.until), known)
        : endOfRange(intervals, stride, from, pages.beginning.start ?? EARLIEST, known);
      page = await pages.read({ from, to, anchors, searchUntil: end, ...limitOf(stride) }, options);
      if (page === undefined || page.from > from) {
        if (page !== undefined) ends.push(page);
        walk.stride = strideAfter(coveredBy(stride, intervals, { from, to }), undefined);
        continue;
      }
      if (!isConfirming && isSilent(page) && page.to < end) {
        walk.stride = strideOver(stride, page.to);
        continue;
      }
    }
    onAnswer?.(page.at);
    const judgement = await judgedWithLosses(pages, rules, book, page, query, options);
    const { changes, doubt, isGone } = judgement;
    book = judgement.book;
    if (doubt === "silence") waiting ??= page;
    const hasGone = book.finalUntil > from;
    if (hasGone) {
      const candles = changes.filter(isFinal).map(({ candle }) => candle);
      const unreadable = new Set(page.broken.filter((start) => start < book.finalUntil));
      const { at: observedAt, epoch, hasUnplaced } = page;
      yield { from, to: book.finalUntil, candles, unreadable, hasUnplaced, observedAt, epoch };
    }
    if (doubt === undefined && !isConfirming)
      walk.stride = strideAfter(coveredBy(stride, intervals, page), page);
    if (doubt !== undefined && doubt !== "silence") {
      asks = isGone ? 0 : hasGone ? 1 : asks + 1;
      if (asks > ASKS) throw notWhole(page);
      await pause(pauseFor(doubt) ?? APART);
      continue;
    }
    asks = 0;
    // A cache may give an answer once more, or one from before the range was final.
    stale = hasGone ? 0 : stale + 1;
    if (stale > 0) await pause(pauseAfterStale(stale));
  }
}

/** The end of a range that has been told, once all before its first candle is read, and the newest of that is this candle. */
function endAt(
  { ends }: ForwardWalk,
  intervals: Intervals,
  { finalUntil, anchors, epoch }: CandleBook,
  until: number,
): Page | undefined {
  while (ends.length > 0) {
    const page = ends.at(-1)!;
    if (page.from >= finalUntil && page.to <= until) return undefined;
    ends.pop();
    const follows = page.from === anchors.at(-1) && intervals.end(page.from) === finalUntil;
    if (follows && page.to <= until && page.epoch === epoch)
      return { ...page, from: finalUntil, lacking: new Set(), failure: undefined };
  }
  return undefined;
}
