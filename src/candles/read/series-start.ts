import type { ClientCore, Priority } from "../../client/core.js";
import type { PairFacts } from "../../client/known-pairs.js";
import { pageFactsOf } from "../../client/send/walk.js";
import type { Currency, Series, Timeframe } from "../../contract/model.js";
import { ohlcvRoute, snipersRoute } from "../../contract/routes.js";
import { mostRows, readOhlcvBody, readSniperBody } from "../../contract/wire.js";
import { PairstreamError } from "../../errors.js";
import type { Intervals } from "../../timeframe.js";

/** ms between two sniper reports, where the last one did not tell the creation. */
const REPORT_PAUSE = 60_000;
/** How much longer than the one before a range is in which candles are looked for, up to so many intervals and beyond. */
const STRIDE = { near: 2, far: 4, nearUntil: 64 };
/** How often an opening is asked for once more, from both sides, as answers can be empty for no reason, at random. */
const CONFIRMATIONS = 6;
/** The finest that a range can start, in ms. */
const SECOND = 1_000;
/** No chain with token pairs is older. */
export const EARLIEST = Date.UTC(2009, 0, 1);

export interface SearchOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/**
 * Where a series opens, and what is known of its candles. A range that starts before the pair's creation can come back
 * empty although it holds candles, so an empty answer alone does not prove a silence.
 *
 * The search rests on this: a range that is known to hold a row is answered if it starts at the opening or later, and
 * comes back empty if it starts before. Without such a row nothing tells one silence from the other.
 */
export class SeriesStart {
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  /** The earliest start from which an answer held a row. */
  #firstAnsweredSoFar = Number.POSITIVE_INFINITY;
  #isInclusive = false;
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** What is known of the pair, shared by all who read it. */
  readonly #facts: PairFacts;

