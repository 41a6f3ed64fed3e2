import type { ServiceClock } from "../../client/service-clock.js";
import type { Candle } from "../../contract/model.js";
import { type CandleRead, FULL_PAGE, type SeriesRead } from "../read/range-reader.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import { type CandleBook, emptyBook } from "./book.js";

/** What is known of the service's clock, and the service's time now. */
export type ClockReading = Pick<ServiceClock, "epoch" | "isConfirmed" | "isContradicted"> & {
  readonly now: number;
};

/** What a poll knows before it reads. */
export interface KnownSeries {
  /** Absent until an answer has been taken in. */
  readonly book: CandleBook | undefined;
  /** The end of the newest candle that was read; without one, where the book began. */
  readonly seenUntil: number;
  /** Where the first look by a confirmed clock began. What that look fails to read is caught up like an outage. */
  readonly firstLook: { readonly from: number; readonly epoch: number } | undefined;
  /** The book that ran ahead, while no answer has gone into the one that has taken its place. */
  readonly ranAhead?: CandleBook | undefined;
}

export const UNKNOWN_SERIES: KnownSeries = {
  book: undefined,
  seenUntil: Number.POSITIVE_INFINITY,
  firstLook: undefined,
};

/**
 * What is known at the start of a look.
 *
 * A book with an answer in it stays, and so does one that has taken the place of a book that ran ahead. Any other book
 * begins with the window of a confirmed clock, and begins again where that clock has jumped. If the first look began
 * before the new window and both fit one page, the book begins where the first look did: perhaps the machine's clock was
 * set, and not the service's.
 */
export function knownAtLook(rules: CandleRules, known: KnownSeries, clock: ClockReading): KnownSeries {
  const { book, firstLook, ranAhead } = known;
  const isBegun = book !== undefined && (!isUnread(book) || ranAhead !== undefined);
  if (isBegun || !clock.isConfirmed) return known;
  const { epoch } = clock;
  if (firstLook?.epoch === epoch)
    return book === undefined ? { ...known, book: emptyBook(firstLook.from) } : known;
  const start = windowStart(rules, clock.now);
  const before = firstLook?.from ?? start;
  const isNear = before < start && rules.intervals.count(before, start) <= FULL_PAGE / 2;
  if (!isNear) return { ...known, book: undefined, firstLook: { from: start, epoch } };
  return { ...known, book: emptyBook(before), firstLook: { from: before, epoch } };
}

/**
 * What is known before a read.
 *
 * A book is held against each clock once. Later the machine's own clock may be wrong again, until an answer tells. A book
 * that ran ahead has skipped candles, so a new book takes its place and begins at the end of the newest candle seen. The
 * old book comes back if the next clock shows that it did not run ahead, and no answer has gone into the new one.
 */
export function knownAtRead(rules: CandleRules, known: KnownSeries, clock: ClockReading): KnownSeries {
  const { epoch, now } = clock;
  const { ranAhead } = known;
  if (known.book === undefined || known.book.epoch === epoch) return known;
  const book = ranAhead !== undefined && isUnread(known.book) ? ranAhead : known.book;
  if (isAheadOfTime(rules, book, clock)) {
    const from = Math.min(known.seenUntil, windowStart(rules, now));
    return { ...known, book: { ...emptyBook(from), epoch }, ranAhead: ranAhead ?? book };
  }
  const observedAt = Math.min(book.observedAt, now);
  return {
    ...known,
    book: { ...book, observedAt, epoch },
    ranAhead: book === ranAhead ? undefined : ranAhead,
  };
}

/** Whether no answer has gone into a book. */
function isUnread({ observedAt }: CandleBook): boolean {
  return observedAt === Number.NEGATIVE_INFINITY;
}

/**
 * Whether the service's clock was set back so far that the running interval counts as final. Such a book would show
 * nothing until the clock has caught up.
 */
function isAheadOfTime(rules: CandleRules, book: CandleBook, { epoch, now }: ClockReading): boolean {
  return epoch !== book.epoch && book.finalUntil > rules.intervals.start(now);
}

