import { type ClientCore, serviceNow } from "../../client/core.js";
import { sleepUntil } from "../../client/timers.js";
import type { Candle } from "../../contract/model.js";
import { APART } from "../../poll/apart.js";
import type { CandleRules } from "../rules.js";
import { ASKS, judged, type Losses, notWhole, pauseAfterStale, tellLosses } from "./asking.js";
import { EARLIEST } from "./beginning.js";
import { ANCHORS, type CandleBook, emptyBook, isFinal } from "./book.js";
import { ForwardWalk } from "./forward-walk.js";
import { pauseFor } from "./judge.js";
import { lackingIn, type Page } from "./page.js";
import type { ReadOptions, SeriesPages } from "./pages.js";

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
  /** Others after that, which have been shown before: an answer about their intervals has to show them as well. */
  readonly known?: readonly number[];
  /** The end, asked anew before each range, as it may be learned on the way or move. */
  readonly until: () => number;
  /** Told when an answer was made. */
  readonly onAnswer?: (at: number) => void;
}

/** Reads a series on, page by page, as it becomes final. Rejects where an answer is not whole even when it is asked for again. */
export async function* readForward(
  core: ClientCore,
  pages: SeriesPages,
  rules: CandleRules,
  query: ForwardOptions,
  options: ReadOptions,
  walk = new ForwardWalk(pages, rules),
): AsyncGenerator<FinalPart> {
  const { from: begin, anchors: before, until, onAnswer } = query;
  let { known = [] } = query;
  const { scheduler } = core;
  const pause = (ms: number) => sleepUntil(scheduler, scheduler.now() + ms, options.signal);
  // One that failed goes on from what it knew.
  let book = walk.book?.finalUntil === begin ? walk.book : emptyBook(begin, before);
  let [asks, stale] = [0, 0];
  // From before there was any pair nothing shows: the report says where to begin.
  if (begin < EARLIEST) await pages.beginning.learnCreation(serviceNow(core), options);
  for (let end = until(); book.finalUntil < end; end = until()) {
    const { finalUntil: from, anchors } = book;
    let page = await walk.next(book, { from, to: end, anchors, stale: stale + asks }, options);
    onAnswer?.(page.at);
    [book, page] = heldTo(known, book, page);
    const judgement = await judged(pages, rules, book, page, options);
    const { changes, doubt, gone } = judgement;
    tellLosses(pages, page, judgement, query, options);
    if (gone !== undefined) known = [];
    const candles = changes.filter(isFinal).map(({ candle }) => candle);
    book = { ...judgement.book, anchors: newestOf(judgement.book, candles) };
    walk.book = book;
    walk.note(page, doubt);
    const hasGone = book.finalUntil > from;
    if (hasGone) {
      const unreadable = new Set(page.broken.filter((start) => start < book.finalUntil));
      const { at: observedAt, epoch, hasUnplaced } = page;
      yield { from, to: book.finalUntil, candles, unreadable, hasUnplaced, observedAt, epoch };
    }
    if (doubt !== undefined && doubt !== "silence") {
      asks = gone !== undefined ? 0 : hasGone ? 1 : asks + 1;
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

/** The newest known candles of what has been read: those that lie further on are asked for with their own range. */
function newestOf({ anchors, finalUntil }: CandleBook, finals: readonly Candle[]): readonly number[] {
  const before = anchors.filter((anchor) => anchor < finalUntil);
  const told = finals.slice(-ANCHORS).map(({ timestamp }) => timestamp);
  return [...new Set([...before, ...told])].sort((a, b) => a - b).slice(-ANCHORS);
}

/** A book whose anchors include the known candles of an answer's range, and that answer with those that it lacks. */
function heldTo(known: readonly number[], book: CandleBook, page: Page): [CandleBook, Page] {
  const { anchors } = book;
  const own = known.filter((start) => start >= page.from && start < page.to && !anchors.includes(start));
  if (own.length === 0) return [book, page];
  return [
    { ...book, anchors: [...anchors, ...own].sort((a, b) => a - b) },
    { ...page, lacking: [...page.lacking, ...lackingIn(own, page)] },
  ];
}
