import type { ClientCore } from "../../client/core.js";
import { mostPagesOf, pageFactsOf } from "../../client/send/walk.js";
import { sleepUntil } from "../../client/timers.js";
import type { Candle, Series } from "../../contract/model.js";
import { ohlcvRoute } from "../../contract/routes.js";
import { mostRows, readOhlcvBody } from "../../contract/wire.js";
import { ContractError, type PairstreamError } from "../../errors.js";
import { skipRows } from "../../poll/refused-rows.js";
import { SECOND_LOOK } from "../../poll/shared-poll.js";
import type { Intervals } from "../../timeframe.js";
import { BrokenRows } from "./broken-rows.js";
import { fullest, orderOf } from "./page-candles.js";
import { type SearchOptions, SeriesStart } from "./series-start.js";
import { Witnesses } from "./witnesses.js";

const MAX_LIMIT = 1_000;
/** The pause between two light probes, in ms: it doubles from the first to the last. */
const PROBE_PAUSE = { first: 60_000, last: 3_600_000 };
/** Candles an answer may hold beyond its range: a margin of one on both sides, one for inclusive bounds, a witness. */
const MARGIN = 4;
/** The longest range that takes one page. A full page may promise a next one without rows, so it is not full. */
export const FULL_PAGE = MAX_LIMIT - MARGIN - 1;

export interface ReadOptions extends SearchOptions {
  /** Gives up, with `undefined`, once it has so many candles and more pages follow; default: never. */
  readonly maxCandles?: number;
  /** The interval of a known candle after the range. The request covers it, and the answer has to hold it. */
  readonly witness?: number | undefined;
  /** An interval after the range that the request covers as well. */
  readonly askedUntil?: number | undefined;
  /** The end of the range for a request that starts at an instant of the scheduler; it counts where it is later. */
  readonly endAt?: (now: number) => number;
  /**
   * How to look for candles that an empty answer may hide. By default it reads again from the pair's creation, where a
   * report tells it. `"lightly"` also looks in the last interval, and does all of it more and more seldom.
   */
  readonly probes?: "lightly" | "never";
  /** Is told an answer that waits for another one about a known candle alone: if that fails, what it shows is there still. */
  readonly onWaiting?: (answer: CandleAnswer) => void;
}

/** Answers lack a known candle: they are not whole. */
export class UnfinishedError extends ContractError {
  constructor(
    readonly lacks: number,
    /** Whether an answer about that candle alone lacks it, too: it is gone. */
    readonly isGone: boolean,
  ) {
    super(
      ["result"],
      `lacks the candle of ${new Date(lacks).toISOString()}, which was there: it is not whole`,
    );
  }
}

/** A whole and validated answer about the range `[from, to)`. */
export interface CandleRead {
  /** The start of an interval, as is `to`. */
  readonly from: number;
  readonly to: number;
  /** Ascending, one an interval. */
  readonly candles: readonly Candle[];
  /** Intervals whose row broke the contract: neither absent nor known. */
  readonly unreadable: ReadonlySet<number>;
  /** Those of them whose row was broken in the answer before, and is not in this one. */
  readonly lost?: ReadonlySet<number>;
  /** Whether a broken row may be that of any candle, or part of the answer is missing: then no candle counts as absent. */
  readonly hasUnidentifiedRow: boolean;
  /** What is wrong with one of the broken rows; absent without broken rows. */
  readonly refusal?: PairstreamError | undefined;
  /** The service's clock had come this far, at least. */
  readonly observedAt: number;
  /** Instants of different epochs cannot be compared: the service's clock has jumped between them. */
  readonly epoch: number;
  /** Whether it was asked right after another one: a cache may give both the same answer. */
  readonly isRepeat?: boolean;
  /** Whether candles may be missing in it, which only another answer can tell. Nothing becomes final by it. */
  readonly isUnproven?: boolean;
  /** The end of what it proves, default `to`. Beyond that it only lacks known candles: nothing there is covered or final. */
  readonly provenUntil?: number;
}

/** An answer, and when it was asked for. */
export interface CandleAnswer extends CandleRead {
  /** When its first request went out, by the scheduler. */
  readonly sentAt: number;
}

/** The answer to a range, with what tells how far to believe it. */
export interface SeriesRead extends CandleAnswer {
  /** A known candle beyond the range that the answer should hold and lacks: the answer is not whole. */
  readonly lacks: number | undefined;
  /** Whether the answer holds a candle beyond the range, and every known one that was asked for. */
  readonly isWitnessed: boolean;
  /** Whether it comes from the client's store, and not from the service. */
  readonly isStored?: true;
}

