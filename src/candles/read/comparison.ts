import type { Candle } from "../../contract/model.js";
import { isApart, mayShowSoon } from "../../poll/apart.js";
import type { CandleStatus } from "../event.js";
import type { CandleRules } from "../rules.js";
import { type CandleBook, type CandleChange, type CandleEntry, changeOf, NONE_BROKEN } from "./book.js";
import { type BrokenRow, isGone, lastRowOf, mayBeReadYet, readAgain } from "./evidence.js";
import type { Page } from "./page.js";

/** How far an answer is believed. */
interface Belief {
  /** As `judge` says. */
  readonly isWhole: boolean;
  readonly isSound: boolean;
  /** Its broken row without an interval: that may be of any candle that the answer lacks. */
  readonly unplaced: BrokenRow | undefined;
  /** The intervals before `settledEnd` close with it, and those before `finalEnd` become final, up to `hold`. */
  readonly settledEnd: number;
  readonly finalEnd: number;
}

/** What an answer makes of the intervals of a book. */
interface Comparison {
  readonly entries: readonly CandleEntry[];
  readonly changes: readonly CandleChange[];
  readonly broken: ReadonlyMap<number | undefined, BrokenRow>;
  readonly dropped: readonly (number | undefined)[];
  /** The first interval of which the answer does not tell enough: nothing from there on closes. */
  readonly hold: number;
  /** Whether another answer may soon tell more of it. */
  readonly hasDoubt: boolean;
}

