import { defer, finalize, type Observable } from "rxjs";
import { type ClientCore, serviceNow } from "../../client/core.js";
import { earliestTime, serviceTime } from "../../client/service-clock.js";
import type { Candle } from "../../contract/model.js";
import type { AskOptions, FeedUpdate, Poll, Step } from "../../poll/poller.js";
import { candleSchedule } from "../../poll/schedule.js";
import { sharedFeed } from "../../poll/shared-poll.js";
import type { CandleWatch } from "../options.js";
import { judged, notWhole } from "../read/asking.js";
import { type CandleBook, type CandleChange, emptyBook, isCurrent } from "../read/book.js";
import { ForwardWalk } from "../read/forward-walk.js";
import { type Judgement, pauseFor } from "../read/judge.js";
import { longerBook } from "../read/longer-book.js";
import type { Page } from "../read/page.js";
import { FULL_PAGE, SeriesPages, type Wanted } from "../read/pages.js";
import { openStored, type Recorder, type StoredSeries } from "../read/past.js";
import { type CandleRules, settledUntil, windowStart } from "../rules.js";

/** The candles of a series that may still change, and what the last answer changed. */
export interface CandleState {
  readonly book: CandleBook;
  readonly changes: readonly CandleChange[];
  /** Whether the answer ends before the newest interval that has settled, as those do that an outage is caught up with. */
  readonly endsEarly: boolean;
}

/** The shared poll of a series. */
export function candleFeed(core: ClientCore, watch: CandleWatch): Observable<FeedUpdate<CandleState>> {
  const { series, rules, every } = watch;
  return defer(() => {
    const stored = openStored(core, watch);
    const make = (): Poll<CandleState> => {
      const candles = new LiveCandles(core, watch, stored);
      return {
        schedule: candleSchedule(rules.intervals, every, rules.settle),
        ask: (options) => candles.ask(options),
        kind: "ohlcv",
        feed: series,
      };
    };
    return sharedFeed(core, watch.pollKey, make, watch).pipe(finalize(() => stored?.close()));
  });
}

/** The book of a running poll. */
class LiveCandles {
  readonly #core: ClientCore;
  readonly #watch: CandleWatch;
  readonly #rules: CandleRules;
  readonly #pages: SeriesPages;
  readonly #recorder: Recorder | undefined;
  #book: CandleBook | undefined;
  /** The same as it is shown: of longer candles, where these are wanted. */
  #shown: CandleBook | undefined;
  /** Whether a candle has shown. */
  #hasShown = false;
  /** Where the window began when the series was first asked for, by a clock that is certain. */
  #begin: { readonly from: number; readonly epoch: number } | undefined;
  /** How the book is read on: what an outage has left out takes many pages. */
  readonly #walk: ForwardWalk;
  /** Anchors up to here are not asked for any more: too much has turned up behind them in what was final, and came along. */
  #costly = -Infinity;

  /** `stored`: held open by whoever subscribes. */
  constructor(core: ClientCore, watch: CandleWatch, stored: StoredSeries | undefined) {
    const { series, rules } = watch.served;
    this.#core = core;
    this.#watch = watch;
    this.#rules = rules;
    this.#pages = new SeriesPages(core, series, rules.intervals);
    this.#walk = new ForwardWalk(this.#pages, rules);
    this.#recorder = stored?.recorder(core, this.#pages, rules);
  }