/** Reads ranges of candles of one series, and learns where the series starts. */
export class SeriesReader {
  readonly seriesStart: SeriesStart;
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  /** Whether a row that keeps breaking the contract is skipped in the end. If not, it fails the read. */
  readonly #skipsRows: boolean;
  readonly #broken = new BrokenRows();
  readonly #witnesses = new Witnesses();
  /** When the last light probe was, by the service's clock, and how long to wait for the next. */
  #probed = { at: Number.NEGATIVE_INFINITY, pause: PROBE_PAUSE.first };
  /** The order in which candles come, mostly newest first: an answer that is cut then lacks the oldest. */
  #order: "descending" | "other" | undefined;

  constructor(core: ClientCore, series: Series, intervals: Intervals, options: { skipsRows: boolean }) {
    this.seriesStart = new SeriesStart(core, series, intervals);
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#skipsRows = options.skipsRows;
  }

  /** The start of the interval in which the pair was created, or else of the first that answered; absent until known. */
  get startsAt(): number | undefined {
    const startsAt = this.seriesStart.createdAt ?? this.seriesStart.firstAnswered;
    return startsAt === undefined ? undefined : this.#intervals.start(startsAt);
  }

  /** Whether a candle of the series was ever read. */
  get hasCandles(): boolean {
    return this.#witnesses.hasAny;
  }

  /** Whether an answer that holds a known candle also holds all after it. */
  get isNewestFirst(): boolean {
    return this.#order !== "other";
  }

  read(from: number, to: number, options: ReadOptions & { maxCandles?: never }): Promise<SeriesRead>;
  read(from: number, to: number, options: ReadOptions): Promise<SeriesRead | undefined>;
  /**
   * All candles of `[from, to)`, both starts of intervals. The request covers the newest known candle before it as well:
   * an answer that `lacks` that one is not whole.
   */
  async read(from: number, to: number, options: ReadOptions): Promise<SeriesRead | undefined> {
    const known = this.#witnesses.before(from, this.seriesStart.newest);
    const start = this.#withMargin(from, to, known);
    const read = await this.#ask(from, to, start, known, options);
    if (read === undefined || read.candles.length > 0 || (known !== undefined && read.lacks === known))
      return read;
    const { probes } = options;
    if (
      probes === "never" ||
      (this.seriesStart.isProof(start) && !(probes === "lightly" && known === undefined))
    )
      return read;
    if (probes === "lightly") {
      const { at, pause } = this.#probed;
      const isTooSoon = Math.abs(read.observedAt - at) < pause;
      if (isTooSoon && !this.seriesStart.contradictsSeen(start, to)) return read;
      this.#probed = { at: read.observedAt, pause: Math.min(2 * pause, PROBE_PAUSE.last) };
    }
    // A range that starts before the pair's creation can come back empty although it holds candles.
    if (!this.seriesStart.isProof(start)) await this.seriesStart.learnCreatedAt(read.observedAt, options);
    if (probes === "lightly") {
      // With an older candle the next answer proves what it does not hold.
      const older = await this.seriesStart.candleBefore(from, options);
      if (older !== undefined) {
        this.#witnesses.replace(older);
        return this.#ask(from, to, this.#withMargin(from, to, older), older, options);
      }
    }
    const { createdAt } = this.seriesStart;
    if (createdAt === undefined) return probes === "lightly" ? this.#readLast(read, start, options) : read;
    const isEmpty = (answer: SeriesRead | undefined) => answer?.candles.length === 0;
    const readFrom = async (opening: number) =>
      opening <= start || opening >= to ? read : this.#ask(from, to, opening, undefined, options);
    const interval = this.#intervals.start(createdAt);
    const readFromInterval = async () => {
      const again = await readFrom(interval);
      if (again === undefined || isEmpty(again)) return again;
      if (this.seriesStart.isInclusive) this.seriesStart.firstAnswered = interval;
      else if (again.candles[0]?.timestamp !== interval) {
        // If bounds are exclusive, the interval's own candle shows only in a range that starts before it.
        const earlier = await readFrom(interval - 1_000);
        return isEmpty(earlier) ? again : earlier;
      }
      return again;
    };
    // From the interval of the creation on, or else from its very second. If only the second answers, the interval is asked
    // once more: answers that are empty at random must not cut off its own candle for good.
    const second = Math.ceil(createdAt / 1_000) * 1_000;
    const fromInterval = await readFromInterval();
    if (!isEmpty(fromInterval) || second === interval) return fromInterval;
    const fromSecond = await readFrom(second);
    if (isEmpty(fromSecond)) return read;
    const again = await readFromInterval();
    return isEmpty(again) ? fromSecond : again;
  }