/** The range that a read asks for. */
export interface ReadRange {
  /** The start of an interval, as is `to`. */
  readonly from: number;
  readonly to: number;
  /** Whether the book holds no candle that may still change. */
  readonly isBlank: boolean;
  /** Whether what lies before the first candles is not read. Until it is, nothing becomes final. */
  readonly isUnseen: boolean;
  /** Whether the range may not fit one page: what has left the revision window is read first, in slices. */
  readonly isFarBehind: boolean;
}

/**
 * From what may still change to the end of the running interval; `hasCandles`: whether any candle was ever read;
 * `isCutOff`: whether what lies before the first ones could not be read yet. Then the range that has shown them is read
 * again, as long as it fits one page.
 */
export function rangeToRead(
  rules: CandleRules,
  book: CandleBook | undefined,
  hasCandles: boolean,
  now: number,
  isCutOff = false,
): ReadRange {
  const changeable = windowStart(rules, now);
  const isBlank = book === undefined || book.entries.length === 0;
  const { finalUntil, coveredUntil } = book ?? emptyBook(changeable);
  const silentUntil = Math.max(finalUntil, Math.min(changeable, coveredUntil));
  const isNear = rules.intervals.count(silentUntil, changeable) <= FULL_PAGE / 2;
  const isUnseen = (isBlank && !hasCandles) || (isCutOff && silentUntil > finalUntil && isNear);
  const from = isUnseen ? silentUntil : finalUntil;
  const to = rules.intervals.end(Math.max(now, from));
  return { from, to, isBlank, isUnseen, isFarBehind: !isUnseen && isFarBehind(rules, book, changeable) };
}

/** Whether what is not final before an instant may fill more than half a page. */
export function isFarBehind(
  { intervals }: CandleRules,
  book: CandleBook | undefined,
  until: number,
): boolean {
  return book !== undefined && intervals.count(book.finalUntil, until) > FULL_PAGE / 2;
}

/** What was known when an answer came. */
export interface ReadContext {
  readonly book: CandleBook | undefined;
  readonly range: ReadRange;
  /** Whether any candle was read by now. */
  readonly hasCandles: boolean;
  /** The answer just before, where it was the first with candles: this one has to hold them as well. */
  readonly firstSeen: SeriesRead | undefined;
  /** Whether the look may ask once more at once. */
  readonly mayRepeat: boolean;
}

/** What to do with an answer. */
export type ReadVerdict =
  /** The time it was asked by was wrong, or is in doubt: ask again at once. */
  | "ask-again"
  /** The same, but what it shows is there. */
  | "take-part-and-ask-again"
  /** It lacks a known candle that lies before its range. */
  | "not-whole"
  /** It holds the first candles of the series: read what lies before them first. */
  | "catch-up-first"
  /** It lacks some of the candles that the answer just before has shown: these are the candles of both. */
  | readonly Candle[]
  /** It can be taken in. */
  | WholeRead;

export interface WholeRead {
  /** Whether it shows nothing, and nothing proves that nothing is there. */
  readonly isUnproven: boolean;
  /** The end of the last known candle that an unproven answer lacks: so far it says that candles are missing. */
  readonly lacksUntil: number | undefined;
  /** Whether no other answer can tell more by now. */
  readonly isLast: boolean;
}

