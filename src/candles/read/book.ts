import type { Candle } from "../../contract/model.js";
import { type CandleStatus, isSame, laterOf } from "../event.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import type { Page } from "./pages.js";

/** What one answer changed about one candle. */
export type CandleChange = {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
} & ({ readonly type: "new" | "removed" } | { readonly type: "updated"; readonly previous: Candle });

/** A candle that may still change. */
export interface CandleEntry {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
  /** When the service made the first answer that lacks it; absent where the last one has shown it. */
  readonly missedAt?: number | undefined;
}

/** A row that breaks the contract. */
interface BrokenRow {
  /** How many answers in a row have held it, and when the last of them was made. */
  readonly reads: number;
  readonly at: number;
  /** When the first answer was made that lacks it. */
  readonly missedAt?: number | undefined;
}

/** All that is known of a series while it is read, and all that decides about its candles. */
export interface CandleBook {
  /** The candles that may still change, ascending, and the final ones of longer candles that were not final before. */
  readonly entries: readonly CandleEntry[];
  /** The newest final candles, ascending. Every answer has to show them: one that lacks any is not whole. */
  readonly anchors: readonly number[];
  /** Those that the last answer has lacked, each with when the service made the first answer that lacks it. */
  readonly lacking: ReadonlyMap<number, number>;
  /** A silence that one answer has shown: when that was made, and where its first row lies. It shows none before `finalUntil`. */
  readonly silence?: { readonly until: number; readonly at: number } | undefined;
  /** The rows that cannot be read, by interval; `undefined`: one that has none. */
  readonly broken: ReadonlyMap<number | undefined, BrokenRow>;
  /** Every interval before it is final. */
  readonly finalUntil: number;
  /** Every interval in `[coveredFrom, coveredUntil)` has been seen after it had ended and settled. */
  readonly coveredFrom: number;
  readonly coveredUntil: number;
  /** The service's clock, as of the newest answer, and its epoch. */
  readonly observedAt: number;
  readonly epoch: number | undefined;
}

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

/** Two answers are two only if the service made them so far apart, in ms: a cache gives the same one again. */
export const APART = 1_000;
/** A candle after which nothing is shown is gone after so long, in ms, or after an interval if that is longer: a replica may lag. */
const NEWEST_END = 5_000;
/** In so many answers a row is read before it is given up. */
const BROKEN_READS = 3;
/** So many anchors are kept. One is too weak: a fault that takes rows out at random mostly leaves it in. */
export const ANCHORS = 4;

const NOTHING: readonly CandleChange[] = [];
const NONE_BROKEN: ReadonlyMap<number | undefined, BrokenRow> = new Map();
const NONE_LACKING: ReadonlyMap<number, number> = new Map();

