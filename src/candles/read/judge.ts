import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import { ANCHORS, byAnotherClock, type CandleBook, type CandleChange, dueBy, NONE_LACKING } from "./book.js";
import { Comparison } from "./comparison.js";
import { APART, type BrokenRow, isApart, isDoubted, isGone, readAgain } from "./evidence.js";
import type { Page } from "./pages.js";

/**
 * Why another answer may tell more:
 * - `time`: nobody knows when this one was made, or it begins behind what is known,
 * - `rows`: something may be missing from it,
 * - `silence`: it begins with a silence, which a second answer has to show as well.
 */
export type Doubt = "time" | "rows" | "silence";

/** What an answer has told. */
export interface Judgement {
  readonly book: CandleBook;
  /** Ascending by timestamp. */
  readonly changes: readonly CandleChange[];
  /** Why another answer may tell more; absent where this one has told all there is. */
  readonly doubt: Doubt | undefined;
  /** The intervals whose broken rows are given up with this answer; `undefined` stands for a row without an interval. */
  readonly dropped: readonly (number | undefined)[];
}

/**
 * What an answer makes of a book.
 *
 * An answer is whole if it shows every anchor that is not gone, can be read, and is known to be made when it says. What it
 * shows exists. What a whole answer lacks is gone once another one, made a second before, has lacked it too; at the newest
 * end that takes longer. Until then the candle stays as it is, and nothing from there on closes, becomes final, or is newly
 * covered. A silence at the beginning counts once two answers have shown it.
 */
export function judge(rules: CandleRules, known: CandleBook, page: Page): Judgement {
  const isSameClock = known.epoch === undefined || known.epoch === page.epoch;
  const book = isSameClock ? known : byAnotherClock(rules, known, page);
  const { at, to } = page;
  const lacking = anchorsLacking(book, page);
  const gone = anchorsGone(rules, book, page, lacking);
  const unplaced = page.hasUnplaced ? readAgain(book.broken.get(undefined), at) : undefined;
  // Between the book and an answer that begins behind it nothing is known.
  const isJoined = page.from <= book.finalUntil;
  const isSound = isJoined && !page.isInDoubt && page.isUnfinished !== true && !isDoubted(unplaced);
  const isWhole = isSound && lacking.size === gone.size;
  const settledEnd = Math.min(settledUntil(rules, at), to);
  const windowFrom = Math.min(windowStart(rules, at), to);
  const silenceEnd = silenceEndOf(book, page);
  const isSecond = book.silence !== undefined && isApart(at, book.silence.at);
  const confirmedUntil = isSecond ? Math.max(book.finalUntil, book.silence!.until) : book.finalUntil;
  const isConfirmed = confirmedUntil >= silenceEnd;
  const reach = isConfirmed ? to : confirmedUntil;

  const comparison = new Comparison(rules, book, page, {
    isWhole,
    isSound,
    // A row without a place may be that of any candle.
    isAbsenceKnown: unplaced === undefined,
    settledEnd,
    finalEnd: Math.min(windowFrom, reach),
  });
  if (unplaced !== undefined) comparison.keepBroken(undefined, unplaced);
  const { entries, changes, broken, dropped, hold, hasDoubt } = comparison;

  let { finalUntil, coveredFrom, coveredUntil, anchors, silence } = book;
  const isSilentThroughout = silenceEnd >= to;
  if (isWhole) {
    finalUntil = Math.max(finalUntil, Math.min(windowFrom, reach, hold));
    anchors = anchorsAfter(book, page, gone, finalUntil);
    if (unplaced === undefined) {
      const knownUntil = Math.min(settledEnd, isSilentThroughout ? reach : to, hold);
      ({ coveredFrom, coveredUntil } = covered(rules, book, page, { broken, finalUntil }, knownUntil));
    }
    if (silenceEnd === book.finalUntil || silenceEnd < finalUntil) silence = undefined;
    else {
      const until = Math.min(settledEnd, silenceEnd);
      if (silence === undefined || isSecond || until > silence.until) silence = { until, at };
    }
  }
  // If only one interval waits for a second answer, that of the next closing is soon enough.
  const [seen, wanted] = isSilentThroughout
    ? [Math.max(confirmedUntil, book.coveredUntil), settledEnd]
    : [confirmedUntil, windowFrom];
  const isHeldBack = isWhole && !isConfirmed && rules.intervals.count(seen, wanted) > 1;
  const doubt =
    page.isInDoubt || !isJoined ? "time" : !isWhole || hasDoubt ? "rows" : isHeldBack ? "silence" : undefined;
  return {
    book: {
      entries,
      anchors,
      lacking: page.isInDoubt ? book.lacking : lacking,
      silence,
      broken: notFinal(broken, finalUntil),
      finalUntil,
      coveredFrom,
      coveredUntil,
      observedAt: Math.max(at, book.observedAt),
      epoch: page.epoch,
    },
    changes,
    doubt,
    dropped,
  };
}

