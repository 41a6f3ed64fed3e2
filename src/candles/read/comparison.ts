import type { Candle } from "../../contract/model.js";
import { isApart, mayShowSoon } from "../../poll/apart.js";
import type { CandleStatus } from "../event.js";
import type { CandleRules } from "../rules.js";
import { type CandleBook, type CandleChange, type CandleEntry, changeOf, NONE_BROKEN } from "./book.js";
import { type BrokenRow, isGone, mayBeReadYet, readAgain, showsNothingAfter } from "./evidence.js";
import type { Page } from "./page.js";

const NOTHING: readonly CandleChange[] = [];

/** How far an answer is believed. */
interface Belief {
  /** As `judge` says. */
  readonly isWhole: boolean;
  readonly isSound: boolean;
  /** Whether a candle that it lacks is absent, and not the broken row without an interval. */
  readonly isAbsenceKnown: boolean;
  /** The intervals before `settledEnd` close with it, and those before `finalEnd` become final, up to `hold`. */
  readonly settledEnd: number;
  readonly finalEnd: number;
}

/** An answer compared with a book, interval by interval, ascending. */
export class Comparison {
  readonly entries: CandleEntry[] = [];
  readonly dropped: (number | undefined)[] = [];
  /** The first interval of which the answer does not tell enough: nothing from there on closes. */
  hold = Infinity;
  /** Whether another answer may soon tell more of it. */
  hasDoubt = false;
  readonly #rules: CandleRules;
  readonly #before: CandleBook;
  readonly #page: Page;
  readonly #belief: Belief;
  /** An array takes room for seventeen with its first `push`, and most answers change one candle. */
  #told: CandleChange[] | undefined;
  #broken: Map<number | undefined, BrokenRow> | undefined;

  constructor(rules: CandleRules, book: CandleBook, page: Page, belief: Belief) {
    this.#rules = rules;
    this.#before = book;
    this.#page = page;
    this.#belief = belief;
    const { candles, broken } = page;
    const { entries, finalUntil } = book;
    const troubled = troubledIntervals(book, page);
    let [entryIndex, candleIndex, troubleIndex] = [0, 0, 0];
    while (candleIndex < candles.length && candles[candleIndex]!.timestamp < finalUntil) candleIndex += 1;
    // A longer interval that is not final keeps its final candles.
    const keptFrom = rules.frames?.start(finalUntil) ?? finalUntil;
    for (; (entries[entryIndex]?.candle.timestamp ?? finalUntil) < finalUntil; entryIndex += 1)
      if (entries[entryIndex]!.candle.timestamp >= keptFrom) this.entries.push(entries[entryIndex]!);
    for (;;) {
      const candle = candles[candleIndex];
      const entry = entries[entryIndex];
      const trouble = troubled[troubleIndex];
      let start = trouble ?? Infinity;
      if (candle !== undefined && candle.timestamp < start) start = candle.timestamp;
      if (entry !== undefined && entry.candle.timestamp < start) start = entry.candle.timestamp;
      if (start === Infinity) return;
      const known = entry?.candle.timestamp === start ? entry : undefined;
      if (known !== undefined) entryIndex += 1;
      if (trouble === start) troubleIndex += 1;
      if (candle?.timestamp === start) {
        candleIndex += 1;
        this.#show(candle, known);
      } else if (broken.includes(start)) this.#cannotRead(start, known, book.broken.get(start));
      else if (known !== undefined) this.#miss(known);
      else this.#missBroken(start, book.broken.get(start)!);
    }
  }

  get changes(): readonly CandleChange[] {
    return this.#told ?? NOTHING;
  }

  get broken(): ReadonlyMap<number | undefined, BrokenRow> {
    return this.#broken ?? NONE_BROKEN;
  }

  /** Keeps a broken row; `start`: of its interval, if it has one. */
  keepBroken(start: number | undefined, row: BrokenRow): void {
    this.#broken ??= new Map();
    this.#broken.set(start, row);
    const before = this.#before.broken.get(start);
    if (!mayBeReadYet(row) && (before === undefined || mayBeReadYet(before))) this.dropped.push(start);
  }

  #show(candle: Candle, entry: CandleEntry | undefined): void {
    const change = changeOf(entry, candle, this.#statusNow(candle.timestamp));
    if (change !== undefined) this.#tell(change);
    const { status, revision } = change ?? entry!;
    const isSame = change === undefined && entry!.missedAt === undefined;
    this.#keep(isSame ? entry! : { candle, status, revision });
  }

