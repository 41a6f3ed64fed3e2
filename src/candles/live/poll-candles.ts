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
import { type SeriesRead, SeriesReader } from "../read/range-reader.js";
import { readSlices } from "../read/slices.js";
import { settledUntil, windowStart } from "../rules.js";
import { applyRead, type CandleBook, type CandleChange, emptyBook } from "./book.js";
import {
  type ClockReading,
  countedRead,
  isFarBehind,
  knownAtLook,
  knownAtRead,
  rangeToRead,
  type Silence,
  UNKNOWN_SERIES,
  verdictOn,
} from "./plan-read.js";

/** The candles of a series that may still change, and what the last read changed. */
export interface CandleState {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
  /** Whether the answer ends before the newest interval that has settled, as those do that an outage is caught up with. */
  readonly endsEarly?: boolean;
}

/** How often one look asks again at once: for a range that missed the present, or at a time that is not certain. */
const REPEATS = 2;

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
  let known = UNKNOWN_SERIES;
  let silence: Silence | undefined;
  /** Whether the last answer lacked a known candle before its range. */
  let lackedWitness = false;
  /** Whether the answer before this one was asked for just before: a cache may give the same one again. */
  let isRepeat: LookOptions["isRepeat"] = () => false;

  const clock = (): ClockReading => ({ ...core.serviceClock(), now: serviceNow(core) });

  return async function* look(options) {
    isRepeat = options.isRepeat;
    let firstSeen: SeriesRead | undefined;
    for (let repeats = 0; ; repeats++) {
      known = knownAtRead(rules, known, clock());
      if (repeats === 0) known = knownAtLook(rules, known, clock());
      let range = rangeToRead(rules, known.book, reader.hasCandles, clock().now);
      if (range.isFarBehind) {
        yield* catchUp(options);
        range = rangeToRead(rules, known.book, true, clock().now);
      }
      // A blank book may come from a look by a clock that was not known yet.
      const probes = options.isClosing || range.isBlank ? "lightly" : "never";
      const read = await reader.read(range.from, range.to, { ...options, probes });
      const { book } = known;
      const { hasCandles } = reader;
      const context = { book, range, hasCandles, firstSeen, mayRepeat: repeats < REPEATS };
      const verdict = verdictOn(rules, read, context, clock());
      if (verdict === "take-part-and-ask-again") yield takePart(read, book!, false);
      if (verdict === "ask-again" || verdict === "take-part-and-ask-again") continue;
      if (verdict === "not-whole") {
        const isSecond = lackedWitness;
        lackedWitness = true;
        if (!isSecond) reader.doubt(read.lacks!);
        yield takePart(read, book!, !isSecond);
        throw await reader.unfinished(read.lacks!, options);
      }
      lackedWitness = false;
      if (verdict === "catch-up-first") {
        yield* catchUp(options);
        firstSeen = read;
      } else if ("length" in verdict) {
        yield takePart({ ...read, candles: verdict }, book!, true);
        return;
      } else {
        const { isUnproven, lacksUntil, isLast } = verdict;
        yield { ...take({ ...read, isUnproven }, lacksUntil), isLast };
        if (isLast) return;
      }
    }
  };

  /** Reads what has left the revision window during an outage, slice by slice, until the rest fits one page. */
  async function* catchUp(options: LookOptions): AsyncGenerator<LookStep<CandleState>> {
    for (let passes = 0; known.book !== undefined && passes <= REPEATS; passes++) {
      const until = windowStart(rules, serviceNow(core));
      const reached = known.book.finalUntil;
      if (passes > 0 && !isFarBehind(rules, known.book, until)) return;
      for await (const read of readSlices(reader, intervals, reached, () => until, options)) {
        yield take(read);
        // The book holds back the end of this slice: read on from there, or the next slice would leave a hole.
        if (known.book.finalUntil < read.to) break;
      }
      if (known.book.finalUntil > reached) passes = 0;
    }
  }

  /** Takes in an answer, as far as it counts. */
  function take(read: SeriesRead, lacksUntil?: number): LookStep<CandleState> {
    const before = known.book ?? emptyBook(Math.max(read.from, windowStart(rules, read.observedAt)));
    const isCopy = isRepeat(read.sentAt);
    const counted = countedRead(rules, read, silence, isCopy, lacksUntil);
    const { book, changes, needsSecondLook } = applyRead(rules, before, {
      ...read,
      to: counted.to,
      isRepeat: isCopy,
      isUnproven: read.isUnproven === true && lacksUntil === undefined,
    });
    isRepeat = () => true;
    silence = counted.silence;
    const newest = read.candles.at(-1);
    const seenUntil =
      newest === undefined ? Math.min(known.seenUntil, book.finalUntil) : intervals.end(newest.timestamp);
    known = { ...known, book, seenUntil };
    reader.forgetBefore(book.finalUntil);
    const isCovered = read.isUnproven
      ? book.coveredUntil > before.coveredUntil || undefined
      : book.coveredUntil >= settledUntil(rules, book.observedAt);
    const isFirstSilence = silence !== undefined && silence.confirmedUntil === undefined;
    return {
      state: { book, changes, endsEarly: read.to < settledUntil(rules, read.observedAt) },
      sentAt: read.sentAt,
      observedAt: book.observedAt,
      isCurrent: needsSecondLook ? undefined : isCovered,
      needsSecondLook: needsSecondLook || isFirstSilence,
      isLast: false,
      ...(read.refusal === undefined ? {} : { error: read.refusal }),
    };
  }

  /** Takes in part of an answer: what it shows exists; what it does not show may exist, too. */
  function takePart(read: SeriesRead, before: CandleBook, isLast: boolean): LookStep<CandleState> {
    let state: CandleState = { book: before, changes: [] };
    if (read.epoch === before.epoch) {
      state = applyRead(rules, before, { ...read, hasUnidentifiedRow: true, isUnproven: true });
      known = { ...known, book: state.book };
    }
    const { sentAt } = read;
    const { observedAt } = before;
    return { state, sentAt, observedAt, isCurrent: undefined, needsSecondLook: true, isLast };
  }
}