  /** Asks once, from where nothing is final, and takes the answer in. */
  async ask(options: AskOptions): Promise<Step<CandleState>> {
    if (this.#recorder !== undefined) await this.#recorder.begin(serviceNow(this.#core));
    const isFirst = this.#book === undefined;
    const known = this.#book ?? emptyBook(this.#beginning());
    const wanted = this.#wanted(known, options);
    const asked = isFirst
      ? await this.#pages.ask(wanted, options)
      : await this.#walk.next(known, wanted, options);
    // An answer of which nothing can be read is none, and where a series begins nothing else is known of it.
    if (isFirst && isUnreadable(asked)) throw asked.refusal;
    const { at, epoch, to } = asked;
    // By the time that it tells, the range should have been another one when it was asked for.
    const missesPresent =
      epoch !== known.epoch &&
      to >= wanted.to &&
      to <= this.#rules.intervals.start(at - this.#core.serviceClock().roundTrip);
    const book = isFirst ? this.#opened(asked, missesPresent) : known;
    if (book === undefined) return { again: 0, observedAt: at };
    const page = isFirst ? await this.#anchored(wanted, asked, options) : asked;
    const isPassed = ({ timestamp }: Candle) => timestamp < page.from && !wanted.anchors.includes(timestamp);
    this.#costly = page.candles.filter(isPassed).at(-MOST_PASSED - 1)?.timestamp ?? this.#costly;
    const before = this.#hasShown ? book : withoutSilence(book, page);
    this.#hasShown ||= page.candles.length > 0;
    const judgement = await judged(this.#pages, this.#rules, before, page, options);
    const isPart = page.to < wanted.to;
    // An answer about the present is asked for anew.
    if (isPart) this.#walk.note(page, judgement.doubt);
    await this.#recorder?.take(page, options);
    const doubt = missesPresent ? "time" : judgement.doubt;
    const step = this.#take(book, { ...judgement, doubt }, page, options);
    const isCut = isPart && page.failure !== undefined;
    return { ...step, isMore: step.isMore || isCut || before.finalUntil < page.from };
  }

  /** The book that a first answer begins; `undefined` where its range should have been another one. */
  #opened({ from: asked, at, isInDoubt, epoch }: Page, missesPresent: boolean): CandleBook | undefined {
    const from = Math.min(this.#beginning(), this.#windowStart(at));
    if (!missesPresent && asked <= from) return emptyBook(from);
    // Another machine may be behind that by which it was asked for.
    if (!isInDoubt) this.#begin = { from, epoch };
    return undefined;
  }

  /** Where to begin. What has happened since the series was first asked for is told even if no answer has come until now. */
  #beginning(): number {
    const clock = this.#core.serviceClock();
    const { isConfirmed, epoch } = clock;
    // An answer tells no earlier time than is certain, and has to reach back from there.
    const start = this.#windowStart(earliestTime(clock, this.#core.scheduler.now()));
    if (!isConfirmed) return start;
    if (this.#begin?.epoch !== epoch) {
      const before = this.#begin?.from ?? start;
      const isNear = before < start && this.#rules.intervals.count(before, start) <= FULL_PAGE / 2;
      this.#begin = { from: isNear ? before : start, epoch };
    }
    return this.#begin.from;
  }

  /** Where the first answer has to begin: what is shown is whole from its beginning on. */
  #windowStart(at: number): number {
    const start = windowStart(this.#rules, at);
    return this.#rules.frames?.start(start) ?? start;
  }

  /** What to ask for: all up to the present. */
  #wanted(book: CandleBook, { at, asks, priority }: AskOptions): Omit<Wanted, "mostCandles"> {
    const { intervals } = this.#rules;
    const from = this.#recorder?.readsFrom(book.finalUntil) ?? book.finalUntil;
    const present = intervals.end(Math.max(serviceNow(this.#core), book.finalUntil));
    const recorded = this.#recorder?.anchors ?? [];
    const known = [...new Set([...book.anchors, ...recorded])].sort((a, b) => a - b);
    const anchors = known.filter((anchor) => anchor > this.#costly);
    const shown = book.entries.find(({ candle }) => candle.timestamp >= from)?.candle.timestamp;
    const endAt = (now: number) => {
      // A request that goes out a little before its slot asks for what the slot shows: a copy has not been asked that.
      const time = serviceTime(this.#core.serviceClock(), now);
      const end = intervals.end(at > time && at < time + EARLY ? at : time);
      return intervals.count(from, end) <= FULL_PAGE ? end : present;
    };
    // A cache answers the same question with the same answer. So a slot asks for a second one in other words, and for a third one
    // in these again: by the first words that might be older than the second. What may confirm a silence has words of its own.
    // A closing has its own, too: a poll just before it has filled the cache with what had not closed.
    const words = book.silence ? Math.abs(2 - asks) : Math.min(asks, 1);
    const stale = priority === "close" && this.#book !== undefined ? words + 3 : words;
    return { from, to: present, anchors, shown, endAt, stale };
  }

  /**
   * A first answer or, where that shows nothing, another one that shows a candle from before: with that it proves what it does
   * not hold.
   */
  async #anchored(wanted: Wanted, asked: Page, options: AskOptions): Promise<Page> {
    const page = await this.#pages.orHidden(wanted, asked, options);
    if (!page.isEmpty || wanted.anchors.length > 0) return page;
    // What a store has is not asked for again.
    if (this.#recorder?.hasPast) return page;
    const older = await this.#pages.beginning.candleBefore(wanted.from, options);
    if (older === undefined) return page;
    // Where more than a page follows it, it was not the last before.
    const both = await this.#pages.ask({ ...wanted, anchors: [older], mostCandles: 1 }, options);
    return both ?? page;
  }

  #take(
    before: CandleBook,
    { book, changes, doubt, dropped }: Judgement,
    page: Page,
    options: AskOptions,
  ): Step<CandleState> {
    const { frames, intervals } = this.#rules;
    this.#book = book;
    this.#pages.drop(dropped, page, options);
    // By a clock that was set back a longer candle may be final no longer, and what is in hand be a part of it.
    if (frames !== undefined && page.from > book.finalUntil) return { again: 0, observedAt: page.at };
    const known = this.#shown ?? before;
    const shown = frames === undefined ? { book, changes } : longerBook(frames, intervals, known, book);
    this.#shown = shown.book;
    if (shown.changes.length > 0) {
      const { rules, series } = this.#watch;
      const told = { series, rules, before: known, changes: shown.changes, observedAt: page.at };
      this.#core.metering.tell(() => ({ type: "candles", ...told }));
    }
    const endsEarly = page.to < settledUntil(this.#rules, page.at);
    const isMore = endsEarly && doubt === undefined && book.finalUntil > before.finalUntil;
    return {
      state: { ...shown, endsEarly: page.to < settledUntil(this.#watch.rules, page.at) },
      observedAt: page.at,
      again: pauseFor(doubt),
      isMore,
      // An answer of which nobody knew when it was made may have told a later time than there was.
      currentAt: page.isUnfinished
        ? undefined
        : [book.observedAt, page.at].find((instant) => isCurrent(this.#rules, book, instant)),
      error: doubt === "rows" || doubt === "anchors" ? notWhole(page) : page.refusal,
      // Whoever is told of one says so.
      hasShown: false,
      newest: book.entries.at(-1)?.candle.timestamp ?? book.anchors.at(-1),
    };
  }
}

/** So many late candles may come along with the anchors. */
const MOST_PASSED = 20;
/** A request goes out at most so much before its slot, in ms: a second, as `Date` tells no more. */
const EARLY = 1_000;

/**
 * A book that has seen no candle yet, before an answer that shows the first ones, as it was before all the silence that may
 * have hidden them: what comes late to a young pair is read once more.
 */
function withoutSilence(book: CandleBook, { candles, bornAt }: Page): CandleBook {
  const { from } = book.covered.at(-1)!;
  if (candles.length === 0 || (bornAt ?? from) < from) return book;
  return { ...book, finalUntil: Math.min(book.finalUntil, bornAt ?? from), silence: undefined };
}

/** Whether an answer has rows, and none of them can be read. */
function isUnreadable({ candles, broken, hasUnplaced, refusal }: Page): boolean {
  return candles.length === 0 && (broken.length > 0 || hasUnplaced) && refusal !== undefined;
}
