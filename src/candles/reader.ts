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
/** What an answer may hold beyond its range: a margin of one interval on both sides, and one more by inclusive bounds. */
const MARGIN = 3;
/** The longest range that takes one page, and not a full one either, as that may promise a next page without rows. */
export const FULL_PAGE = MAX_LIMIT - MARGIN - 1;

export interface ReadOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  /** Gives up, with `undefined`, where there are so many and more pages to come; default: never. */
  readonly maxCandles?: number;
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
  /** The earliest start from which an answer held candles: none from there on is empty for the pair's youth. */
  #answersFrom = Number.POSITIVE_INFINITY;
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
    const birth = this.#creation ?? this.#opening;
    return birth === undefined ? undefined : this.#intervals.start(birth);
  }

  /** When the pair was created, by its sniper report: good for every timeframe. */
  get #creation(): number | undefined {
    return this.#core.shared.get(`birth ${this.#series.network} ${this.#series.pairAddress}`) as
      | number
      | undefined;
  }

  /** Where to begin to ask, as a range that began earlier has come back empty and one from here has not. */
  get #opening(): number | undefined {
    return this.#core.shared.get(this.#openingKey) as number | undefined;
  }

  get #openingKey(): string {
    const { network, pairAddress, timeframe } = this.#series;
    return `birth ${network} ${pairAddress} ${timeframe}`;
  }

  read(from: number, to: number, options: ReadOptions & { maxCandles?: never }): Promise<CandleRead>;
  read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined>;
  /** All candles of `[from, to)`, both starts of intervals. */
  async read(from: number, to: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const start = this.#withMargin(from, to);
    const read = await this.#ask(from, to, start, options);
    const isProof = start >= Math.min(this.#answersFrom, this.#creation ?? Number.POSITIVE_INFINITY);
    if (read === undefined || read.candles.length > 0 || isProof || options.probes === "never") return read;
    // A range that starts before the pair's creation can come back empty although it holds candles.
    if (options.probes === "lightly") {
      if (read.provenAt < this.#probedAt + PROBE_PAUSE) return read;
      this.#probedAt = read.provenAt;
    }
    for (const opening of await this.#openings(from, to, options)) {
      if (opening <= start || opening >= to) continue;
      const again = await this.#ask(from, to, opening, options);
      if (again?.candles.length === 0) continue;
      this.#core.shared.set(this.#openingKey, opening);
      return again;
    }
    return read;
  }

  /**
   * From where a range that came back empty may hold candles after all: from the interval of the pair's creation or
   * its very second, by its sniper report; where that does not tell, from where the end of the range is found to.
   */
  async #openings(from: number, to: number, options: ReadOptions): Promise<number[]> {
    await this.#learnCreation(options);
    const creation = this.#creation;
    if (creation !== undefined) {
      return [...new Set([this.#intervals.start(creation), Math.ceil(creation / 1_000) * 1_000])];
    }
    const total = this.#intervals.count(from, to);
    const hasCandles = async (width: number) => {
      const start = this.#intervals.shift(to, -width);
      const read = await this.#ask(start, to, start, { ...options, maxCandles: 1 });
      return read === undefined || read.candles.length > 0;
    };
    let width = 1;
    while (!(await hasCandles(width))) {
      if (width >= total || options.probes === "lightly") return [];
      width = Math.min(total, width * 2);
    }
    for (let beyond = total + 1; beyond - width > 1; ) {
      const next = Math.min(width * 2, Math.floor((width + beyond) / 2));
      if (await hasCandles(next)) width = next;
      else beyond = next;
    }
    return [this.#intervals.shift(to, -width)];
  }

  async #learnCreation({ priority, signal }: ReadOptions): Promise<void> {
    const { network, pairAddress } = this.#series;
    if (this.#creation !== undefined || network !== "mainnet") return;
    try {
      const route = snipersRoute({ pairAddress });
      const { value } = await this.#core.send({ route, priority, signal, parse: readSniperBody });
      const creation = value.report.blockTimestamp;
      if (creation !== null) this.#core.shared.set(`birth ${network} ${pairAddress}`, creation);
    } catch (error) {
      // The report only helps to find the beginning; whatever is wrong shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  /** The candles of `[from, to)`, asked for from `start` on. */
  async #ask(from: number, to: number, start: number, options: ReadOptions): Promise<CandleRead | undefined> {
    const { maxCandles = Number.POSITIVE_INFINITY, priority, signal } = options;
    const end = this.#intervals.shift(to, 1);
    const limit = Math.min(MAX_LIMIT, this.#intervals.count(from, to) + MARGIN + 1);
    const candles = new Map<number, Candle>();
    const unreadable = new Set<number>();
    let hasUnplaced = false;
    let first: Pick<CandleRead, "provenAt" | "epoch"> | undefined;
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
        else unreadable.add(this.#intervals.start(key));
      }
      if (candles.size > 0) this.#answersFrom = Math.min(this.#answersFrom, start);
      if (cursor !== undefined && candles.size >= maxCandles) return undefined;
    }
    const inRange = [...candles.values()].filter(({ timestamp }) => timestamp >= from && timestamp < to);
    inRange.sort((a, b) => a.timestamp - b.timestamp);
    for (const { timestamp } of inRange) unreadable.delete(timestamp);
    return { from, to, candles: inRange, unreadable, hasUnplaced, ...first! };
  }

  /** One interval earlier, as it is not known whether the service's bounds are inclusive. */
  #withMargin(from: number, to: number): number {
    const start = this.#intervals.shift(from, -1);
    return this.#opening !== undefined && this.#opening < to ? Math.max(start, this.#opening) : start;
  }

  /** Reads a body; throws while a row of the range breaks the contract and is not to be skipped yet. */
  #parse(text: string, from: number, to: number) {
    const isStart = (instant: number) => this.#intervals.start(instant) === instant;
    const { page, refused } = readOhlcvBody(text, this.#series, isStart);
    const inRange = refused.filter(({ key }) => key === undefined || (key >= from && key < to));
    const keys = new Set(inRange.map((row) => row.key));
    for (const key of keys) this.#refusals.set(key, (this.#refusals.get(key) ?? 0) + 1);
    for (const { timestamp } of page.result) if (!keys.has(timestamp)) this.#refusals.delete(timestamp);
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