  #miss(entry: CandleEntry): void {
    const { candle, status, revision } = entry;
    const { timestamp } = candle;
    const { isWhole, isAbsenceKnown } = this.#belief;
    // What the answer before has lacked along with anchors counts only where nothing newer shows.
    const isCounted = this.#before.lacking.size === 0 || showsNothingAfter(this.#page, timestamp);
    const missedAt = isCounted ? entry.missedAt : undefined;
    if (!this.#isAsked(timestamp) || !isWhole) {
      this.#keep(this.#isMissed(timestamp) ? this.#missedSince(entry) : entry);
    } else if (!isAbsenceKnown) this.#keepUnread(entry);
    else if (missedAt !== undefined && isGone(this.#rules, this.#page, timestamp, missedAt)) {
      this.#tell({ type: "removed", candle, status, revision: revision + 1 });
    } else {
      const missed = this.#missedSince({ ...entry, missedAt });
      this.#holdAt(timestamp);
      this.hasDoubt ||= mayShowSoon(missed.missedAt, this.#page.at);
      this.#keep(missed);
    }
  }

  /**
   * Whether a sound answer that lacks anchors counts as one that lacks this candle: a machine that lags shows neither the
   * newest candles nor anything newer.
   */
  #isMissed(timestamp: number): boolean {
    return this.#belief.isSound && this.#isAsked(timestamp) && showsNothingAfter(this.#page, timestamp);
  }

  #missedSince(entry: CandleEntry) {
    return { ...entry, missedAt: entry.missedAt ?? this.#page.at };
  }

  /** A row that cannot be read still proves that there is a candle. */
  #cannotRead(start: number, entry: CandleEntry | undefined, before: BrokenRow | undefined): void {
    const row = readAgain(before, this.#page.at);
    this.keepBroken(start, row);
    if (mayBeReadYet(row)) this.#doubt(start);
    if (entry !== undefined) this.#keepUnread(entry);
  }

  /** A broken row that one answer lacks is kept, and gone once another one lacks it. */
  #missBroken(start: number, row: BrokenRow): void {
    const isSought = this.#belief.isWhole && this.#isAsked(start);
    const missedAt = row.missedAt ?? this.#page.at;
    if (isSought && isApart(this.#page.at, missedAt)) return;
    this.keepBroken(start, isSought ? { ...row, missedAt } : row);
    this.#doubt(start);
  }

  /**
   * Keeps a candle as it was last read. One that had closed becomes final so. An open one leaves the book in silence once its
   * interval is final: nobody knows how it ended.
   */
  #keepUnread(entry: CandleEntry): void {
    const { candle, status, revision } = entry;
    if (this.#statusNow(candle.timestamp) !== "final") this.#keep({ candle, status, revision });
    else if (status === "closed")
      this.#tell({ type: "updated", candle, previous: candle, status: "final", revision: revision + 1 });
  }

  /** Whether the answer is about an interval that has begun. If the clock was set back, it may not have. */
  #isAsked(timestamp: number): boolean {
    const { from, to, at } = this.#page;
    return timestamp >= from && timestamp < to && timestamp <= at;
  }

  #holdAt(timestamp: number): void {
    this.hold = Math.min(this.hold, timestamp);
  }

  #doubt(timestamp: number): void {
    this.#holdAt(timestamp);
    this.hasDoubt = true;
  }

  #statusNow(timestamp: number): CandleStatus {
    const { isWhole, settledEnd, finalEnd } = this.#belief;
    if (!isWhole || timestamp >= this.hold || timestamp >= settledEnd) return "open";
    return timestamp < finalEnd ? "final" : "closed";
  }

  #tell(change: CandleChange): void {
    if (this.#told === undefined) this.#told = [change];
    else this.#told.push(change);
  }

  #keep(entry: CandleEntry): void {
    if (entry.status !== "final" || this.#rules.frames !== undefined) this.entries.push(entry);
  }
}

/** The intervals, ascending, of rows that are broken in an answer, or were in the one before. */
function troubledIntervals({ broken: before, finalUntil }: CandleBook, { broken }: Page): readonly number[] {
  if (before.size === 0 && broken.length === 0) return broken;
  const all = new Set(broken);
  for (const start of before.keys()) if (start !== undefined) all.add(start);
  return [...all].filter((start) => start >= finalUntil).sort((a, b) => a - b);
}
