import type { ClientCore, Priority } from "../client/core.js";
import {
  type Candle,
  ohlcvRoute,
  readOhlcvBody,
  readSniperBody,
  type Series,
  snipersRoute,
} from "../contract.js";
import { PairstreamError } from "../errors.js";
import type { Intervals } from "../timeframe.js";
import type { CandleRead } from "./book.js";

/** A row that breaks the contract this often is skipped. */
const READS_BEFORE_SKIPPING = 3;
const MAX_LIMIT = 1_000;
/** ms between two light probes. */
const PROBE_PAUSE = 60_000;
/** The longest range whose candles, with a margin of one interval on both sides, fit into one page. */
export const FULL_PAGE = MAX_LIMIT - 2;

export interface ReadOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Gives up, with `undefined`, where the range takes more pages; default: never. */
  readonly maxPages?: number;
  /**
   * How hard to look for candles behind an empty answer, where the range may start before the pair's creation:
   * `"fully"` (the default), `"lightly"` (the creation's instant and the last interval, once a minute), or `"never"`.
   */
  readonly probes?: "fully" | "lightly" | "never";
}

/** Reads ranges of candles of one series, and learns where the series begins. */
export class SeriesReader {
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  /** Whether a row that keeps breaking the contract is skipped in the end, or fails the read. */
  readonly #skipsRows: boolean;
  readonly #refusals = new Map<number | undefined, number>();
  #hasSeenCandles = false;
  /** When candles of a pair that has none yet were last looked for, by the service's clock. */
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(core: ClientCore, series: Series, intervals: Intervals, options: { skipsRows: boolean }) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#skipsRows = options.skipsRows;
  }

  /** The start of the interval in which the pair was created, once that is known. */
  get birth(): number | undefined {
    const birth = this.#core.shared.get(this.#reportedBirthKey) ?? this.#core.shared.get(this.#foundBirthKey);
    return typeof birth === "number" ? this.#intervals.start(birth) : undefined;
  }

  /** Of the pair: an instant, good for every timeframe. */
  get #reportedBirthKey(): string {
    return `birth ${this.#series.pairAddress}`;
  }

  /** Of the series: the start of one of its intervals, good for no other timeframe. */
  get #foundBirthKey(): string {
    return `birth ${this.#series.network} ${this.#series.pairAddress} ${this.#series.timeframe}`;
  }

  read(from: number, to: number, options: ReadOptions & { maxPages?: never }): Promise<CandleRead>;
  read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined>;
  /** All candles of `[from, to)`, both starts of intervals. */
  async read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const read = await this.#ask(from, to, options);
    const isProof = this.#hasSeenCandles || (this.birth !== undefined && this.birth <= from);
    if (read === undefined || read.candles.length > 0 || isProof || options.probes === "never") return read;
    // A range that starts before the pair's creation can come back empty although it holds candles.
    if (options.probes === "lightly") {
      if (read.provenAt < this.#probedAt + PROBE_PAUSE) return read;
      this.#probedAt = read.provenAt;
    }
    const first = await this.firstInterval(from, to, options);
    return first === undefined || first >= to ? read : this.#ask(from, to, options);
  }

  /**
   * The first interval of a range that came back empty: of the pair's creation by its sniper report or, where that
   * does not tell, of the first candle, sought from the end of the range. `undefined` where there is none.
   */
  async firstInterval(from: number, to: number, options: ReadOptions): Promise<number | undefined> {
    await this.#learnBirth(options);
    if (this.birth !== undefined) return Math.max(this.birth, from);
    const total = this.#intervals.count(from, to);
    const hasCandles = async (width: number) => {
      const read = await this.#ask(this.#intervals.shift(to, -width), to, { ...options, maxPages: 1 }, true);
      return read === undefined || read.candles.length > 0;
    };
    let width = 1;
    while (!(await hasCandles(width))) {
      if (width >= total || options.probes === "lightly") return undefined;
      width = Math.min(total, width * 2);
    }
    for (let beyond = total + 1; beyond - width > 1; ) {
      const next = Math.min(width * 2, Math.floor((width + beyond) / 2));
      if (await hasCandles(next)) width = next;
      else beyond = next;
    }
    const first = this.#intervals.shift(to, -width);
    this.#core.shared.set(this.#foundBirthKey, first);
    return first;
  }

  async #learnBirth({ priority, signal }: ReadOptions): Promise<void> {
    if (this.birth !== undefined || this.#series.network !== "mainnet") return;
    const route = snipersRoute({ pairAddress: this.#series.pairAddress });
    try {
      const { value } = await this.#core.send({ route, priority, signal, parse: readSniperBody });
      const birth = value.report.blockTimestamp;
      if (birth !== null) this.#core.shared.set(this.#reportedBirthKey, birth);
    } catch (error) {
      // The report only helps to find the beginning; whatever is wrong shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  async #ask(
    from: number,
    to: number,
    options: ReadOptions,
    exactly = false,
  ): Promise<CandleRead | undefined> {
    const { maxPages = Number.POSITIVE_INFINITY, priority, signal } = options;
    const start = exactly ? from : this.#withMargin(from, to);
    const end = this.#intervals.shift(to, 1);
    const limit = Math.min(MAX_LIMIT, this.#intervals.count(start, end));
    const candles = new Map<number, Candle>();
    const unreadable = new Set<number>();
    let hasUnplaced = false;
    let first: Pick<CandleRead, "provenAt" | "epoch"> | undefined;
    let pages = 0;
    const walk = this.#core.walk({
      route: (cursor) => ohlcvRoute({ ...this.#series, from: start, to: end, limit, cursor }),
      priority,
      signal,
      parse: (text) => this.#parse(text, from, to),
      next: ({ page, rows }) => ({ cursor: page.cursor, rows }),
      needsClock: true,
    });
    for await (const { value, instant, epoch, cursor } of walk) {
      first ??= { provenAt: instant.earliest, epoch };
      for (const candle of fullest(value.page.result)) candles.set(candle.timestamp, candle);
      for (const key of value.skipped) {
        if (key === undefined) hasUnplaced = true;
        else unreadable.add(key);
      }
      pages += 1;
      if (cursor !== undefined && pages >= maxPages) return undefined;
    }
    const inRange = [...candles.values()].filter(({ timestamp }) => timestamp >= from && timestamp < to);
    inRange.sort((a, b) => a.timestamp - b.timestamp);
    if (inRange.length > 0) this.#hasSeenCandles = true;
    for (const { timestamp } of inRange) unreadable.delete(timestamp);
    return { from, to, candles: inRange, unreadable, hasUnplaced, ...first! };
  }

  /** One interval earlier, as it is not known whether the service's bounds are inclusive; never before the birth. */
  #withMargin(from: number, to: number): number {
    const start = this.#intervals.shift(from, -1);
    return this.birth !== undefined && this.birth < to ? Math.max(start, this.birth) : start;
  }

  /** Reads a body; throws while a row of the range breaks the contract and is not to be skipped yet. */
  #parse(text: string, from: number, to: number) {
    const isStart = (instant: number) => this.#intervals.start(instant) === instant;
    const { page, refused } = readOhlcvBody(text, this.#series, isStart);
    for (const { timestamp } of page.result) this.#refusals.delete(timestamp);
    const inRange = refused.filter(({ key }) => key === undefined || (key >= from && key < to));
    for (const key of new Set(inRange.map((row) => row.key))) {
      this.#refusals.set(key, (this.#refusals.get(key) ?? 0) + 1);
    }
    for (const { key, error } of inRange) {
      const reads = this.#refusals.get(key)!;
      if (!this.#skipsRows || reads < READS_BEFORE_SKIPPING) throw error;
      if (reads === READS_BEFORE_SKIPPING) {
        const url = ohlcvRoute({ ...this.#series, from, to });
        this.#core.report({
          type: "dropped",
          at: this.#core.scheduler.now(),
          what: "row",
          url,
          key: key ?? null,
          error,
        });
      }
    }
    return { page, rows: page.result.length + refused.length, skipped: inRange.map((row) => row.key) };
  }

  /** Forgets the broken rows of intervals that will not be read again. */
  forgetBefore(timestamp: number): void {
    for (const key of this.#refusals.keys()) {
      if (key !== undefined && key < timestamp) this.#refusals.delete(key);
    }
  }
}

/** One candle an interval: of several, which contradict each other or are the same, that of the most swaps. */
function fullest(candles: readonly Candle[]): Iterable<Candle> {
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
