import type { ClientCore } from "../client/core.js";
import type { Candle, Series } from "../contract/model.js";
import { ohlcvRoute } from "../contract/routes.js";
import { readOhlcvBody } from "../contract/wire.js";
import type { PairstreamError } from "../errors.js";
import { skipRows } from "../poll/recovery.js";
import type { Intervals } from "../timeframe.js";
import type { CandleRead } from "./book.js";
import { Opening, type SearchOptions } from "./opening.js";

const MAX_LIMIT = 1_000;
/** ms between two light probes. */
const PROBE_PAUSE = 60_000;
/** What an answer may hold beyond its range: a margin of one interval on both sides, and one more by inclusive bounds. */
const MARGIN = 3;
/** The longest range that takes one page, and not a full one either, as that may promise a next page without rows. */
export const FULL_PAGE = MAX_LIMIT - MARGIN - 1;

export interface ReadOptions extends SearchOptions {
  /** Gives up, with `undefined`, where there are so many and more pages to come; default: never. */
  readonly maxCandles?: number;
  /** The interval of a known candle that is asked for as well: with it in the range, an empty answer hides something. */
  readonly witness?: number | undefined;
  /**
   * How to look for candles behind an empty answer that is no proof: from the creation on, where a report tells it
   * (the default), `"lightly"` (where none does, in the last interval too; all of it once a minute), or `"never"`.
   */
  readonly probes?: "lightly" | "never";
}

/** Reads ranges of candles of one series, and learns where the series begins. */
export class SeriesReader {
  readonly opening: Opening;
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  /** Whether a row that keeps breaking the contract is skipped in the end, or fails the read. */
  readonly #skipsRows: boolean;
  /** How often the row of an interval was refused, since it was last read well. */
  readonly #refusals = new Map<number, number>();
  /** The same of rows that cannot be placed, by the range that was asked for. */
  #unplaced: readonly { readonly from: number; readonly to: number; readonly reads: number }[] = [];
  /** When candles of a pair that has none yet were last looked for, by the service's clock. */
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(core: ClientCore, series: Series, intervals: Intervals, options: { skipsRows: boolean }) {
    this.opening = new Opening(core, series, intervals);
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#skipsRows = options.skipsRows;
  }

  /** The start of the interval in which the pair was created, once that is known. */
  get birth(): number | undefined {
    const birth = this.opening.creation ?? this.opening.start;
    return birth === undefined ? undefined : this.#intervals.start(birth);
  }