/** A book that knows nothing, to be read from `from` on, the start of an interval. */
export function emptyBook(from: number, anchors: readonly number[] = []): CandleBook {
  return {
    entries: [],
    anchors,
    lacking: NONE_LACKING,
    broken: NONE_BROKEN,
    finalUntil: from,
    coveredFrom: from,
    coveredUntil: from,
    observedAt: -Infinity,
    epoch: undefined,
  };
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

/** Whether a change tells that its candle is final. */
export function isFinal({ type, status }: CandleChange): boolean {
  return type !== "removed" && status === "final";
}

/** After how many ms to ask again where something is in doubt: at once, or when a cache has another answer. */
export function pauseFor(doubt: Doubt | undefined): number | undefined {
  return doubt && (doubt === "time" ? 0 : APART);
}

/** Whether an answer, and one before it made apart, lack all anchors: either both were cut, or the anchors are gone. */
export function lacksAllTwice({ anchors, lacking }: CandleBook, at: number): boolean {
  const due = dueBy(anchors, at);
  return due.length > 0 && due.every((anchor) => isApart(at, lacking.get(anchor) ?? at));
}

/** The book without its anchors, which are gone. What was told up to here stays as it is; what is covered begins anew. */
export function withoutAnchors(book: CandleBook): CandleBook {
  const { finalUntil, coveredUntil } = book;
  return { ...book, anchors: [], lacking: NONE_LACKING, coveredFrom: Math.min(finalUntil, coveredUntil) };
}

/** Whether the last answer has told of all that had settled by then, a silence that is not confirmed included. */
export function isCurrent(rules: CandleRules, { coveredUntil, observedAt, silence }: CandleBook): boolean {
  return Math.max(coveredUntil, silence?.until ?? coveredUntil) >= settledUntil(rules, observedAt);
}

/** The same book by another clock: what was over by one that ran ahead may be still to come. */
function byAnotherClock(rules: CandleRules, book: CandleBook, { at, epoch }: Page): CandleBook {
  const { anchors, coveredFrom } = book;
  const { frames = rules.intervals } = rules;
  const seenUntil =
    anchors.length === 0
      ? Math.min(coveredFrom, windowStart(rules, at))
      : rules.intervals.end(anchors.at(-1)!);
  // A clock that ran ahead made intervals final too early: the last anchor is the last that is certain.
  const hasRunAhead = book.finalUntil > rules.intervals.start(at);
  const over = hasRunAhead ? seenUntil : Math.max(windowStart(rules, at), seenUntil);
  const known = Math.min(settledUntil(rules, at), hasRunAhead ? seenUntil : Infinity);
  const coveredUntil = Math.min(book.coveredUntil, Math.max(known, coveredFrom));
  return {
    ...book,
    entries: book.entries.flatMap(({ candle, status, revision }) =>
      status === "final" ? [] : [{ candle, status, revision }],
    ),
    lacking: NONE_LACKING,
    silence: undefined,
    finalUntil: Math.min(book.finalUntil, frames.start(over)),
    coveredFrom: Math.min(coveredFrom, coveredUntil),
    coveredUntil,
    observedAt: -Infinity,
    epoch,
  };
}

function isApart(at: number, before: number, by = APART): boolean {
  return at >= before + by;
}

/** Those anchors that an answer made then can show: by a clock that was set back some may lie ahead. */
function dueBy(anchors: readonly number[], at: number): readonly number[] {
  return anchors.length === 0 || anchors.at(-1)! < at ? anchors : anchors.filter((anchor) => anchor < at);
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

/**
 * Whether a candle that an answer lacks is gone, if answers have lacked it since `missedAt`. An answer up to now
 * that shows nothing newer is likelier to come from a machine that is behind.
 */
export function isGone({ intervals }: CandleRules, page: Page, timestamp: number, missedAt: number): boolean {
  const { at, to } = page;
  const behind = Math.max(NEWEST_END, intervals.end(timestamp) - timestamp);
  const mayBeBehind = to > at - behind;
  return isApart(at, missedAt, mayBeBehind && isNewestEnd(page, timestamp) ? behind : APART);
}

/** Whether an answer shows nothing newer. */
function isNewestEnd({ candles, broken }: Page, timestamp: number): boolean {
  return timestamp > Math.max(candles.at(-1)?.timestamp ?? 0, broken.at(-1) ?? 0);
}

/** A row that is broken in another answer as well. A copy of one answer is none. */
function readAgain(before: BrokenRow | undefined, at: number): BrokenRow {
  if (before === undefined) return { reads: 1, at };
  return isApart(at, before.at) ? { reads: before.reads + 1, at } : { reads: before.reads, at: before.at };
}

/** Whether a broken row may still turn out to be readable. */
function isDoubted(row: BrokenRow | undefined): boolean {
  return row !== undefined && row.reads < BROKEN_READS;
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

/** How far an answer is believed. */
interface Belief {
  readonly isWhole: boolean;
  /** Whether nothing speaks against it but anchors that it lacks. */
  readonly isSound: boolean;
  readonly isAbsenceKnown: boolean;
  /** The intervals before it are over and settled; those before `finalEnd` cannot change any more, unless one is in doubt. */
  readonly settledEnd: number;
  readonly finalEnd: number;
}

/** An answer held against a book, interval by interval, ascending. */
class Comparison {
  readonly entries: CandleEntry[] = [];
  readonly dropped: (number | undefined)[] = [];
  /** The first interval in doubt: nothing from there on closes. */
  hold = Infinity;
  /** Whether another answer may settle a doubt. */
  hasDoubt = false;
  readonly #rules: CandleRules;
  readonly #known: CandleBook;
  readonly #page: Page;
  readonly #belief: Belief;
  /** An array takes room for seventeen with its first `push`, and most answers change one candle. */
  #told: CandleChange[] | undefined;
  #broken: Map<number | undefined, BrokenRow> | undefined;

  constructor(rules: CandleRules, book: CandleBook, page: Page, belief: Belief) {
    this.#rules = rules;
    this.#known = book;
    this.#page = page;
    this.#belief = belief;
    const { candles, broken } = page;
    const { entries, finalUntil } = book;
    const troubled = troubledIntervals(book, page);
    const isBroken = (start: number) => broken.includes(start);
    const isOver = (entry: CandleEntry | undefined) =>
      entry !== undefined && entry.candle.timestamp < finalUntil;
    let [entryIndex, candleIndex, troubleIndex] = [0, 0, 0];
    while (candleIndex < candles.length && candles[candleIndex]!.timestamp < finalUntil) candleIndex += 1;
    const keptFrom = rules.frames?.start(finalUntil) ?? finalUntil;
    for (; isOver(entries[entryIndex]); entryIndex += 1)
      if (entries[entryIndex]!.candle.timestamp >= keptFrom) this.entries.push(entries[entryIndex]!);
    for (;;) {
      const candle = candles[candleIndex];
      const entry = entries[entryIndex];
      const trouble = troubled[troubleIndex];
      const start = Math.min(
        candle?.timestamp ?? Infinity,
        entry?.candle.timestamp ?? Infinity,
        trouble ?? Infinity,
      );
      if (start === Infinity) return;
      const known = entry?.candle.timestamp === start ? entry : undefined;
      if (known !== undefined) entryIndex += 1;
      if (trouble === start) troubleIndex += 1;
      if (candle?.timestamp === start) {
        candleIndex += 1;
        this.#show(candle, known);
      } else if (isBroken(start)) this.#cannotRead(start, known, book.broken.get(start));
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
    const before = this.#known.broken.get(start);
    if (!isDoubted(row) && (before === undefined || isDoubted(before))) this.dropped.push(start);
  }

  #show(candle: Candle, entry: CandleEntry | undefined): void {
    const change = changeOf(entry, candle, this.#statusNow(candle.timestamp));
    if (change !== undefined) this.#tell(change);
    const { status, revision } = change ?? entry!;
    const isKept = change === undefined && entry!.missedAt === undefined;
    this.#keep(isKept ? entry! : { candle, status, revision });
  }

  #miss(entry: CandleEntry): void {
    const { candle, status, revision, missedAt } = entry;
    const { timestamp } = candle;
    const { isWhole, isAbsenceKnown } = this.#belief;
    if (!this.#isAsked(timestamp) || !isWhole) {
      this.#keep(this.#isMissed(timestamp) ? this.#missedSince(entry) : entry);
    } else if (!isAbsenceKnown) this.#keepUnread(entry);
    else if (missedAt !== undefined && isGone(this.#rules, this.#page, timestamp, missedAt)) {
      this.#tell({ type: "removed", candle, status, revision: revision + 1 });
    } else {
      const missed = this.#missedSince(entry);
      this.#holdAt(timestamp);
      // Within two seconds another answer can settle it; after that only waiting helps.
      this.hasDoubt ||= this.#page.at < missed.missedAt + 2 * APART;
      this.#keep(missed);
    }
  }

  /** Whether a sound answer that lacks anchors counts as one that lacks this candle, too: it shows nothing newer. */
  #isMissed(timestamp: number): boolean {
    return this.#belief.isSound && this.#isAsked(timestamp) && isNewestEnd(this.#page, timestamp);
  }

  #missedSince(entry: CandleEntry) {
    return { ...entry, missedAt: Math.min(entry.missedAt ?? this.#page.at, this.#page.at) };
  }

  /** A row that cannot be read still proves that there is a candle. */
  #cannotRead(start: number, entry: CandleEntry | undefined, before: BrokenRow | undefined): void {
    const row = readAgain(before, this.#page.at);
    this.keepBroken(start, row);
    if (isDoubted(row)) this.#doubt(start);
    if (entry !== undefined) this.#keepUnread(entry);
  }

  /** A row that was there and could not be read may be there still. */
  #missBroken(start: number, row: BrokenRow): void {
    const isLooked = this.#belief.isWhole && this.#isAsked(start);
    const missedAt = row.missedAt ?? this.#page.at;
    if (isLooked && isApart(this.#page.at, missedAt)) return;
    this.keepBroken(start, isLooked ? { ...row, missedAt } : row);
    this.#doubt(start);
  }

  /** Keeps a candle as it was last read. What had closed becomes final so; of what had not, nobody knows how it ended. */
  #keepUnread(entry: CandleEntry): void {
    const { candle, status, revision } = entry;
    if (this.#statusNow(candle.timestamp) !== "final") this.#keep({ candle, status, revision });
    else if (status === "closed")
      this.#tell({ type: "updated", candle, previous: candle, status: "final", revision: revision + 1 });
  }

  /** Whether an answer would show a candle: by a clock that was set back the interval may lie ahead. */
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

/** What a candle changes as it is shown now: a status that has come stays. */
export function changeOf(
  entry: CandleEntry | undefined,
  candle: Candle,
  statusNow: CandleStatus,
): CandleChange | undefined {
  const status = laterOf(entry?.status, statusNow);
  if (entry === undefined) return { type: "new", candle, status, revision: 0 };
  const { candle: previous, revision } = entry;
  if (status === entry.status && isSame(candle, previous)) return undefined;
  return { type: "updated", candle, previous, status, revision: revision + 1 };
}

/** Without the rows of intervals that are final: nothing is asked about these any more. */
function notFinal(
  broken: ReadonlyMap<number | undefined, BrokenRow>,
  finalUntil: number,
): ReadonlyMap<number | undefined, BrokenRow> {
  if (broken.size === 0) return broken;
  return new Map([...broken].filter(([start]) => start === undefined || start >= finalUntil));
}

/** The intervals, ascending, of rows that are broken in an answer, or were in the one before. */
function troubledIntervals({ broken: before, finalUntil }: CandleBook, { broken }: Page): readonly number[] {
  if (before.size === 0 && broken.length === 0) return broken;
  const all = new Set(broken);
  for (const start of before.keys()) if (start !== undefined) all.add(start);
  return [...all].filter((start) => start >= finalUntil).sort((a, b) => a - b);
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