  readWhole(from: number, to: number, options: ReadOptions & { maxCandles?: never }): Promise<SeriesRead>;
  readWhole(from: number, to: number, options: ReadOptions): Promise<SeriesRead | undefined>;
  /**
   * Like `read`, but asks once more if the answer is not whole or its cursors lead nowhere, and rejects with a
   * `ContractError` if the second answer is no better. It accepts an answer that is not whole if the range starts before
   * any that held a row: the pair's creation may hide its candles.
   */
  async readWhole(from: number, to: number, options: ReadOptions): Promise<SeriesRead | undefined> {
    for (let isSecond = false; ; isSecond = true) {
      const read = await this.read(from, to, options).catch((error: unknown) => {
        // A walk that its cursors led astray cannot go on: the second read starts with the first page again.
        if (isSecond || !(error instanceof ContractError && error.path[0] === "cursor")) throw error;
        return "astray" as const;
      });
      if (read !== "astray") {
        this.seriesStart.newest = read?.candles.at(-1)?.timestamp;
        if (read?.lacks === undefined || !this.isProven(read)) return read;
        if (isSecond) throw await this.unfinished(read.lacks, options);
        this.doubt(read.lacks);
      }
      await this.pause(options.signal);
    }
  }

  /** Waits until what a cache gives is another answer. */
  pause(signal: AbortSignal): Promise<void> {
    const { scheduler } = this.#core;
    return sleepUntil(scheduler, scheduler.now() + SECOND_LOOK, signal);
  }

  /**
   * Notes that an answer lacks a known candle, which may be gone. The next answer has to hold the oldest known candle
   * instead. If it still lacks the doubted one, an answer about that one alone decides.
   */
  doubt(lacks: number): void {
    this.#witnesses.doubt(lacks);
  }

  /** The error after two answers that lack a known candle. If an answer about it alone lacks it, too, it is forgotten. */
  async unfinished(lacks: number, options: SearchOptions): Promise<UnfinishedError> {
    const isThere = this.#witnesses.takeConfirmed(lacks) || (await this.seriesStart.holds(lacks, options));
    if (isThere) this.#witnesses.remember([lacks]);
    else this.#forget(lacks);
    return new UnfinishedError(lacks, !isThere);
  }

