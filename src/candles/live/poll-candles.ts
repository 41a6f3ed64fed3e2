import { defer, finalize, type Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { serviceTime } from "../../client/service-clock.js";
import type { Series } from "../../contract/model.js";
import { candleSchedule } from "../../poll/schedule.js";
import {
  type FeedUpdate,
  type LookOptions,
  type LookStep,
  type Poll,
  sharedFeed,
} from "../../poll/shared-poll.js";
import type { CandleWatch } from "../options.js";
import { type CandleAnswer, type ReadOptions, type SeriesRead, SeriesReader } from "../read/range-reader.js";
import { PastReader } from "../read/stored.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";
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

/** A look reads each range to its end. */
type LiveReadOptions = ReadOptions & { maxCandles?: never };

type Tell = (step: LookStep<CandleState>) => void;

/** How often one look asks again at once: for a range that missed the present, or at a time that is not certain. */
const REPEATS = 2;

/** The shared poll of a series. */
export function candleFeed(core: ClientCore, watch: CandleWatch): Observable<FeedUpdate<CandleState>> {
  const make = (): Poll<CandleState> => {
    const looks = new CandleLooks(core, watch);
    return {
      schedule: candleSchedule(watch.rules.intervals, watch.every, watch.rules.settle),
      look: (options, tell) => looks.look(options, tell),
      kind: "ohlcv",
      feed: watch.series,
    };
  };
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

/** Looks at a series: asks as often as it takes, and takes each answer into its book. */
class CandleLooks {
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #rules: CandleRules;
  readonly #reader: SeriesReader;
  readonly #past: PastReader;
  readonly #recorder: FinalRecorder | undefined;
  #known = UNKNOWN_SERIES;
  /** Whether the first candles are shown, and what lies before them could not be read yet. */
  #isCutOff = false;
  /** The first answer with candles, until one that tells more is taken in. */
  #firstSeen: SeriesRead | undefined;
  #silence: Silence | undefined;
  /** The epoch of the last state. */
  #epoch: number | undefined;
  /** Whether the last answer lacked a known candle before its range. */
  #lackedWitness = false;
  /** Whether the answer before this one was asked for just before: a cache may give the same one again. */
  #isRepeat: LookOptions["isRepeat"] = () => false;

  constructor(core: ClientCore, { series, rules, weekStart }: CandleWatch) {
    this.#core = core;
    this.#series = series;
    this.#rules = rules;
    this.#reader = new SeriesReader(core, series, rules.intervals, { skipsRows: true });
    // Held open by whoever subscribes.
    const stored = core.store?.open(series, weekStart);
    stored?.close();
    // The recorder writes, as it holds what is read against what was.
    this.#past = new PastReader(core, this.#reader, rules, stored, { writes: false });
    this.#recorder = stored && new FinalRecorder(core, this.#reader, rules, stored);
  }

  async look(options: LookOptions, tell: Tell): Promise<void> {
    this.#firstSeen = undefined;
    try {
      await this.#takeSteps(options, tell);
    } catch (error) {
      if (this.#firstSeen !== undefined) tell(this.#takeFirst(this.#firstSeen));
      throw error;
    }
  }

  #clock(): ClockReading {
    const { epoch, isConfirmed, isContradicted } = this.#core.serviceClock();
    return { epoch, isConfirmed, isContradicted, now: serviceNow(this.#core) };
  }

  async #takeSteps(options: LookOptions, tell: Tell): Promise<void> {
    this.#isRepeat = options.isRepeat;
    const { intervals } = this.#rules;
    const endAt = (now: number) => intervals.end(serviceTime(this.#core.serviceClock(), now));
    if (this.#recorder !== undefined) await this.#recorder.begin(this.#past, serviceNow(this.#core));
    for (let repeats = 0; ; repeats++) {
      const before = this.#clock();
      this.#known = knownAtRead(this.#rules, this.#known, before);
      if (repeats === 0) this.#known = knownAtLook(this.#rules, this.#known, before);
      let range = rangeToRead(
        this.#rules,
        this.#known.book,
        this.#reader.hasCandles,
        before.now,
        this.#isCutOff,
      );
      if (range.isFarBehind) {
        await this.#catchUp(options, tell);
        range = rangeToRead(this.#rules, this.#known.book, true, this.#clock().now);
      }
      // A blank book may come from a look by a clock that was not known yet.
      const probes = options.isClosing || range.isBlank ? "lightly" : "never";
      const from = this.#recorder?.readFrom(range.from) ?? range.from;
      const read = await this.#read(from, range.to, { ...options, probes, endAt }, tell);
      const { book } = this.#known;
      const { hasCandles } = this.#reader;
      const context = { book, range, hasCandles, firstSeen: this.#firstSeen, mayRepeat: repeats < REPEATS };
      const verdict = verdictOn(this.#rules, read, context, this.#clock());
      if (verdict === "take-part-and-ask-again") tell(this.#takePart(read, book!, false));
      if (verdict === "ask-again" || verdict === "take-part-and-ask-again") continue;
      if (verdict === "not-whole") {
        const isSecond = this.#lackedWitness;
        this.#lackedWitness = true;
        if (!isSecond) this.#reader.doubt(read.lacks!);
        tell(this.#takePart(read, book!, !isSecond));
        if (!isSecond) return;
        throw await this.#reader.unfinished(read.lacks!, options);
      }
      this.#lackedWitness = false;
      this.#isCutOff = verdict === "catch-up-first";
      if (verdict === "catch-up-first") {
        this.#firstSeen = read;
        await this.#catchUp(options, tell);
        this.#isCutOff = false;
      } else if ("length" in verdict) {
        this.#firstSeen = undefined;
        tell(this.#takePart({ ...read, candles: verdict }, book!, true));
        return;
      } else {
        const { isUnproven, lacksUntil, isLast } = verdict;
        this.#firstSeen = undefined;
        tell(this.#take({ ...read, isUnproven }, lacksUntil, isLast));
        if (isLast) return;
      }
    }
  }

  /** Reads a range. Where that fails as nothing says whether a known candle is gone, what was shown is taken in. */
  async #read(from: number, to: number, options: LiveReadOptions, tell: Tell): Promise<SeriesRead> {
    let waiting: CandleAnswer | undefined;
    const onWaiting = (answer: CandleAnswer) => {
      waiting = answer;
    };
    try {
      return await this.#reader.read(from, to, { ...options, onWaiting });
    } catch (error) {
      const { book } = this.#known;
      if (waiting !== undefined && book !== undefined) tell(this.#takePart(waiting, book, false));
      throw error;
    }
  }

  /** Reads what has left the revision window during an outage, slice by slice, until the rest fits one page. */
  async #catchUp(options: LookOptions, tell: Tell): Promise<void> {
    for (let passes = 0; this.#known.book !== undefined && passes <= REPEATS; passes++) {
      const until = windowStart(this.#rules, serviceNow(this.#core));
      const reached = this.#known.book.finalUntil;
      if (passes > 0 && !isFarBehind(this.#rules, this.#known.book, until)) return;
      const from = this.#recorder?.readFrom(reached) ?? reached;
      for await (const read of this.#past.slices(from, () => until, options)) {
        tell(this.#take(read));
        // The book holds back the end of this slice: read on from there, or the next slice would leave a hole.
        if (this.#known.book.finalUntil < read.to) break;
      }
      if (this.#known.book.finalUntil > reached) passes = 0;
    }
  }

  /** Takes in an answer, as far as it counts. */
  #take(read: SeriesRead, lacksUntil?: number, isLast = false): LookStep<CandleState> {
    const before =
      this.#known.book ?? emptyBook(Math.max(read.from, windowStart(this.#rules, read.observedAt)));
    const isCopy = this.#isRepeat(read.sentAt);
    const counted = countedRead(this.#rules, read, this.#silence, isCopy, lacksUntil);
    const taken = {
      ...read,
      to: counted.to,
      provenUntil: counted.provenUntil,
      isRepeat: isCopy,
      isUnproven: read.isUnproven === true && lacksUntil === undefined,
    };
    const { book, changes, needsSecondLook } = applyRead(this.#rules, before, taken);
    this.#meter(this.#known.book, changes, book.observedAt);
    this.#recorder?.take(taken);
    this.#isRepeat = () => true;
    this.#silence = counted.silence;
    const hasJumped = this.#epoch !== undefined && book.epoch !== this.#epoch;
    const jump = hasJumped ? { ranAheadUntil: this.#known.ranAhead?.finalUntil } : undefined;
    this.#epoch = book.epoch;
    const newest = read.candles.at(-1);
    const seenUntil =
      newest === undefined
        ? Math.min(this.#known.seenUntil, book.finalUntil)
        : this.#rules.intervals.end(newest.timestamp);
    this.#known = { ...this.#known, book, seenUntil, ranAhead: undefined };
    this.#reader.forgetBefore(book.finalUntil);
    const isCovered = read.isUnproven
      ? book.coveredUntil > before.coveredUntil || undefined
      : book.coveredUntil >= settledUntil(this.#rules, book.observedAt);
    const isFirstSilence = this.#silence !== undefined && this.#silence.confirmedUntil === undefined;
    return {
      state: { book, changes, endsEarly: read.to < settledUntil(this.#rules, read.observedAt), jump },
      sentAt: read.sentAt,
      observedAt: book.observedAt,
      isCurrent: needsSecondLook ? undefined : isCovered,
      needsSecondLook: needsSecondLook || isFirstSilence,
      isLast,
      error: read.refusal,
    };
  }

  #meter(before: CandleBook | undefined, changes: readonly CandleChange[], observedAt: number): void {
    if (changes.length === 0) return;
    this.#core.metering.tell(() => {
      const closedLateBy =
        before === undefined ? [] : closingsLateBy(this.#rules, before, changes, observedAt);
      return { type: "candles", series: this.#series, changes, closedLateBy };
    });
  }

  /** Takes in the first answer with candles where no later one came through; what was read since is newer. */
  #takeFirst(read: SeriesRead): LookStep<CandleState> {
    const candles = read.candles.filter(({ timestamp }) => timestamp >= this.#known.seenUntil);
    return this.#takePart({ ...read, candles }, this.#known.book!, false);
  }

  /** Takes in part of an answer: what it shows exists; what it does not show may exist, too. */
  #takePart(read: CandleAnswer, before: CandleBook, isLast: boolean): LookStep<CandleState> {
    let state: CandleState = { book: before, changes: [] };
    if (read.epoch === before.epoch) {
      const part = { ...read, hasUnidentifiedRow: true, isUnproven: true };
      state = applyRead(this.#rules, before, part);
      this.#meter(before, state.changes, state.book.observedAt);
      this.#recorder?.take(part);
      this.#known = { ...this.#known, book: state.book };
      this.#firstSeen = this.#firstSeen && asShownBy(this.#firstSeen, read);
    }
    const { sentAt } = read;
    const { observedAt } = before;
    return { state, sentAt, observedAt, isCurrent: undefined, needsSecondLook: true, isLast };
  }
}
