import type { ClientCore } from "../../client/core.js";
import { readPage, walkOf } from "../../client/send/walk.js";
import type { Series, Timeframe } from "../../contract/model.js";
import { ohlcvRoute } from "../../contract/routes.js";
import type { Span } from "../../contract/store.js";
import { ContractError, PairstreamError } from "../../errors.js";
import { APART } from "../../poll/apart.js";
import { reportDropped } from "../../poll/dropped.js";
import type { Intervals } from "../../timeframe.js";
import { Beginning, type ReadOptions } from "./beginning.js";
import { isShown, type Page, readOf, type Served, toldOf } from "./page.js";

export type { ReadOptions };

export const MAX_LIMIT = 1_000;
/** Candles that an answer may hold beyond its range: one on both sides, one as bounds may be inclusive, four anchors. */
const MARGIN = 7;
/** The longest range that takes one page. A full page may promise a next one without rows, so it is not full. */
export const FULL_PAGE = MAX_LIMIT - MARGIN - 1;

/** What to ask for. */
export interface Wanted {
  readonly from: number;
  readonly to: number;
  /** Known candles, ascending: the request covers them as well, and a whole answer shows them. */
  readonly anchors: readonly number[];
  /** The first candle of the range that has been shown before. Where a range hides it, one that begins with it shows it again. */
  readonly shown?: number | undefined;
  /** The end of the range for a request that starts at an instant of the scheduler; it counts where it is later. */
  readonly endAt?: ((now: number) => number) | undefined;
  /**
   * For a walk: the answer ends once it has so many candles, or where a page fails after others. It is about what its pages
   * tell of, from the end of the range on or from its beginning on; `undefined` where none knows which. Default: all is read.
   */
  readonly mostCandles?: number;
  /**
   * How many answers in a row left something open: each is asked for one row more or, of a long range, every other one for one
   * less, as a cache answers the same with the same.
   */
  readonly stale?: number;
  /** Up to where the series is searched for where the range shows nothing; default: its end. */
  readonly searchUntil?: number;
}

