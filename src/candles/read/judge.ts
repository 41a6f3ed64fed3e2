import { APART, isApart, mayShowSoon } from "../../poll/apart.js";
import { type Span, spansUntil, withoutSpan, withSpan } from "../../spans.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import { ANCHORS, byAnotherClock, type CandleBook, type CandleChange, NONE_LACKING } from "./book.js";
import { compare } from "./comparison.js";
import { type BrokenRow, firstRowOf, isGone, lastRowOf, mayBeReadYet, readAgain } from "./evidence.js";
import type { Page } from "./page.js";

/**
 * Why another answer may tell more:
 * - `time`: nobody knows when this one was made, or its range begins after `finalUntil`,
 * - `rows`: something may be missing from it,
 * - `anchors`: it has lacked anchors for a while, as one of a machine that lags does: a poll waits for the next regular one,
 * - `silence`: it begins with a silence, which a second answer has to show as well.
 */
export type Doubt = "time" | "rows" | "anchors" | "silence";

/** What an answer has told. */
export interface Judgement {
  readonly book: CandleBook;
  /** Ascending by timestamp. */
  readonly changes: readonly CandleChange[];
  /** Why another answer may soon tell more; absent where the next regular one is soon enough. */
  readonly doubt: Doubt | undefined;
  /** The intervals whose broken rows are given up with this answer; `undefined` stands for a row without an interval. */
  readonly dropped: readonly (number | undefined)[];
  /** The anchors that are given up, all of them; absent where none are. */
  readonly gone?: readonly number[];
}

/**
 * What an answer makes of a book.
 *
 * A candle is open at first. It closes with the first whole answer that was made `settle` after its interval, and is final with the
 * first one that finds it outside the revision window (`statusNow` of `compare`). A status never goes back.
 *
 * An answer is sound if its time is certain, its range begins where the book is final or before, its last page was read, and it
 * has no row without an interval that may become readable. A sound answer is whole if it shows every anchor that is not gone:
 * anchors are the newest final candles.
 *
 * The values of any answer are taken. Only a whole one closes, finishes or removes candles. A candle is removed once a whole answer
 * lacks it a second or more after the first answer that does; where no row follows it, as long after it as `isGone` says.
 * Until then it keeps its status, no later candle closes or becomes final, and nothing from there on is newly covered. A broken row
 * holds them back in the same way, until three answers have held it.
 *
 * An answer whose first row comes after `finalUntil` begins with a silence, and that may be a cut. Until a later answer confirms
 * it, nothing becomes final. If there is no row at all, nothing is covered, either. An answer that shows an anchor was not cut.
 */
export function judge(rules: CandleRules, before: CandleBook, page: Page): Judgement {
  // An answer of which nobody knows when it was made does not tell how far another clock goes back.
  const isSameClock = page.isInDoubt || before.epoch === undefined || before.epoch === page.epoch;
  const book = isSameClock ? before : byAnotherClock(rules, before, page);
  const { at, to } = page;
  const lacking = anchorsLacking(book, page);
  const gone = anchorsGone(rules, book, page, lacking);
  const unplaced = page.hasUnplaced ? readAgain(book.broken.get(undefined), at) : undefined;
  const isJoined = page.from <= book.finalUntil;
  const isSound = isJoined && !page.isInDoubt && !page.isUnfinished && !mayBeReadYet(unplaced);
  // `gone` is a part of `lacking`.
  const isWhole = isSound && lacking.size === gone.length;
  const settledEnd = Math.min(settledUntil(rules, at), to);
  const windowFrom = Math.min(windowStart(rules, at), to);
  const silenceEnd = silenceEndOf(book, page);
  const isLaterAnswer = book.silence !== undefined && isApart(at, book.silence.at);
  const confirmedUntil = isLaterAnswer ? Math.max(book.finalUntil, book.silence!.until) : book.finalUntil;
  const isConfirmed = confirmedUntil >= silenceEnd;
  const reach = isConfirmed ? toldUntil(rules, book, page) : confirmedUntil;

  const comparison = compare(rules, book, page, {
    isWhole,
    isSound,
    unplaced,
    settledEnd,
    finalEnd: Math.min(windowFrom, reach),
  });
  const { broken, dropped, hold, hasDoubt } = comparison;

  let { finalUntil, covered, anchors, silence } = book;
  const isSilentThroughout = silenceEnd >= to;
  if (isWhole) {
    finalUntil = Math.max(finalUntil, Math.min(windowFrom, reach, hold));
    anchors = anchorsAfter(book, page, gone, finalUntil);
    if (unplaced === undefined) {
      const knownUntil = Math.min(settledEnd, isSilentThroughout ? reach : to, hold);
      covered = coveredAfter(rules, book, { broken, finalUntil }, knownUntil);
    }
    if (silenceEnd === book.finalUntil || silenceEnd < finalUntil) silence = undefined;
    else {
      // The first silence stays until a later answer, unless a longer one comes.
      const until = Math.min(settledEnd, silenceEnd);
      if (silence === undefined || isLaterAnswer || until > silence.until) silence = { until, at };
    }
  }
  // A silence that is not confirmed holds back what is covered or, where a row follows it, what is final. Where that is one
  // interval, the answer of the next closing is soon enough.
  const [reached, due] = isSilentThroughout
    ? [Math.max(confirmedUntil, book.covered.at(-1)!.to), settledEnd]
    : [confirmedUntil, windowFrom];
  const isHeldBack = isWhole && !isConfirmed && rules.intervals.count(reached, due) > 1;
  const isLag = isSound && !isWhole && !mayShowSoon(Math.max(...lacking.values()), at);
  const mayHideRows = hasDoubt || !(isWhole || isLag);
  const ofRows = mayHideRows ? "rows" : isLag ? "anchors" : isHeldBack ? "silence" : undefined;
  const doubt = page.isInDoubt || !isJoined ? "time" : ofRows;
  return {
    book: {
      // Arrays that have grown have room for seventeen, and each series keeps these.
      entries: comparison.entries.slice(),
      anchors,
      // All that a whole answer lacks is gone.
      lacking: page.isInDoubt ? book.lacking : isWhole ? NONE_LACKING : lacking,
      silence,
      broken: notFinal(broken, finalUntil),
      finalUntil,
      covered,
      observedAt: Math.max(at, book.observedAt),
      epoch: book.epoch ?? page.epoch,
    },
    changes: comparison.changes.slice(),
    doubt,
    dropped,
  };
}