/** Whether an answer can be believed; `clock`: as it is after the answer. */
export function verdictOn(
  rules: CandleRules,
  read: SeriesRead,
  { book, range, hasCandles, firstSeen, mayRepeat }: ReadContext,
  clock: ClockReading,
): ReadVerdict {
  // Asked by a clock that was not known yet, or has jumped, a range can miss the present.
  const missesPresent = read.to <= rules.intervals.start(read.observedAt);
  const beginsLate = range.from > windowStart(rules, read.observedAt);
  const mayBeMistimed = book === undefined || isAheadOfTime(rules, book, clock);
  if (mayRepeat && mayBeMistimed && (missesPresent || beginsLate)) return "ask-again";
  if (book !== undefined && read.lacks !== undefined) {
    // A `Date` that contradicts what was known proves nothing until another answer agrees with one of the two.
    if (mayRepeat && clock.isContradicted) return "take-part-and-ask-again";
    return "not-whole";
  }
  if (range.isUnseen && hasCandles && book !== undefined && range.from > book.finalUntil) {
    return "catch-up-first";
  }
  const cutOff = book === undefined ? [] : shownOnlyBefore(rules, firstSeen, read);
  if (cutOff.length > 0) {
    return [...cutOff, ...read.candles].sort((a, b) => a.timestamp - b.timestamp);
  }
  const isLast = !mayRepeat || !(missesPresent || clock.isContradicted);
  const isUnproven = isSilent(read) && !read.isWitnessed;
  const lacked = isUnproven ? book?.entries.findLast(({ candle }) => isWithin(read, candle)) : undefined;
  const lacksUntil = lacked && rules.intervals.end(lacked.candle.timestamp);
  return { isUnproven, lacksUntil, isLast };
}

/** The candles that an answer lacks and the one just before it has shown, if nothing has settled in between. */
function shownOnlyBefore(
  rules: CandleRules,
  before: SeriesRead | undefined,
  after: SeriesRead,
): readonly Candle[] {
  const { candles, epoch, observedAt } = after;
  if (before?.epoch !== epoch) return [];
  if (settledUntil(rules, before.observedAt) < settledUntil(rules, observedAt)) return [];
  const shown = new Set(candles.map(({ timestamp }) => timestamp));
  return before.candles.filter((candle) => isWithin(after, candle) && !shown.has(candle.timestamp));
}

/** An answer with the values that a later one has for its candles. */
export function asShownBy(before: SeriesRead, after: CandleRead): SeriesRead {
  const shown = new Map(after.candles.map((candle) => [candle.timestamp, candle]));
  return { ...before, candles: before.candles.map((candle) => shown.get(candle.timestamp) ?? candle) };
}

function isSilent({ candles, unreadable, hasUnidentifiedRow }: SeriesRead): boolean {
  return candles.length === 0 && unreadable.size === 0 && !hasUnidentifiedRow;
}

function isWithin({ from, to }: SeriesRead, { timestamp }: Candle): boolean {
  return timestamp >= from && timestamp < to;
}

/** A silence that answers have shown and nothing proves. */
export interface Silence {
  /** Until where the last answer has shown it. */
  readonly until: number;
  /** Until where the answer before has shown it, too; absent where there was none. */
  readonly confirmedUntil: number | undefined;
  readonly epoch: number;
}

/** How much of an answer counts, and the silence that it leaves. */
export interface CountedRead {
  /** The end of what counts. */
  readonly to: number;
  /** The end of what is proven. From there to `to` known candles are missing, and nothing else is known. */
  readonly provenUntil: number;
  readonly silence: Silence | undefined;
}

/**
 * An unproven answer counts as far as the one before it has shown the same silence. An answer that came right after
 * another may be a cache's copy of it: it confirms no more than that one did. Known candles that it lacks are missing in
 * any case.
 */
export function countedRead(
  rules: CandleRules,
  { from, to, observedAt, epoch, isUnproven }: SeriesRead,
  silence: Silence | undefined,
  isRepeat: boolean,
  lacksUntil = from,
): CountedRead {
  if (!isUnproven) return { to, provenUntil: to, silence: undefined };
  const known = silence?.epoch === epoch ? silence : undefined;
  const confirmedUntil = isRepeat ? known?.confirmedUntil : known?.until;
  const until = Math.min(settledUntil(rules, observedAt), to);
  const provenUntil = Math.min(to, confirmedUntil ?? from);
  return {
    to: Math.max(lacksUntil, provenUntil),
    provenUntil,
    silence: { until, confirmedUntil, epoch },
  };
}