  read(from: number, to: number, options: ReadOptions & { maxCandles?: never }): Promise<CandleRead>;
  read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined>;
  /** All candles of `[from, to)`, both starts of intervals. */
  async read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const start = this.#withMargin(from, to);
    const read = await this.#ask(from, to, start, options);
    if (read === undefined || read.candles.length > 0 || options.probes === "never") return read;
    if (this.opening.isProof(start)) return read;
    // A range that starts before the pair's creation can come back empty although it holds candles.
    if (options.probes === "lightly") {
      if (Math.abs(read.provenAt - this.#probedAt) < PROBE_PAUSE) return read;
      this.#probedAt = read.provenAt;
    }
    await this.opening.learnCreation(read.provenAt, options);
    const { creation } = this.opening;
    if (creation === undefined)
      return options.probes === "lightly" ? this.#readLast(read, start, options) : read;
    // From the interval of the creation on, or else from its very second.
    for (const opening of new Set([this.#intervals.start(creation), Math.ceil(creation / 1_000) * 1_000])) {
      if (opening <= start || opening >= to) continue;
      const again = await this.#ask(from, to, opening, options);
      if (again?.candles.length === 0) continue;
      // From within an interval its own candle may be cut off: not for good, as it may only have been late.
      if (this.#intervals.start(opening) === opening) this.opening.start = opening;
      return again;
    }
    return read;
  }

  /** A range that came back empty from `start` on: again, if one of its last intervals does not. */
  async #readLast(read: CandleRead, start: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const { from, to } = read;
    const end = this.#intervals.shift(to, 1);
    // Just after its start the running interval seldom holds a candle; the one before it may begin too early.
    for (const last of [this.#intervals.shift(to, -2), this.#intervals.shift(to, -1)]) {
      if (last <= start || !(await this.opening.answers(last, end, options))) continue;
      await this.opening.find(start, last, end, options);
      return this.#ask(from, to, this.#withMargin(from, to), options);
    }
    return read;
  }

  /** Whether an answer without candles proves that there are none. */
  isProven({ from, to }: CandleRead): boolean {
    return this.opening.creation !== undefined || this.opening.isProof(this.#withMargin(from, to));
  }

  /** The candles of `[from, to)`, asked for from `start` on. */
  async #ask(from: number, to: number, start: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const { maxCandles = Number.POSITIVE_INFINITY, witness, priority, signal } = options;
    const end = this.#intervals.shift(Math.max(to, witness ?? to), 1);
    const limit = Math.min(MAX_LIMIT, this.#intervals.count(from, to) + MARGIN + 1);
    const candles = new Map<number, Candle>();
    const unreadable = new Set<number>();
    let hasUnplaced = false;
    let refusal: PairstreamError | undefined;
    let first: Pick<CandleRead, "provenAt" | "epoch"> | undefined;
    const walk = this.#core.walk({
      route: (cursor) => ohlcvRoute({ ...this.#series, from: start, to: end, limit, cursor }),
      priority,
      signal,
      parse: (text) => this.#parse(text, from, to),
      next: ({ page, rows }) => ({ cursor: page.cursor, rows }),
      needsClock: true,
    });
    for await (const { value, provenAt, epoch, cursor } of walk) {
      first ??= { provenAt, epoch };
      for (const candle of fullest(value.page.result)) candles.set(candle.timestamp, candle);
      for (const { key, error } of value.skipped) {
        refusal ??= error;
        if (key === undefined) hasUnplaced = true;
        else unreadable.add(this.#intervals.start(key));
      }
      if (value.rows > 0) this.opening.note(start);
      if (cursor !== undefined && candles.size >= maxCandles) return undefined;
    }
    if (!hasUnplaced) this.#unplaced = this.#unplaced.filter((range) => range.from >= to || range.to <= from);
    const inRange = [...candles.values()].filter(({ timestamp }) => timestamp >= from && timestamp < to);
    inRange.sort((a, b) => a.timestamp - b.timestamp);
    if (unreadable.size > 0) for (const { timestamp } of inRange) unreadable.delete(timestamp);
    return { from, to, candles: inRange, unreadable, hasUnplaced, refusal, ...first! };
  }

  /** One interval earlier, as it is not known whether the service's bounds are inclusive. */
  #withMargin(from: number, to: number): number {
    const start = this.#intervals.shift(from, -1);
    const opening = this.opening.start ?? start;
    return opening < to ? Math.max(start, opening) : start;
  }

  /** Reads a body; throws while a row of the range breaks the contract and is not to be skipped yet. */
  #parse(text: string, from: number, to: number) {
    const isStart = (instant: number) => this.#intervals.start(instant) === instant;
    const { page, refused } = readOhlcvBody(text, this.#series, isStart);
    const inRange = refused.filter(({ key }) => key === undefined || (key >= from && key < to));
    const reads = new Map<number | undefined, number>();
    for (const key of new Set(inRange.map((row) => row.key))) {
      reads.set(key, key === undefined ? this.#refuseUnplaced(from, to) : this.#refuse(key));
    }
    if (this.#refusals.size > 0) {
      for (const { timestamp } of page.result) if (!reads.has(timestamp)) this.#refusals.delete(timestamp);
    }
    if (inRange.length > 0) {
      const url = ohlcvRoute({ ...this.#series, from, to });
      skipRows(this.#core, url, inRange, (key) => (this.#skipsRows ? reads.get(key)! : 0));
    }
    return { page, rows: page.result.length + refused.length, skipped: inRange };
  }

  #refuse(key: number): number {
    const reads = (this.#refusals.get(key) ?? 0) + 1;
    this.#refusals.set(key, reads);
    return reads;
  }

  #refuseUnplaced(from: number, to: number): number {
    const before = this.#unplaced.find((range) => range.from < to && range.to > from);
    const reads = (before?.reads ?? 0) + 1;
    this.#unplaced = [...this.#unplaced.filter((range) => range !== before), { from, to, reads }];
    return reads;
  }

  /** Forgets the broken rows of intervals that will not be read again. */
  forgetBefore(timestamp: number): void {
    for (const key of this.#refusals.keys()) if (key < timestamp) this.#refusals.delete(key);
    this.#unplaced = this.#unplaced.filter(({ to }) => to > timestamp);
  }
}

/** One candle an interval: of several, which contradict each other or are the same, that of the most swaps. */
function fullest(candles: readonly Candle[]): Iterable<Candle> {
  if (isDescending(candles)) return candles;
  const best = new Map<number, Candle>();
  for (const candle of candles) {
    const other = best.get(candle.timestamp);
    const isFuller =
      other === undefined ||
      candle.swaps > other.swaps ||
      (candle.swaps === other.swaps && candle.volume > other.volume);
    if (isFuller) best.set(candle.timestamp, candle);
  }
  return best.values();
}

/** Whether they come as they are usually served, each once. */
function isDescending(candles: readonly Candle[]): boolean {
  for (let at = 1; at < candles.length; at++) {
    if (candles[at]!.timestamp >= candles[at - 1]!.timestamp) return false;
  }
  return true;
}
