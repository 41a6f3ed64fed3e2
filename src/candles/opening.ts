import type { ClientCore, Priority } from "../client/core.js";
import type { Series } from "../contract/model.js";
import { ohlcvRoute, snipersRoute } from "../contract/routes.js";
import { readOhlcvBody, readSniperBody } from "../contract/wire.js";
import { PairstreamError } from "../errors.js";
import type { Intervals } from "../timeframe.js";

/** ms between two sniper reports, where the last one did not tell the creation. */
const REPORT_PAUSE = 60_000;
/** How much longer than the one before a range is in which candles are looked for, up to so many intervals and beyond. */
const STRIDE = { near: 2, far: 4, nearUntil: 64 };
/** How often an opening is asked for once more, from both sides, as answers can be empty for no reason, at random. */
const CONFIRMATIONS = 6;
/** The finest that a range can start, in ms. */
const SECOND = 1_000;

export interface SearchOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/**
 * Where a series opens: a range that starts before its pair's creation can come back empty although it holds candles,
 * so that an empty answer alone does not prove a silence.
 *
 * The search rests on this: a range that is known to hold a row is answered if it starts at the opening or later, and
 * comes back empty if it starts before. Without such a row nothing tells one silence from the other.
 */
export class Opening {
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  /** The earliest start from which an answer held a row. */
  #answersFrom = Number.POSITIVE_INFINITY;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(core: ClientCore, series: Series, intervals: Intervals) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
  }

  /** When the pair was created, by its sniper report: good for every timeframe. */
  get creation(): number | undefined {
    return this.#core.shared.get(this.#creationKey) as number | undefined;
  }

  /** Where to begin to ask, as a range that began earlier has come back empty and one from here has not. */
  get start(): number | undefined {
    return this.#core.shared.get(this.#startKey) as number | undefined;
  }

  set start(start: number) {
    this.#core.shared.set(this.#startKey, start);
  }

  get #creationKey(): string {
    return `birth ${this.#series.network} ${this.#series.pairAddress}`;
  }

  get #startKey(): string {
    return `${this.#creationKey} ${this.#series.timeframe}`;
  }

  /** The earliest start from which an answer held a row. */
  get answersFrom(): number {
    return this.#answersFrom;
  }

  /** Takes note of an answer that held a row. */
  note(start: number): void {
    this.#answersFrom = Math.min(this.#answersFrom, start);
  }

  /** Whether an empty answer to a range from `start` on, or from the opening where that is known, proves a silence. */
  isProof(start: number): boolean {
    return this.start !== undefined || start >= Math.min(this.#answersFrom, this.creation ?? Infinity);
  }

  /** Asks the sniper report for the creation, where there is one; `at`: the service's clock. */
  async learnCreation(at: number, { priority, signal }: SearchOptions): Promise<void> {
    const { network, pairAddress } = this.#series;
    if (this.creation !== undefined || network !== "mainnet") return;
    if (Math.abs(at - this.#reportedAt) < REPORT_PAUSE) return;
    this.#reportedAt = at;
    try {
      const route = snipersRoute({ pairAddress });
      const { value } = await this.#core.send({ route, priority, signal, parse: readSniperBody });
      const creation = value.report.blockTimestamp;
      if (creation !== null) this.#core.shared.set(this.#creationKey, creation);
    } catch (error) {
      // The report only helps to find the beginning; whatever is wrong shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  /** Whether the service has any row of `[start, end)` to show. */
  async answers(start: number, end: number, { priority, signal }: SearchOptions): Promise<boolean> {
    const { value: rows } = await this.#core.send({
      route: ohlcvRoute({ ...this.#series, from: start, to: end, limit: 1 }),
      priority,
      signal,
      parse: (text) => {
        const { page, refused } = readOhlcvBody(text, this.#series, () => true);
        return page.result.length + refused.length;
      },
    });
    if (rows > 0) this.note(start);
    return rows > 0;
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
  async find(
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
        this.start = start;
        return this.#intervals.start(start);
      }
      visible = hidden;
    }
    return undefined;
  }
}
