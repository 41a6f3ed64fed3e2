import type { Paged, PageFacts } from "../../client/core.js";
import type { Candle } from "../../contract/model.js";
import type { Span } from "../../contract/store.js";
import type { AnyPairstreamError, PairstreamError } from "../../errors.js";
import type { Intervals } from "../../timeframe.js";

/** What the service has answered about the range `[from, to)`, checked, and followed to its last page. */
export interface Page {
  /** The start of an interval, as is `to`. */
  readonly from: number;
  readonly to: number;
  /** When the service made the answer, by its clock, at least. Instants of different epochs cannot be compared. */
  readonly at: number;
  readonly epoch: number;
  /** Whether its `Date` contradicts what is known of the service's clock: then nobody knows when it was made. */
  readonly isInDoubt: boolean;
  /** The candles of the range, and those that it shows before that; ascending, one an interval. */
  readonly candles: readonly Candle[];
  /** The known candles that it was asked for and does not show. */
  readonly lacking: readonly number[];
  /** The intervals of the range whose row breaks the contract, ascending. */
  readonly broken: readonly number[];
  /** Whether there is a row that breaks the contract and may be that of any interval. */
  readonly hasUnplaced: boolean;
  /** Whether its last cursor led nowhere: what it does not show is unknown. */
  readonly isUnfinished?: boolean;
  /** Whether its rows ascend: a service that cuts such an answer leaves out its newest. */
  readonly isAscending?: boolean;
  /** Why it tells only of a part of its range, where pages of that failed. */
  readonly failure?: PairstreamError | undefined;
  /** What is wrong with one of the broken rows, or with a cursor. */
  readonly refusal: AnyPairstreamError | undefined;
  /** Whether it shows no row at all. */
  readonly isEmpty: boolean;
  /** Before which the series has nothing, or nothing that shows; absent while that is not known. */
  readonly bornAt: number | undefined;
}

/** What one page of an answer holds. */
export interface Served extends Paged {
  readonly candles: readonly Candle[];
  /** The rows that break the contract, by the interval that they are of. */
  readonly broken: readonly { readonly key: number | undefined; readonly error: AnyPairstreamError }[];
  /** Where the range ended that was asked for. */
  readonly to: number;
}

/** What an answer is about: the range and known candles that were asked for, and the part of the range that it tells of. */
interface Question {
  readonly range: Span;
  readonly anchors: readonly number[];
  readonly told?: Span | undefined;
}

/** What the pages of an answer tell together. */
export function readOf(
  served: readonly Served[],
  { anchors, range, told = range }: Question,
): Omit<Page, "at" | "epoch" | "isInDoubt" | "bornAt"> {
  const rows = served.flatMap(({ candles }) => candles);
  const candles = onePerInterval(rows);
  const refused = served.flatMap(({ broken }) => broken);
  const isIn = (timestamp: number, { from, to }: Span) => timestamp >= from && timestamp < to;
  const broken = new Set(refused.flatMap(({ key }) => key ?? []));
  const hasUnplaced = refused.some(({ key }) => key === undefined);
  if (broken.size > 0) for (const { timestamp } of candles) broken.delete(timestamp);
  return {
    ...told,
    candles: candles.filter(({ timestamp }) => timestamp < told.to),
    lacking: lackingIn(anchors, { candles, broken: [...broken], hasUnplaced }),
    broken: [...broken].filter((key) => isIn(key, told)).sort((a, b) => a - b),
    hasUnplaced,
    isAscending: candles.length > 1 && isOrdered(rows, 1),
    // What lies beside the range is not asked for.
    refusal: refused.find(({ key }) => key === undefined || isIn(key, range))?.error,
    isEmpty: rows.length === 0 && refused.length === 0,
  };
}

/** Which known candles an answer does not show. A row without a place may be that of any of them. */
export function lackingIn(
  known: readonly number[],
  { candles, broken, hasUnplaced }: Pick<Page, "candles" | "broken" | "hasUnplaced">,
): readonly number[] {
  const shown = new Set([...candles.map(({ timestamp }) => timestamp), ...broken]);
  return hasUnplaced ? [] : known.filter((timestamp) => !shown.has(timestamp));
}

/** Whether rows ascend, or descend with -1. */
function isOrdered(rows: readonly Candle[], way: 1 | -1): boolean {
  return rows.every(({ timestamp }, at) => at === 0 || way * (timestamp - rows[at - 1]!.timestamp) >= 0);
}

/** Whether rows run from the newest to one before the range: then all of that has been shown, wherever the cursor leads. */
export function isShown(served: readonly Served[], { from, to }: Span): boolean {
  const last = served.at(-1)?.candles.at(-1);
  if (last === undefined || last.timestamp >= from) return false;
  const rows = served.flatMap(({ candles }) => candles);
  return isOrdered(rows, -1) && rows.some(({ timestamp }) => timestamp >= from && timestamp < to);
}

/** Candles in ascending order, one an interval: of several, the one with the most swaps. */
export function onePerInterval(rows: readonly Candle[]): Candle[] {
  const kept: Candle[] = [];
  for (const candle of [...rows].sort((a, b) => a.timestamp - b.timestamp)) {
    const last = kept.at(-1);
    if (last?.timestamp !== candle.timestamp) kept.push(candle);
    else if (isFuller(candle, last)) kept[kept.length - 1] = candle;
  }
  return kept;
}

function isFuller(candle: Candle, other: Candle): boolean {
  return candle.swaps > other.swaps || (candle.swaps === other.swaps && candle.volume > other.volume);
}

/**
 * The part of a range that its first pages tell of, up to the last row of `end`. Which side that is on shows in how the pages
 * follow on each other. A page of which none is known to follow tells only of its end, where its rows descend.
 */
export function toldOf(
  intervals: Intervals,
  { from, to }: Span,
  pages: readonly Served[],
  end: Served | undefined,
): Span | undefined {
  if (end === undefined) return undefined;
  const { first, last } = end.facts;
  const follow = (isNext: (page: PageFacts, before: PageFacts) => boolean) =>
    pages.every(
      ({ facts }, at) => facts.first <= facts.last && (at === 0 || isNext(facts, pages[at - 1]!.facts)),
    );
  const isAlone = pages.length < 2;
  const isNewestFirst = isAlone
    ? first < last && isOrdered(end.candles, -1)
    : follow((page, before) => page.last <= before.first);
  const isOldestFirst = !isAlone && follow((page, before) => page.first >= before.last);
  const told = isNewestFirst
    ? { from: Math.max(from, intervals.start(first)), to }
    : { from, to: isOldestFirst ? Math.min(to, intervals.end(intervals.start(last))) : from };
  return told.from < told.to ? told : undefined;
}
