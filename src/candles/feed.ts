import type { Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../client/core.js";
import { type FeedUpdate, type Look, type LookOptions, type LookStep, sharedFeed } from "../poll/feed.js";
import { candleSchedule } from "../poll/schedule.js";
import {
  type CandleBook,
  type CandleChange,
  type CandleRead,
  type CandleRules,
  emptyBook,
  readCandles,
  settledUntil,
  windowStart,
} from "./book.js";
import { readSlices } from "./history.js";
import type { CandleWatch } from "./options.js";
import { FULL_PAGE, SeriesReader } from "./reader.js";

/** The candles of a series that may still change, and what the last read changed. */
export interface CandleState {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
}

/** Answers that are asked for again at once, in one look: a missing candle, a range that missed the present. */
const LOOKS_AT_ONCE = 2;

/** The shared poll of a series. */
export function candleFeed(core: ClientCore, watch: CandleWatch): Observable<FeedUpdate<CandleState>> {
  return sharedFeed(core, watch.pollKey, () => ({
    schedule: candleSchedule(watch.rules.intervals, watch.every, watch.rules.settle),
    look: candleLook(core, watch),
    kind: "ohlcv",
  }));
}

function candleLook(core: ClientCore, { series, rules }: CandleWatch): Look<CandleState> {
  const { intervals } = rules;
  const reader = new SeriesReader(core, series, intervals, { skipsRows: true });
  let book: CandleBook | undefined;
  /** The end of the newest candle that was read, or where the book began while there was none. */
  let seenUntil = Number.POSITIVE_INFINITY;
  /** Where the first look by a clock that was known began: what it failed to read is caught up like any outage. */
  let begun: { readonly at: number; readonly epoch: number } | undefined;

  const now = () => serviceNow(core);
  const take = (read: CandleRead): LookStep<CandleState> & { isDoubtful: boolean } => {
    book ??= emptyBook(firstInterval(rules, read));
    const newest = read.candles.at(-1);
    seenUntil = newest === undefined ? Math.min(seenUntil, book.finalUntil) : intervals.end(newest.timestamp);
    const turn = readCandles(rules, book, read);
    book = turn.book;
    reader.forgetBefore(book.finalUntil);
    return {
      state: { book, changes: turn.changes },
      provenAt: book.observedAt,
      isCurrent: !turn.isDoubtful && book.coveredUntil >= settledUntil(rules, book.observedAt),
      isLast: false,
      ...(read.refusal === undefined ? {} : { error: read.refusal }),
      isDoubtful: turn.isDoubtful,
    };
  };

  const isFarBehind = (until: number) =>
    book !== undefined && intervals.count(book.finalUntil, until) > FULL_PAGE / 2;

  /** After an outage: what has left the window meanwhile, slice by slice, until the rest fits one page. */
  async function* catchUp(options: LookOptions): AsyncGenerator<LookStep<CandleState>> {
    for (let passes = 0; book !== undefined && passes <= LOOKS_AT_ONCE; passes++) {
      const until = windowStart(rules, now());
      if (!isFarBehind(until)) return;
      const reached = book.finalUntil;
      for await (const read of readSlices(reader, intervals, reached, () => until, options)) {
        const step = take(read);
        yield step;
        // The slices that follow would not join: what is held back here is read again first.
        if (book.finalUntil < read.to) break;
      }
      if (book.finalUntil > reached) passes = 0;
    }
  }

  return async function* look(options) {
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
      if (isFarBehind(windowStart(rules, now()))) yield* catchUp(options);
      const from = book?.finalUntil ?? windowStart(rules, now());
      const to = intervals.end(Math.max(now(), from));
      // While nothing has come, the first look may have been one by a clock that was not known yet.
      const isEmpty = book === undefined || book.entries.length === 0;
      const probes = options.isClosing || isEmpty ? "lightly" : "never";
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
      const { isDoubtful, ...step } = take(read);
      // A `Date` that contradicts what was known proves nothing until another answer sides with one of the two.
      const isUncertain = core.serviceClock().rival !== undefined;
      const isLast = !mayRepeat || !(isDoubtful || missesPresent || isUncertain);
      yield { ...step, isLast };
      if (isLast) return;
    }
  };
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