/**
 * After how many ms to ask again: at once about the time, else when another answer counts as another; `undefined` where the
 * next regular one is soon enough.
 */
export function pauseFor(doubt: Doubt | undefined): number | undefined {
  if (doubt === "time") return 0;
  return doubt === "rows" || doubt === "silence" ? APART : undefined;
}

/** The anchors that an answer lacks, each with the time of the first answer that lacks it. */
function anchorsLacking(
  { anchors, lacking: before }: CandleBook,
  { lacking, at }: Page,
): ReadonlyMap<number, number> {
  if (lacking.length === 0) return NONE_LACKING;
  const own = anchors.filter((anchor) => lacking.includes(anchor));
  return new Map(own.map((anchor) => [anchor, before.get(anchor) ?? at]));
}

/** Those that are gone: two answers have lacked them, and this one shows another anchor. */
function anchorsGone(
  rules: CandleRules,
  { anchors }: CandleBook,
  page: Page,
  lacking: ReadonlyMap<number, number>,
): readonly number[] {
  if (lacking.size === 0 || lacking.size === anchors.length) return [];
  return anchors.filter(isLost(rules, page, lacking));
}

/** Whether answers have lacked all anchors for so long: either all of these were cut, or the anchors are gone. */
export function lacksAllAnchors(rules: CandleRules, { anchors, lacking }: CandleBook, page: Page): boolean {
  return anchors.length > 0 && anchors.every(isLost(rules, page, lacking));
}

/** Whether answers have lacked an anchor for long enough. */
function isLost(rules: CandleRules, page: Page, lacking: ReadonlyMap<number, number>) {
  return (anchor: number) => isGone(rules, page, anchor, lacking.get(anchor) ?? page.at);
}

function anchorsAfter(
  { anchors, covered, finalUntil: before }: CandleBook,
  { candles }: Page,
  gone: readonly number[],
  finalUntil: number,
): readonly number[] {
  const newest = anchors.at(-1) ?? 0;
  // What was final without it was never told, and no answer has to show it.
  const wasSilent = (timestamp: number) => timestamp >= covered.at(-1)!.from && timestamp < before;
  const finals = candles
    .filter(({ timestamp: at }) => at > newest && at < finalUntil && !wasSilent(at))
    .slice(-ANCHORS)
    .map(({ timestamp }) => timestamp);
  if (finals.length + gone.length === 0) return anchors;
  return [...anchors.filter((anchor) => !gone.includes(anchor)), ...finals].slice(-ANCHORS);
}

/**
 * Where the silence ends that an answer begins with: at its first row, or `finalUntil` where there is none. A service that cuts
 * an answer leaves out its oldest rows. So one that shows a row from before `finalUntil` was not cut; and a series has nothing
 * before `bornAt`.
 */
function silenceEndOf({ finalUntil }: CandleBook, page: Page): number {
  const first = firstRowOf(page);
  return first < finalUntil || first <= (page.bornAt ?? finalUntil) ? finalUntil : first;
}

/**
 * Until where an answer tells what is final. A service that tells of the oldest candles first leaves out the newest of an answer
 * that it cuts: the silence after its last row is one only once another answer begins with it. One that shows the newest known
 * candle there, or after it, was not cut.
 */
function toldUntil({ intervals }: CandleRules, { anchors, finalUntil }: CandleBook, page: Page): number {
  const { isAscending, to } = page;
  const last = lastRowOf(page);
  const isKnown = last < finalUntil || last <= (anchors.at(-1) ?? -Infinity);
  return !isAscending || isKnown ? to : Math.min(to, intervals.end(last));
}

/** The broken rows of intervals that are not final: those that are final are not asked for again. */
function notFinal(
  broken: ReadonlyMap<number | undefined, BrokenRow>,
  finalUntil: number,
): ReadonlyMap<number | undefined, BrokenRow> {
  if (broken.size === 0) return broken;
  return new Map([...broken].filter(([start]) => start === undefined || start >= finalUntil));
}

/**
 * What is covered after an answer that tells of every interval until `knownUntil`. A broken row that may become readable ends the
 * last span. One that is final, or is given up and followed by a covered interval, begins another span after it.
 */
function coveredAfter(
  { intervals }: CandleRules,
  before: CandleBook,
  { broken, finalUntil }: Pick<CandleBook, "broken" | "finalUntil">,
  knownUntil: number,
): readonly Span[] {
  let end = Math.max(before.covered.at(-1)!.to, knownUntil);
  // The book has told of the spans that end before it.
  const from = Math.min(before.finalUntil, end);
  let covered = withSpan(before.covered, { from, to: knownUntil }).filter(({ to }) => to >= from);
  for (const [start, row] of broken) {
    if (start === undefined || start >= end) continue;
    const next = intervals.end(start);
    const isPassed = start < finalUntil || (!mayBeReadYet(row) && next < end);
    if (isPassed) covered = withoutSpan(covered, { from: start, to: next });
    else end = start;
  }
  return spansUntil(covered, end);
}
