import { defer, finalize, type Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { candleSchedule } from "../../poll/schedule.js";
import {
  type FeedUpdate,
  type Look,
  type LookOptions,
  type LookStep,
  type Poll,
  sharedFeed,
} from "../../poll/shared-poll.js";
import type { CandleWatch } from "../options.js";
import type { CandleRead } from "../read/range-reader.js";
import { FULL_PAGE, type SeriesRead, SeriesReader } from "../read/range-reader.js";
import { readSlices } from "../read/slices.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
import { type CandleBook, type CandleChange, type CandleEntry, emptyBook, readCandles } from "./book.js";

/** The candles of a series that may still change, and what the last read changed. */
export interface CandleState {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
  /** Whether the answer ends before the newest interval that has settled, as those do that an outage is caught up with. */
  readonly endsEarly?: boolean;
}

/** So often in one look a range is asked for again at once: where it missed the present, or the time is not certain. */
const LOOKS_AT_ONCE = 2;

/** The shared poll of a series. */
export function candleFeed(core: ClientCore, watch: CandleWatch): Observable<FeedUpdate<CandleState>> {
  const make = (): Poll<CandleState> => ({
    schedule: candleSchedule(watch.rules.intervals, watch.every, watch.rules.settle),
    look: candleLook(core, watch),
    kind: "ohlcv",
  });
  const feed = sharedFeed(core, watch.pollKey, make, watch.whenMissing);
  return defer(() => feed.pipe(finalize(core.pairs.hold(watch.series))));
}

function candleLook(core: ClientCore, { series, rules }: CandleWatch): Look<CandleState> {
  const { intervals } = rules;
  const reader = new SeriesReader(core, series, intervals, { skipsRows: true });
  let book: CandleBook | undefined;
  /** The end of the newest candle that was read, or where the book began while there was none. */
  let seenUntil = Number.POSITIVE_INFINITY;
  /** Where the first look by a clock that was known began: what it failed to read is caught up like any outage. */
  let begun: { readonly at: number; readonly epoch: number } | undefined;
  /** Until where the last answer has shown a silence that nothing else proves, and until where two answers have. */
  let silence:
    | { readonly until: number; readonly confirmed: number | undefined; readonly epoch: number }
    | undefined;
  /** Whether the last answer lacked a known candle before its range. */
  let lacksWitness = false;
  /** Whether another answer was taken in just before, by the same look: a cache may give the same one again. */
  let isRepeat = false;

  const now = () => serviceNow(core);

  /** Takes in what was read; of an empty answer that nothing proves only what the one before has shown, too. */
  const take = (answer: SeriesRead): LookStep<CandleState> => {
    book ??= emptyBook(firstInterval(rules, answer));
    const settled = settledUntil(rules, answer.provenAt);
    // One that was asked for at once may come out of a cache, and is no second one.
    const known = silence?.epoch === answer.epoch ? silence : undefined;
    const before = isRepeat ? known?.confirmed : known?.until;
    const until = Math.min(settled, answer.to);
    silence = answer.isUnproven ? { until, confirmed: before, epoch: answer.epoch } : undefined;
    const shown = Math.max(answer.from, Math.min(answer.to, before ?? answer.from));
    const { coveredUntil } = book;
    const to = answer.isUnproven ? shown : answer.to;
    const turn = readCandles(rules, book, { ...answer, to, isRepeat });
    isRepeat = true;
    book = turn.book;
    const newest = answer.candles.at(-1);
    seenUntil = newest === undefined ? Math.min(seenUntil, book.finalUntil) : intervals.end(newest.timestamp);
    reader.forgetBefore(book.finalUntil);
    const isCovered = answer.isUnproven
      ? book.coveredUntil > coveredUntil || undefined
      : book.coveredUntil >= settledUntil(rules, book.observedAt);
    return {
      state: { book, changes: turn.changes, endsEarly: answer.to < settled },
      sentAt: answer.sentAt,
      provenAt: book.observedAt,
      isCurrent: turn.isDoubtful ? undefined : isCovered,
      isDoubtful: turn.isDoubtful || (answer.isUnproven === true && before === undefined),
      isLast: false,
      ...(answer.refusal === undefined ? {} : { error: answer.refusal }),
    };
  };

  /** Takes in a part of an answer: what it holds is there; what it does not hold may be there, too. */
  const takePart = (read: CandleRead, before: CandleBook): CandleState => {
    if (read.epoch !== before.epoch) return { book: before, changes: [] };
    const turn = readCandles(rules, before, { ...read, hasUnplaced: true, isUnproven: true });
    book = turn.book;
    return turn;
  };

  const isFarBehind = (until: number) =>
    book !== undefined && intervals.count(book.finalUntil, until) > FULL_PAGE / 2;

  /** After an outage: what has left the window meanwhile, slice by slice, until the rest fits one page. */
  async function* catchUp(options: LookOptions): AsyncGenerator<LookStep<CandleState>> {
    for (let passes = 0; book !== undefined && passes <= LOOKS_AT_ONCE; passes++) {
      const until = windowStart(rules, now());
      const reached = book.finalUntil;
      if (passes > 0 && !isFarBehind(until)) return;
      for await (const read of readSlices(reader, intervals, reached, () => until, options)) {
        const step = take(read);
        yield step;
        // The slices that follow would not join: what is held back here is read again first.
        if (book.finalUntil < read.to) break;
      }
      if (book.finalUntil > reached) passes = 0;
    }
  }

  /** What an answer lacks that one just before it has shown, if nothing has settled in between. */
  const shownOnlyBy = (
    before: SeriesRead | undefined,
    { from, to, candles, epoch, provenAt }: SeriesRead,
  ) => {
    if (before?.epoch !== epoch || settledUntil(rules, before.provenAt) < settledUntil(rules, provenAt))
      return [];
    const shown = new Set(candles.map(({ timestamp }) => timestamp));
    return before.candles.filter(
      ({ timestamp }) => timestamp >= from && timestamp < to && !shown.has(timestamp),
    );
  };

  return async function* look(options) {
    isRepeat = options.isRepeat;
    /** The answer that has ended a silence: what lies before it is read first. */
    let first: SeriesRead | undefined;
    for (let repeats = 0; ; repeats++) {
      // Where the clock had been ahead of the candles, none that came since has been read.
      if (book !== undefined && isAheadOfTime(core, rules, book)) {
        book = emptyBook(Math.min(seenUntil, windowStart(rules, now())));
      }
      const { epoch, isConfirmed } = core.serviceClock();
      if (repeats === 0 && book === undefined && isConfirmed) {
        if (begun?.epoch === epoch) book = emptyBook(begun.at);
        else begun = { at: windowStart(rules, now()), epoch };
      }
      // While there is no candle at all nothing is final: what lies behind is read once the first one has come.
      const isUnseen = isBlank(book) && !reader.hasCandles;
      if (!isUnseen && isFarBehind(windowStart(rules, now()))) yield* catchUp(options);
      const from =
        book === undefined ? windowStart(rules, now()) : isUnseen ? unseenFrom(book) : book.finalUntil;
      const to = intervals.end(Math.max(now(), from));
      // While nothing has come, the first look may have been one by a clock that was not known yet.
      const probes = options.isClosing || isBlank(book) ? "lightly" : "never";
      const read = await reader.read(from, to, { ...options, probes });
      const mayRepeat = repeats < LOOKS_AT_ONCE;
      // Asked by a clock that was not known yet, or has jumped, the range can miss the present.
      const missesPresent = to <= intervals.start(read.provenAt);
      const beginsLate = from > windowStart(rules, read.provenAt);
      if (
        mayRepeat &&
        (book === undefined || isAheadOfTime(core, rules, book)) &&
        (missesPresent || beginsLate)
      ) {
        continue;
      }
      // A `Date` that contradicts what was known proves nothing until another answer sides with one of the two.
      const isUncertain = core.serviceClock().isDoubted;
      if (book !== undefined && read.lacks !== undefined) {
        if (mayRepeat && isUncertain) continue;
        const { observedAt } = book;
        const state = takePart(read, book);
        const isSecond = lacksWitness;
        lacksWitness = true;
        if (!isSecond) reader.doubt(read.lacks);
        const { sentAt } = read;
        yield {
          state,
          sentAt,
          provenAt: observedAt,
          isCurrent: undefined,
          isDoubtful: true,
          isLast: !isSecond,
        };
        throw await reader.unfinished(read.lacks, options);
      }
      lacksWitness = false;
      if (isUnseen && book !== undefined && from > book.finalUntil && reader.hasCandles) {
        yield* catchUp(options);
        first = read;
        continue;
      }
      const forgotten = shownOnlyBy(first, read);
      if (book !== undefined && forgotten.length > 0) {
        const { observedAt: provenAt } = book;
        const candles = [...forgotten, ...read.candles].sort((a, b) => a.timestamp - b.timestamp);
        const state = takePart({ ...read, candles }, book);
        yield { state, sentAt: read.sentAt, provenAt, isCurrent: undefined, isDoubtful: true, isLast: true };
        return;
      }
      const step = take({ ...read, isUnproven: !isProven(read, book) });
      const isLast = !mayRepeat || !(missesPresent || isUncertain);
      yield { ...step, isLast };
      if (isLast) return;
    }
  };

  /** From where to ask while there is no candle: what is not covered, and what may still change. */
  function unseenFrom({ finalUntil, coveredUntil }: CandleBook): number {
    return Math.max(finalUntil, Math.min(windowStart(rules, now()), coveredUntil));
  }
}

/** Whether no candle may still change: there is none, or all of them are final. */
function isBlank(book: CandleBook | undefined): boolean {
  return book === undefined || book.entries.length === 0;
}

/** Whether an answer without candles says that there are none: where it holds one that is known, or lacks some that are. */
function isProven(read: SeriesRead, book: CandleBook | undefined): boolean {
  const isSilent = read.candles.length === 0 && read.unreadable.size === 0 && !read.hasUnplaced;
  const isAsked = ({ candle }: CandleEntry) => candle.timestamp >= read.from && candle.timestamp < read.to;
  return !isSilent || read.isWitnessed || book?.entries.some(isAsked) === true;
}

/**
 * Whether the service's clock was set back so far that the running interval counts as final: the book begins anew,
 * or nothing would be heard until the clock has caught up.
 */
function isAheadOfTime(core: ClientCore, rules: CandleRules, book: CandleBook): boolean {
  const { epoch } = core.serviceClock();
  return epoch !== book.epoch && book.finalUntil > rules.intervals.start(serviceNow(core));
}

/** Where a book begins: at the revision window, or later where the read begins later. */
function firstInterval(rules: CandleRules, read: CandleRead): number {
  return Math.max(read.from, windowStart(rules, read.provenAt));
}
