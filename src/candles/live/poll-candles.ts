import { defer, finalize, type Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
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
import { PastReader } from "../read/stored.js";
import { settledUntil, windowStart } from "../rules.js";
import { applyRead, type CandleBook, type CandleChange, emptyBook } from "./book.js";
import { closingsLateBy } from "./closings.js";
import { FinalRecorder } from "./final-recorder.js";
import {
  asShownBy,
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
  /** The service's clock has jumped since the state before. */
  readonly jump?: ClockJump | undefined;
}

export interface ClockJump {
  /** Until where all was final in the book that ran ahead of the right clock; absent if the book is still the same one. */
  readonly ranAheadUntil: number | undefined;
}

/** How often one look asks again at once: for a range that missed the present, or at a time that is not certain. */
const REPEATS = 2;

/** The shared poll of a series. */
export function candleFeed(core: ClientCore, watch: CandleWatch): Observable<FeedUpdate<CandleState>> {
  const make = (): Poll<CandleState> => ({
    schedule: candleSchedule(watch.rules.intervals, watch.every, watch.rules.settle),
    look: candleLook(core, watch),
    kind: "ohlcv",
    feed: watch.series,
  });
  const { series, weekStart } = watch;
  const feed = sharedFeed(core, watch.pollKey, make, watch.whenMissing);
  return defer(() => {
    const leave = core.pairs.hold(series);
    const stored = core.store?.open(series, weekStart);
    return feed.pipe(
      finalize(() => {
        leave();
        stored?.close();
      }),
    );
  });
}

function candleLook(core: ClientCore, { series, rules, weekStart }: CandleWatch): Look<CandleState> {
  const { intervals } = rules;
  const reader = new SeriesReader(core, series, intervals, { skipsRows: true });
  // Held open by whoever subscribes.
  const stored = core.store?.open(series, weekStart);
  stored?.close();
  // The recorder writes, as it holds what is read against what was.
  const past = new PastReader(core, reader, rules, stored, { writes: false });
  const recorder = stored && new FinalRecorder(core, reader, rules, stored);
  let known = UNKNOWN_SERIES;
  /** Whether the first candles are shown, and what lies before them could not be read yet. */
  let isCutOff = false;
  /** The first answer with candles, until one that tells more is taken in. */
  let firstSeen: SeriesRead | undefined;
  let silence: Silence | undefined;
  /** The epoch of the last state. */
  let epoch: number | undefined;
  /** Whether the last answer lacked a known candle before its range. */
  let lackedWitness = false;
  /** Whether the answer before this one was asked for just before: a cache may give the same one again. */
  let isRepeat: LookOptions["isRepeat"] = () => false;

  const clock = (): ClockReading => {
    const { epoch, isConfirmed, isContradicted } = core.serviceClock();
    return { epoch, isConfirmed, isContradicted, now: serviceNow(core) };
  };

  const runningUntil = (now: number) => intervals.end(serviceTime(core.serviceClock(), now));

  return async function* look(options) {
    firstSeen = undefined;
    try {
      yield* steps(options);
    } catch (error) {
      if (firstSeen !== undefined) yield takeFirst(firstSeen);
      throw error;
    }
  };

  async function* steps(options: LookOptions): AsyncGenerator<LookStep<CandleState>> {
    isRepeat = options.isRepeat;
    if (recorder !== undefined) await recorder.begin(past, serviceNow(core));
    for (let repeats = 0; ; repeats++) {
      const before = clock();
      known = knownAtRead(rules, known, before);
      if (repeats === 0) known = knownAtLook(rules, known, before);
      let range = rangeToRead(rules, known.book, reader.hasCandles, before.now, isCutOff);
      if (range.isFarBehind) {
        yield* catchUp(options);
        range = rangeToRead(rules, known.book, true, clock().now);
      }
      // A blank book may come from a look by a clock that was not known yet.
      const probes = options.isClosing || range.isBlank ? "lightly" : "never";
      const from = recorder?.readFrom(range.from) ?? range.from;
      const read = await reader.read(from, range.to, { ...options, probes, endAt: runningUntil });
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
      isCutOff = verdict === "catch-up-first";
      if (verdict === "catch-up-first") {
        firstSeen = read;
        yield* catchUp(options);
        isCutOff = false;
      } else if ("length" in verdict) {
        firstSeen = undefined;
        yield takePart({ ...read, candles: verdict }, book!, true);
        return;
      } else {
        const { isUnproven, lacksUntil, isLast } = verdict;
        firstSeen = undefined;
        yield { ...take({ ...read, isUnproven }, lacksUntil), isLast };
        if (isLast) return;
      }
    }
  }

  /** Reads what has left the revision window during an outage, slice by slice, until the rest fits one page. */
  async function* catchUp(options: LookOptions): AsyncGenerator<LookStep<CandleState>> {
    for (let passes = 0; known.book !== undefined && passes <= REPEATS; passes++) {
      const until = windowStart(rules, serviceNow(core));
      const reached = known.book.finalUntil;
      if (passes > 0 && !isFarBehind(rules, known.book, until)) return;
      const from = recorder?.readFrom(reached) ?? reached;
      for await (const read of past.slices(from, () => until, options)) {
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
    const taken = {
      ...read,
      to: counted.to,
      provenUntil: counted.provenUntil,
      isRepeat: isCopy,
      isUnproven: read.isUnproven === true && lacksUntil === undefined,
    };
    const { book, changes, needsSecondLook } = applyRead(rules, before, taken);
    meter(known.book, changes, book.observedAt);
    recorder?.take(taken);
    isRepeat = () => true;
    silence = counted.silence;
    const hasJumped = epoch !== undefined && book.epoch !== epoch;
    const jump = hasJumped ? { ranAheadUntil: known.ranAheadUntil } : undefined;
    epoch = book.epoch;
    const newest = read.candles.at(-1);
    const seenUntil =
      newest === undefined ? Math.min(known.seenUntil, book.finalUntil) : intervals.end(newest.timestamp);
    known = { ...known, book, seenUntil, ranAheadUntil: undefined };
    reader.forgetBefore(book.finalUntil);
    const isCovered = read.isUnproven
      ? book.coveredUntil > before.coveredUntil || undefined
      : book.coveredUntil >= settledUntil(rules, book.observedAt);
    const isFirstSilence = silence !== undefined && silence.confirmedUntil === undefined;
    return {
      state: { book, changes, endsEarly: read.to < settledUntil(rules, read.observedAt), jump },
      sentAt: read.sentAt,
      observedAt: book.observedAt,
      isCurrent: needsSecondLook ? undefined : isCovered,
      needsSecondLook: needsSecondLook || isFirstSilence,
      isLast: false,
      ...(read.refusal === undefined ? {} : { error: read.refusal }),
    };
  }

  function meter(before: CandleBook | undefined, changes: readonly CandleChange[], observedAt: number): void {
    if (changes.length === 0) return;
    core.metering.tell(() => {
      const closedLateBy = before === undefined ? [] : closingsLateBy(rules, before, changes, observedAt);
      return { type: "candles", series, changes, closedLateBy };
    });
  }

  /** Takes in the first answer with candles where no later one came through; what was read since is newer. */
  function takeFirst(read: SeriesRead): LookStep<CandleState> {
    const candles = read.candles.filter(({ timestamp }) => timestamp >= known.seenUntil);
    return takePart({ ...read, candles }, known.book!, false);
  }

  /** Takes in part of an answer: what it shows exists; what it does not show may exist, too. */
  function takePart(read: SeriesRead, before: CandleBook, isLast: boolean): LookStep<CandleState> {
    let state: CandleState = { book: before, changes: [] };
    if (read.epoch === before.epoch) {
      const part = { ...read, hasUnidentifiedRow: true, isUnproven: true };
      state = applyRead(rules, before, part);
      meter(before, state.changes, state.book.observedAt);
      recorder?.take(part);
      known = { ...known, book: state.book };
      firstSeen = firstSeen && asShownBy(firstSeen, read);
    }
    const { sentAt } = read;
    const { observedAt } = before;
    return { state, sentAt, observedAt, isCurrent: undefined, needsSecondLook: true, isLast };
  }
}