  constructor(core: ClientCore, series: Series, intervals: Intervals) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#facts = core.pairs.of(series);
  }

  /** When the pair was created, by its sniper report: good for every timeframe. */
  get createdAt(): number | undefined {
    return this.#facts.createdAt;
  }

  /** Where to begin to ask, as a range that began earlier has come back empty and one from here has not. */
  get firstAnswered(): number | undefined {
    return this.#facts.firstAnswered[this.#series.timeframe];
  }

  set firstAnswered(start: number) {
    this.#facts.firstAnswered[this.#series.timeframe] = start;
  }

  /** The newest candle that a history has shown: one who begins to poll may know of no other. */
  get newest(): number | undefined {
    return this.#facts.newest[this.#newestKey];
  }

  set newest(timestamp: number | undefined) {
    if (timestamp === undefined || timestamp < (this.newest ?? 0)) return;
    this.#facts.newest[this.#newestKey] = timestamp;
  }

  /** Takes back that there is such a candle. */
  forget(timestamp: number): void {
    if (this.newest === timestamp) this.#facts.newest[this.#newestKey] = undefined;
  }

  get #newestKey(): `${Timeframe} ${Currency}` {
    return `${this.#series.timeframe} ${this.#series.currency}`;
  }

  /** The earliest start from which an answer held a row. */
  get firstAnsweredSoFar(): number {
    return this.#firstAnsweredSoFar;
  }

  /** Whether a range is known to hold the candle that starts with it. */
  get isInclusive(): boolean {
    return this.#isInclusive;
  }

  /** Takes note of an answer from `start` on that held a row, the first of them at `first`. */
  note(start: number, first: number): void {
    this.#firstAnsweredSoFar = Math.min(this.#firstAnsweredSoFar, start);
    this.#isInclusive ||= first === start;
  }

  /** Whether an empty answer to a range from `start` on, or from the opening where that is known, proves a silence. */
  isProof(start: number): boolean {
    return (
      this.firstAnswered !== undefined ||
      start >= Math.min(this.#firstAnsweredSoFar, this.createdAt ?? Infinity)
    );
  }

  /** Asks the sniper report for the creation, where there is one; `at`: the service's clock. */
  async learnCreatedAt(at: number, { priority, signal }: SearchOptions): Promise<void> {
    const { network, pairAddress } = this.#series;
    if (this.createdAt !== undefined || network !== "mainnet") return;
    if (Math.abs(at - this.#reportedAt) < REPORT_PAUSE) return;
    this.#reportedAt = at;
    try {
      const route = snipersRoute({ pairAddress });
      const { value } = await this.#core.send({ route, priority, signal, parse: readSniperBody });
      const creation = value.report.blockTimestamp;
      if (creation !== null) this.#facts.createdAt = creation;
    } catch (error) {
      // The report only helps to find the beginning; whatever is wrong shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  /** Whether the service has any row of `[start, end)` to show. */
  async answers(start: number, end: number, options: SearchOptions): Promise<boolean> {
    return (await this.#ask(start, end, options)).rows > 0;
  }

  /** The timestamp of a candle from before `end`, of the newest where these come first; `undefined` where none shows. */
  async candleBefore(end: number, options: SearchOptions): Promise<number | undefined> {
    const earliest = this.firstAnswered ?? this.#intervals.start(this.createdAt ?? EARLIEST);
    if (earliest >= end) return undefined;
    const { shown } = await this.#ask(earliest, end, options);
    return shown
      .filter((timestamp) => timestamp < end)
      .sort((a, b) => a - b)
      .at(-1);
  }

  /** Whether the service still has a candle, asked for that alone. */
  async holds(timestamp: number, options: SearchOptions): Promise<boolean> {
    // Where a range does not hold what starts with it, the second before does; and inclusive bounds show the next candle,
    // which an answer that is cut may hold in its place.
    const start = this.isInclusive ? timestamp : timestamp - SECOND;
    const end = this.#intervals.end(timestamp);
    const last = end - timestamp > SECOND ? end - SECOND : end;
    const { shown } = await this.#ask(start, last, options, 3);
    return shown.includes(timestamp);
  }

  /** What a page of so many rows shows of `[start, end)`. */
  async #ask(start: number, end: number, { priority, signal }: SearchOptions, limit = 1) {
    const { value } = await this.#core.send({
      route: ohlcvRoute({ ...this.#series, from: start, to: end, limit }),
      priority,
      signal,
      parse: (text) => {
        const most = mostRows(this.#intervals.count(start, end));
        const { page, refused } = readOhlcvBody(text, this.#series, () => true, most);
        // What is of no interval of the series is a row, but not one that another answer can be held to.
        const shown = [
          ...page.result.map(({ timestamp }) => timestamp),
          ...refused.map(({ key }) => key ?? -1),
        ];
        const isCandle = (timestamp: number) => this.#intervals.start(timestamp) === timestamp;
        return { ...pageFactsOf(page, refused), shown: shown.filter(isCandle) };
      },
    });
    if (value.rows > 0) this.note(start, value.first);
    return value;
  }

  /**
   * Looks for a row in ranges up to `end` that start ever further before `to`, but after `from`; gives the first start
   * that is answered. A pair all of whose life, from its creation to its last candle, lies between two of these starts
   * is passed over: that can be one that has been silent for half of its age or, if old, for a quarter.
   */
  async gallop(from: number, to: number, end: number, options: SearchOptions): Promise<number | undefined> {
    for (let back = 1; ; back *= back < STRIDE.nearUntil ? STRIDE.near : STRIDE.far) {
      const start = this.#intervals.shift(to, -back);
      if (start <= from) return undefined;
      if (await this.answers(start, end, options)) return start;
    }
  }

  /**
   * Finds the opening in between `from`, from which an answer was empty, and `answered`, from which one up to `end`
   * was not; remembers it, and gives the start of its interval. `undefined` where nothing is hidden, or nobody can tell.
   */
  async findFirstAnswered(
    from: number,
    answered: number,
    end: number,
    options: SearchOptions,
  ): Promise<number | undefined> {
    const answers = (start: number) => this.answers(start, end, options);
    let visible = answered;
    while (visible > from) {
      let hidden = from;
      while (this.#intervals.count(hidden, visible) > 1) {
        const half = Math.floor(this.#intervals.count(hidden, visible) / 2);
        const middle = this.#intervals.shift(hidden, half);
        if (await answers(middle)) visible = middle;
        else hidden = middle;
      }
      // Where bounds are exclusive, the candle of an interval shows only to those who ask from before it.
      const inside = visible - SECOND;
      const isInside = await answers(inside);
      if (!isInside || (inside > hidden && !(await answers(hidden)))) {
        const [start, tooEarly] = isInside ? [inside, hidden] : [visible, inside];
        // What comes back empty for no reason would otherwise cut the series short for good.
        for (let times = 0; times < CONFIRMATIONS; times += 1) {
          if (!(await answers(start)) || (await answers(tooEarly))) return undefined;
        }
        this.firstAnswered = start;
        return this.#intervals.start(start);
      }
      visible = hidden;
    }
    return undefined;
  }
}