/** After how many ms to ask again where something is in doubt: at once, or when a cache has another answer. */
export function pauseFor(doubt: Doubt | undefined): number | undefined {
  return doubt && (doubt === "time" ? 0 : APART);
}

/** The anchors that an answer lacks, each with when the first answer was made that lacks it. */
function anchorsLacking(
  { anchors, lacking: before }: CandleBook,
  { lacking, at }: Page,
): ReadonlyMap<number, number> {
  if (lacking.size === 0) return NONE_LACKING;
  const own = dueBy(anchors, at).filter((anchor) => lacking.has(anchor));
  return new Map(own.map((anchor) => [anchor, Math.min(before.get(anchor) ?? at, at)]));
}

/** Those of them that are gone: answers made apart have lacked them, and this one shows another anchor. */
function anchorsGone(
  rules: CandleRules,
  { anchors }: CandleBook,
  page: Page,
  lacking: ReadonlyMap<number, number>,
): ReadonlySet<number> {
  const gone = new Set<number>();
  if (lacking.size === dueBy(anchors, page.at).length) return gone;
  for (const [anchor, missedAt] of lacking) if (isGone(rules, page, anchor, missedAt)) gone.add(anchor);
  return gone;
}

function anchorsAfter(
  { anchors, coveredFrom, finalUntil: before }: CandleBook,
  { candles }: Page,
  gone: ReadonlySet<number>,
  finalUntil: number,
): readonly number[] {
  const finals: number[] = [];
  for (const { timestamp } of candles) {
    if (timestamp >= finalUntil) break;
    // A candle that turns up in what was final as a silence was never told: no answer is held to it.
    const isPassed = timestamp >= coveredFrom && timestamp < before;
    if (timestamp > (anchors.at(-1) ?? 0) && !isPassed) finals.push(timestamp);
  }
  if (finals.length === 0 && gone.size === 0) return anchors;
  return [...anchors.filter((anchor) => !gone.has(anchor)), ...finals].slice(-ANCHORS);
}

/**
 * Where the silence ends that an answer begins with; `finalUntil` if it shows a row from before that, as it has none then. A
 * service that cuts an answer leaves out its oldest rows.
 */
function silenceEndOf({ finalUntil }: CandleBook, { candles, broken, bornAt, to }: Page): number {
  const first = Math.min(candles[0]?.timestamp ?? to, broken[0] ?? to);
  return first < finalUntil || first <= (bornAt ?? finalUntil) ? finalUntil : first;
}

/** Without the rows of intervals that are final: nothing is asked about these any more. */
function notFinal(
  broken: ReadonlyMap<number | undefined, BrokenRow>,
  finalUntil: number,
): ReadonlyMap<number | undefined, BrokenRow> {
  if (broken.size === 0) return broken;
  return new Map([...broken].filter(([start]) => start === undefined || start >= finalUntil));
}

/**
 * What is covered after an answer by which every interval until `knownUntil` is known. A broken row ends it while it may be
 * read yet; once it is given up, or final, what is covered begins behind it, if there is anything.
 */
function covered(
  { intervals }: CandleRules,
  before: CandleBook,
  { from }: Page,
  { broken, finalUntil }: Pick<CandleBook, "broken" | "finalUntil">,
  knownUntil: number,
): Pick<CandleBook, "coveredFrom" | "coveredUntil"> {
  const advances = knownUntil > before.coveredUntil;
  let end = Math.max(before.coveredUntil, knownUntil);
  let start = advances && from > before.coveredUntil ? from : before.coveredFrom;
  for (const [interval, row] of broken) {
    if (interval === undefined || interval < start || interval >= end) continue;
    const isPassed = !isDoubted(row) && intervals.end(interval) < end;
    if (interval < finalUntil || isPassed) start = Math.max(start, intervals.end(interval));
    else end = Math.min(end, interval);
  }
  return { coveredFrom: Math.min(start, end), coveredUntil: end };
}