/** The answers of a service about ranges of one series. */
export class SeriesPages {
  readonly beginning: Beginning;
  readonly #core: ClientCore;
  readonly #series: Series<Timeframe>;
  readonly #intervals: Intervals;
  /**
   * When a search was in vain, and the pause after it, in ms: it doubles from search to search. What has shown candles does not
   * wait for that of a search from before them.
   */
  readonly #searched = {
    known: { at: -Infinity, pause: APART / 2, longest: 300_000 },
    unknown: { at: -Infinity, pause: 30_000, longest: 3_600_000 },
  };

  constructor(core: ClientCore, series: Series<Timeframe>, intervals: Intervals) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.beginning = new Beginning(core, series, intervals);
  }

  read(wanted: Wanted & { mostCandles?: never }, options: ReadOptions): Promise<Page>;
  read(wanted: Wanted, options: ReadOptions): Promise<Page | undefined>;
  /** What the service shows of a range, or hides in it. */
  async read(wanted: Wanted, options: ReadOptions): Promise<Page | undefined> {
    const page = await this.ask(wanted, options);
    return page && this.orHidden(wanted, page, options);
  }

  /**
   * An answer or, where it shows nothing at all, one that shows what it hides: a range that starts before the pair's creation can
   * come back empty although it holds candles.
   */
  async orHidden(wanted: Wanted, page: Page, options: ReadOptions): Promise<Page> {
    const asked = this.#startOf(wanted);
    const { from } = wanted;
    // What lies before the first start that has answered may be hidden, too.
    const isCut = asked > Math.max(from, this.beginning.start ?? from);
    if (!(page.isEmpty || isCut) || page.to <= page.bornAt!) return page;
    const start = isCut ? this.#intervals.shift(from, -1) : asked;
    if (this.beginning.isReached(start)) return page;
    const known = wanted.anchors.at(-1) ?? wanted.shown;
    const searched = this.#searched[known === undefined ? "unknown" : "known"];
    if (Math.abs(page.at - searched.at) < searched.pause) return page;
    const until = Math.max(page.to, wanted.searchUntil ?? 0, known ?? 0);
    // Nothing has happened yet in what is still to come.
    const end = Math.min(until, this.#intervals.end(page.at));
    if (start >= end) return page;
    // What has been shown before is there still: one more answer tells whether this start hides it.
    const isSilent = known === undefined && end <= page.to;
    const sought = { start, end: this.#intervals.shift(end, 1), at: page.at, isSilent, known };
    await this.beginning.seek(sought, options);
    const bornAt = this.beginning.start;
    if (page.to <= bornAt!) return { ...page, bornAt };
    // Nothing was sought where the report has told that no start as late as this one hides anything.
    if (!this.beginning.isReached(start)) {
      searched.at = page.at;
      searched.pause = Math.min(2 * searched.pause, searched.longest);
    }
    return this.#startOf(wanted) === asked ? page : ((await this.ask(wanted, options)) ?? page);
  }

  /** Where to begin to ask: an interval earlier, as bounds may be exclusive; not where ranges are known to come back empty. */
  #startOf({ from, to, anchors: [anchor], shown }: Wanted): number {
    const first = Math.min(from, anchor ?? from);
    const earliest = this.#intervals.shift(first, -1);
    const isHidden = shown !== undefined && this.beginning.isHidden(earliest);
    const known = first < from ? first : isHidden ? shown : undefined;
    return Math.min(this.beginning.answeringFrom(earliest, known), this.#intervals.shift(to, -1));
  }

  /** Says which rows of an answer are left out for good, as they cannot be read; `undefined`: one without an interval. */
  drop(
    rows: readonly (number | undefined)[],
    { from, to, refusal }: Page,
    { priority, tell }: ReadOptions,
  ): void {
    if (refusal === undefined) return;
    const series = this.#series;
    const { pairAddress } = series;
    const reading = priority === "history" ? priority : "poll";
    const url = ohlcvRoute({ ...series, from, to });
    const broken = rows.map((key) => ({ key, error: refusal }));
    reportDropped(this.#core, { reading, pairAddress, series, url }, broken, tell);
  }

  ask(wanted: Wanted & { mostCandles?: never }, options: ReadOptions): Promise<Page>;
  ask(wanted: Wanted, options: ReadOptions): Promise<Page | undefined>;
  /** What the service shows of a range. */
  async ask(wanted: Wanted, { priority, signal, tell }: ReadOptions): Promise<Page | undefined> {
    const { from, anchors, endAt, mostCandles, stale = 0 } = wanted;
    const intervals = this.#intervals;
    const start = this.#startOf(wanted);
    /** Where the request ends that is under way. Of two that are sent to learn the time the first may be the one that is answered. */
    let asking = wanted.to;
    const end = () => intervals.shift(Math.max(asking, anchors.at(-1) ?? asking), 1);
    const served: Served[] = [];
    const range = () => ({ from, to: served.at(-1)?.to ?? wanted.to });
    let first: Pick<Page, "at" | "epoch"> | undefined;
    let isInDoubt = false;
    let cursorError: ContractError | undefined;
    let failure: PairstreamError | undefined;
    let told: Span | undefined;
    const toldBy = (pages: readonly Served[]) => {
      if (mostCandles === undefined) return undefined;
      const part = toldOf(intervals, range(), pages, served.at(-1));
      // All of the range is no part of it while known candles beside it are still to come.
      const isAll = part !== undefined && part.from <= from && part.to >= range().to;
      return isAll && readOf(served, { anchors, range: part }).lacking.length > 0 ? undefined : part;
    };
    const walk = walkOf(this.#core.send, {
      route: (cursor, now) => {
        // A request may wait for the rate limit until its range has no end in the present any more.
        if (cursor === undefined && endAt !== undefined) asking = Math.max(asking, endAt(now));
        // One more as its end may be counted in, and one as a full page may promise a next one.
        const limit = Math.min(MAX_LIMIT - (stale % 2), intervals.count(start, end()) + 2 + stale);
        return ohlcvRoute({ ...this.#series, from: start, to: end(), limit, cursor });
      },
      priority,
      signal,
      parse: (text, quote) => {
        const asked = { from: start, to: end() };
        const { page, refused, facts } = readPage(text, quote, this.#series, intervals, asked);
        const broken = refused.map(({ key, error }) => ({ key: key && intervals.start(key), error }));
        return { candles: page.result, broken, to: asking, facts };
      },
      needsClock: true,
      tell,
    });
    try {
      for await (const { value, observedAt, epoch, isInDoubt: isDoubtful } of walk) {
        // Of a page nobody may know when it was made: what those before it have told is certain.
        if (isDoubtful) told = toldBy([...served, value]);
        if (told !== undefined) break;
        first ??= { at: observedAt, epoch };
        isInDoubt ||= isDoubtful;
        served.push(value);
        if (value.facts.rows > 0) this.beginning.noteAnswer(start, observedAt);
        if (isShown(served, { from: start, to: end() })) break;
        const count = served.reduce((sum, { candles }) => sum + candles.length, 0);
        if (value.facts.cursor === undefined || count < (mostCandles ?? Infinity)) continue;
        told = toldBy(served);
        if (told !== undefined) break;
        // Another page may show on which side of the range they lie, unless that is the far one.
        const { first: earliest, last: latest } = value.facts;
        if (served.length > 1 || latest < (earliest + value.to) / 2) return undefined;
      }
    } catch (error) {
      if (first === undefined || !(error instanceof PairstreamError)) throw error;
      if (error instanceof ContractError && error.path[0] === "cursor") cursorError = error;
      else {
        failure = error;
        told = toldBy(served);
        if (told === undefined) throw error;
      }
    }
    const read = readOf(served, { anchors, range: range(), told });
    if (read.isEmpty && (wanted.shown ?? anchors[0]) !== undefined) {
      this.beginning.noteHidden(start, first!.at);
      // What has shown before shows from a later start on.
      if (this.#startOf(wanted) > start) return this.ask(wanted, { priority, signal, tell });
    }
    return {
      ...read,
      ...first!,
      isInDoubt,
      isUnfinished: cursorError !== undefined,
      failure,
      refusal: read.refusal ?? cursorError,
      bornAt: this.beginning.start,
    };
  }
}