  #forget(lacks: number): void {
    this.seriesStart.forget(lacks);
    this.#witnesses.forget(lacks);
  }

  /** Reads an empty range again, from where candles show, if one of its last intervals holds some. */
  async #readLast(read: SeriesRead, start: number, options: ReadOptions): Promise<SeriesRead | undefined> {
    const { from, to } = read;
    const end = this.#intervals.shift(to, 1);
    // The running interval seldom holds a candle just after its start; the one before may begin before the creation.
    for (const last of [this.#intervals.shift(to, -2), this.#intervals.shift(to, -1)]) {
      if (last <= start || !(await this.seriesStart.answers(last, end, options))) continue;
      await this.seriesStart.findFirstAnswered(start, last, end, options);
      return this.#ask(from, to, this.#withMargin(from, to), undefined, options);
    }
    return read;
  }

  /** Whether an empty answer proves a silence: its range does not start before the pair's creation. */
  isProven({ from, to }: CandleRead): boolean {
    return this.seriesStart.createdAt !== undefined || this.seriesStart.isProof(this.#withMargin(from, to));
  }

  /** Asks from `start` on for the candles of `[from, to)`; `known`: a candle between the two that the answer has to hold. */
  async #ask(
    from: number,
    to: number,
    start: number,
    known: number | undefined,
    options: ReadOptions,
  ): Promise<SeriesRead | undefined> {
    const {
      maxCandles = Number.POSITIVE_INFINITY,
      witness,
      askedUntil = witness,
      endAt,
      priority,
      signal,
    } = options;
    const endFor = (to: number) => this.#intervals.shift(Math.max(to, askedUntil ?? to), 1);
    let end = endFor(to);
    const routeFor = (cursor: string | undefined, now: number) => {
      // A request may wait for the rate limit until its range has no end in the present any more.
      if (cursor === undefined && endAt !== undefined) {
        to = Math.max(to, endAt(now));
        end = endFor(to);
      }
      // No candle should lie between the range and a witness; the limit does not rely on it.
      const limit = Math.min(MAX_LIMIT, this.#intervals.count(known ?? from, to) + MARGIN + 1);
      return ohlcvRoute({ ...this.#series, from: start, to: end, limit, cursor });
    };
    const candles = new Map<number, Candle>();
    const unreadable = new Set<number>();
    const broken = new Set<number>();
    let hasUnidentifiedRow = false;
    let refusal: PairstreamError | undefined;
    let first: Pick<SeriesRead, "sentAt" | "observedAt" | "epoch"> | undefined;
    const walk = this.#core.walk({
      route: routeFor,
      priority,
      signal,
      parse: (text) => this.#parse(text, from, to, mostRows(this.#intervals.count(start, end))),
      next: ({ served }) => served,
      mostPages: () => mostPagesOf(this.#intervals, start, end),
      needsClock: true,
    });
    for await (const { value, sentAt, observedAt, epoch, cursor } of walk) {
      first ??= { sentAt, observedAt, epoch };
      for (const candle of fullest(value.page.result)) candles.set(candle.timestamp, candle);
      for (const { key } of value.skipped) {
        if (key === undefined) hasUnidentifiedRow = true;
        else unreadable.add(this.#intervals.start(key));
      }
      refusal ??= value.skipped[0]?.error;
      for (const timestamp of value.broken) broken.add(timestamp);
      if (value.served.rows > 0) this.seriesStart.note(start, value.served.first);
      this.#order = orderOf(value.page.result) ?? this.#order;
      if (cursor !== undefined && candles.size >= maxCandles) return undefined;
    }
    const isThere = (key: number) => {
      const start = this.#intervals.start(key);
      return candles.has(start) || broken.has(start);
    };
    // What was there before may be there still. One answer that lacks it proves no silence; the next one does.
    const absent = this.#broken.takeAbsent({ from, to }, isThere);
    const lost = new Set(absent.map((key) => this.#intervals.start(key)));
    for (const timestamp of lost) unreadable.add(timestamp);
    if (!hasUnidentifiedRow) this.#broken.forgetUnplaced({ from, to });
    const inRange = [...candles.values()].filter(({ timestamp }) => timestamp >= from && timestamp < to);
    inRange.sort((a, b) => a.timestamp - b.timestamp);
    if (unreadable.size > 0) for (const { timestamp } of inRange) unreadable.delete(timestamp);
    const answer = { from, to, candles: inRange, unreadable, lost, hasUnidentifiedRow, refusal, ...first! };
    const witnesses = [known, witness].filter((timestamp) => timestamp !== undefined);
    // A row that cannot be read, or placed, may be that of any candle.
    const isLacking = (timestamp: number) => !candles.has(timestamp) && !broken.has(timestamp);
    let lacks = hasUnidentifiedRow ? undefined : witnesses.find(isLacking);
    const doubted = lacks === undefined ? this.#witnesses.settle(start, end) : undefined;
    if (doubted !== undefined && !hasUnidentifiedRow && isLacking(doubted)) {
      options.onWaiting?.(answer);
      if (await this.seriesStart.holds(doubted, options)) {
        this.#witnesses.confirm(doubted);
        lacks = doubted;
      } else this.#forget(doubted);
    }
    const isWitnessed = lacks === undefined && (witnesses.length > 0 || candles.size > inRange.length);
    if (lacks === undefined) {
      this.#witnesses.show(inRange.map(({ timestamp }) => timestamp));
      this.#witnesses.remember([...candles.keys()].filter((timestamp) => timestamp < from));
    }
    return { ...answer, lacks, isWitnessed };
  }

  /**
   * Where to begin to ask: one interval earlier, as the service's bounds may be exclusive. To reach a known candle before
   * the range it begins no earlier than the first start that answered so far.
   */
  #withMargin(from: number, to: number, known?: number): number {
    const { firstAnsweredSoFar, isInclusive, firstAnswered: opening } = this.seriesStart;
    const margin = this.#intervals.shift(known ?? from, -1);
    const isAnswered =
      known !== undefined && (firstAnsweredSoFar < known || (isInclusive && firstAnsweredSoFar === known));
    const start = isAnswered ? Math.max(margin, firstAnsweredSoFar) : margin;
    return opening !== undefined && opening < to ? Math.max(start, opening) : start;
  }

  /** Reads a body; throws for a broken row in the range until that row may be skipped. */
  #parse(text: string, from: number, to: number, most: number) {
    const isStart = (instant: number) => this.#intervals.start(instant) === instant;
    const { page, refused } = readOhlcvBody(text, this.#series, isStart, most);
    const inRange = refused.filter(({ key }) => key === undefined || (key >= from && key < to));
    this.#broken.count(inRange, page.result, { from, to });
    if (inRange.length > 0) {
      const url = ohlcvRoute({ ...this.#series, from, to });
      skipRows(this.#core, url, inRange, (key) => (this.#skipsRows ? this.#broken.readsOf(key) : 0));
    }
    const places = refused.map(({ key }) => ({ key: key && this.#intervals.start(key) }));
    const broken = places.flatMap(({ key }) => key ?? []);
    return { page, served: pageFactsOf(page, places), skipped: inRange, broken };
  }

  /** Forgets the broken rows of intervals that will not be read again. */
  forgetBefore(timestamp: number): void {
    this.#broken.forgetBefore(timestamp);
  }
}