/** Compares an answer with a book, interval by interval, ascending. */
export function compare(rules: CandleRules, before: CandleBook, page: Page, belief: Belief): Comparison {
  const { isWhole, isSound, unplaced, settledEnd, finalEnd } = belief;
  const { from, to, at } = page;
  const { finalUntil } = before;
  const entries: CandleEntry[] = [];
  const changes: CandleChange[] = [];
  let broken: Map<number | undefined, BrokenRow> | undefined;
  const dropped: (number | undefined)[] = [];
  let hold = Infinity;
  let hasDoubt = false;

  const statusNow = (timestamp: number): CandleStatus => {
    if (!isWhole || timestamp >= hold || timestamp >= settledEnd) return "open";
    return timestamp < finalEnd ? "final" : "closed";
  };

  const keep = (entry: CandleEntry) => {
    if (entry.status !== "final" || rules.frames !== undefined) entries.push(entry);
  };

  const show = (candle: Candle, entry: CandleEntry | undefined) => {
    const change = changeOf(entry, candle, statusNow(candle.timestamp));
    if (change !== undefined) changes.push(change);
    const { status, revision } = change ?? entry!;
    const isSame = change === undefined && entry!.missedAt === undefined;
    keep(isSame ? entry! : { candle, status, revision });
  };

  /** Whether the answer is about an interval that has begun. If the clock was set back, it may not have. */
  const isAsked = (timestamp: number) => timestamp >= from && timestamp < to && timestamp <= at;

  /**
   * Keeps a candle as it was last read. One that had closed becomes final so. An open one leaves the book in silence once its
   * interval is final: nobody knows how it ended.
   */
  const keepUnread = ({ candle, status, revision }: CandleEntry) => {
    if (statusNow(candle.timestamp) !== "final") keep({ candle, status, revision });
    else if (status === "closed")
      changes.push({ type: "updated", candle, previous: candle, status: "final", revision: revision + 1 });
  };

  const holdFrom = (timestamp: number, isDoubtful: boolean) => {
    hold = Math.min(hold, timestamp);
    hasDoubt ||= isDoubtful;
  };

  const miss = (entry: CandleEntry) => {
    const { candle, status, revision } = entry;
    const { timestamp } = candle;
    const isNewest = timestamp > lastRowOf(page);
    // What the answer before has lacked along with anchors counts only where nothing newer shows.
    const missedAt = before.lacking.size === 0 || isNewest ? entry.missedAt : undefined;
    const missed = { ...entry, missedAt: missedAt ?? at };
    if (!isAsked(timestamp) || !isWhole) {
      // One that lacks anchors counts where nothing newer shows: so does the answer of a machine that lags.
      const isMissed = isSound && isAsked(timestamp) && isNewest;
      keep(isMissed ? missed : entry);
    } else if (unplaced !== undefined) keepUnread(entry);
    else if (missedAt !== undefined && isGone(rules, page, timestamp, missedAt)) {
      changes.push({ type: "removed", candle, status, revision: revision + 1 });
    } else {
      holdFrom(timestamp, mayShowSoon(missedAt ?? at, at));
      keep(missed);
    }
  };

  /** Keeps a broken row; `start`: of its interval, if it has one. */
  const keepBroken = (start: number | undefined, row: BrokenRow) => {
    broken ??= new Map();
    broken.set(start, row);
    const known = before.broken.get(start);
    if (!mayBeReadYet(row) && (known === undefined || mayBeReadYet(known))) dropped.push(start);
  };

  /** A row that cannot be read still proves that there is a candle. */
  const cannotRead = (start: number, entry: CandleEntry | undefined) => {
    const row = readAgain(before.broken.get(start), at);
    keepBroken(start, row);
    if (mayBeReadYet(row)) holdFrom(start, true);
    if (entry !== undefined) keepUnread(entry);
  };

  /** A broken row that one answer lacks is kept, and gone once another one lacks it. */
  const missBroken = (start: number, row: BrokenRow) => {
    const isSought = isWhole && isAsked(start);
    const missedAt = row.missedAt ?? at;
    if (isSought && isApart(at, missedAt)) return;
    keepBroken(start, isSought ? { ...row, missedAt } : row);
    holdFrom(start, true);
  };

  const { candles } = page;
  const { entries: known } = before;
  const troubled = troubledIntervals(before, page);
  // A longer interval that is not final keeps its final candles.
  const keptFrom = rules.frames?.start(finalUntil) ?? finalUntil;
  let [nextCandle, nextKnown, nextTroubled] = [0, 0, 0];
  while ((candles[nextCandle]?.timestamp ?? finalUntil) < finalUntil) nextCandle += 1;
  for (; (known[nextKnown]?.candle.timestamp ?? finalUntil) < finalUntil; nextKnown += 1)
    if (known[nextKnown]!.candle.timestamp >= keptFrom) entries.push(known[nextKnown]!);
  for (;;) {
    const candle = candles[nextCandle];
    const other = known[nextKnown];
    const trouble = troubled[nextTroubled] ?? Infinity;
    let start = trouble;
    if (candle !== undefined && candle.timestamp < start) start = candle.timestamp;
    if (other !== undefined && other.candle.timestamp < start) start = other.candle.timestamp;
    if (start === Infinity) break;
    const entry = other?.candle.timestamp === start ? other : undefined;
    if (entry !== undefined) nextKnown += 1;
    if (trouble === start) nextTroubled += 1;
    if (candle?.timestamp === start) {
      nextCandle += 1;
      show(candle, entry);
    } else if (page.broken.includes(start)) cannotRead(start, entry);
    else if (entry !== undefined) miss(entry);
    else missBroken(start, before.broken.get(start)!);
  }
  if (unplaced !== undefined) keepBroken(undefined, unplaced);
  return { entries, changes, broken: broken ?? NONE_BROKEN, dropped, hold, hasDoubt };
}

/** The intervals, ascending, of rows that are broken in an answer, or were in the one before. */
function troubledIntervals({ broken: before, finalUntil }: CandleBook, { broken }: Page): readonly number[] {
  if (before.size === 0 && broken.length === 0) return broken;
  const all = [...new Set([...broken, ...before.keys()])];
  return all
    .filter((start): start is number => start !== undefined && start >= finalUntil)
    .sort((a, b) => a - b);
}
