import type { ClientCore, Priority } from "../../client/core.js";
import type { PairFacts } from "../../client/known-pairs.js";
import { pageFactsOf } from "../../client/send/walk.js";
import type { Currency, Series, Timeframe } from "../../contract/model.js";
import { ohlcvRoute, snipersRoute } from "../../contract/routes.js";
import { mostRows, readOhlcvBody, readSniperBody } from "../../contract/wire.js";
import { PairstreamError } from "../../errors.js";
import type { Intervals } from "../../timeframe.js";

/** The pause before the next sniper report, in ms, if the last one did not tell the creation. */
const REPORT_PAUSE = 60_000;
/** How many times longer each range of a search is than the one before: near its end, and beyond `nearUntil` intervals. */
const STRIDE = { near: 2, far: 4, nearUntil: 64 };
/** How often a start is confirmed from both sides, as answers can be empty at random. */
const CONFIRMATIONS = 6;
/** The finest that a range can start, in ms. */
const SECOND = 1_000;
/** No chain with token pairs is older. */
export const EARLIEST = Date.UTC(2009, 0, 1);

const NO_SILENCE = {
  from: Number.POSITIVE_INFINITY,
  to: Number.NEGATIVE_INFINITY,
  end: Number.NEGATIVE_INFINITY,
};

export interface SearchOptions {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/**
 * Where a series starts. Two things tell it: when the pair was created (`createdAt`), and the first start of a range that
 * answered (`firstAnswered`). A range that starts before the pair's creation can come back empty although it holds
 * candles, so an empty answer alone does not prove a silence.
 *
 * The search rests on this: a range that is known to hold a row answers if it starts at the first start that answers or
 * later, and comes back empty if it starts before. Without such a row nothing tells a silence from a hidden candle.
 */
export class SeriesStart {
  readonly #core: ClientCore;
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #learned = new SearchMemory();
  #isInclusive = false;
  #contradicted: number | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** What is known of the pair, shared by all who read it. */
  readonly #facts: PairFacts;
  readonly #newestKey: `${Timeframe} ${Currency}`;

  constructor(core: ClientCore, series: Series, intervals: Intervals) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#facts = core.pairs.of(series);
    this.#newestKey = `${series.timeframe} ${series.currency}`;
  }

  /** When the pair was created, by its sniper report; the same for every timeframe. */
  get createdAt(): number | undefined {
    return this.#facts.createdAt;
  }

  /** The first start that answers, once found: a range from here holds rows, and one from before came back empty. */
  get firstAnswered(): number | undefined {
    return this.#facts.firstAnswered[this.#series.timeframe];
  }

  set firstAnswered(start: number) {
    this.#facts.firstAnswered[this.#series.timeframe] = start;
  }

  /** The newest candle that a history has shown; a poll that begins may know no other. */
  get newest(): number | undefined {
    return this.#facts.newest[this.#newestKey];
  }

  set newest(timestamp: number | undefined) {
    if (timestamp === undefined || timestamp < (this.newest ?? 0)) return;
    this.#facts.newest[this.#newestKey] = timestamp;
  }

  /** Forgets a candle, which is gone. */
  forget(timestamp: number): void {
    if (this.newest === timestamp) this.#facts.newest[this.#newestKey] = undefined;
  }

  /** The earliest start that has answered so far; an earlier one may answer, too. */
  get firstAnsweredSoFar(): number {
    return this.#learned.answered;
  }

  /** Whether the service is known to include the candle at the very start of a range. */
  get isInclusive(): boolean {
    return this.#isInclusive;
  }

  /** Notes that a range from `start` on answered, with its first row at `first`. */
  note(start: number, first: number): void {
    this.#learned.noteAnswered(start, first);
    this.#isInclusive ||= first === start;
  }

  /** Whether an empty answer to a range from `start` on proves a silence. */
  isProof(start: number): boolean {
    return (
      this.firstAnswered !== undefined ||
      start >= Math.min(this.#learned.answered, this.createdAt ?? Infinity)
    );
  }

  /** Whether an empty answer to a range contradicts one that has held a row of it; said once of each start that answered. */
  contradictsSeen(start: number, end: number): boolean {
    const answered = this.#learned.answeredBefore(end);
    if (answered <= start || answered >= end || answered === this.#contradicted) return false;
    this.#contradicted = answered;
    return true;
  }

  /** Asks the sniper report, which only mainnet has, when the pair was created; `at`: the service's time. */
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
      // The report is only a help; what is wrong with the service shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  /** Whether the service has any row of `[start, end)` to show. */
  async answers(start: number, end: number, options: SearchOptions): Promise<boolean> {
    return (await this.#ask(start, end, options)).rows > 0;
  }

  /** The timestamp of a candle before `end`, mostly the newest; `undefined` if none shows. */
  async candleBefore(end: number, options: SearchOptions): Promise<number | undefined> {
    const earliest = this.firstAnswered ?? this.#intervals.start(this.createdAt ?? EARLIEST);
    if (earliest >= end) return undefined;
    const { shown } = await this.#ask(earliest, end, options);
    return shown
      .filter((timestamp) => timestamp < end)
      .sort((a, b) => a - b)
      .at(-1);
  }

  /** Asks for one candle alone: whether the service still has it. */
  async holds(timestamp: number, options: SearchOptions): Promise<boolean> {
    // If bounds are exclusive, the range has to begin a second earlier. If they are inclusive, it has to end a second
    // earlier, or an answer that is cut may hold the next candle in place of this one.
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
        // A row of no interval of the series proves that rows exist; no later answer has to hold it.
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
   * A galloping search: asks for ranges up to `end` that start further and further before `to`, but after `from`, and
   * gives the first start that answers. It misses a pair whose whole life lies between two of these starts, such as one
   * that has been silent for half of its age, or an old one that has been silent for a quarter.
   *
   * One that fails goes on where it stopped, as does the search that follows it.
   */
  async gallop(from: number, to: number, end: number, options: SearchOptions): Promise<number | undefined> {
    const learned = this.#learned;
    const known = learned.answeredBefore(end);
    if (known > from && known <= to) return known;
    const newest = learned.silence.to;
    if (newest > to) learned.endSilence();
    else if (newest > from && learned.silence.end < end) {
      // What has come since a search failed shows from its first start on.
      if (await this.answers(newest, end, options)) return newest;
      learned.noteSilent(newest, end);
    }
    for (let back = 1; ; back *= back < STRIDE.nearUntil ? STRIDE.near : STRIDE.far) {
      const start = this.#intervals.shift(to, -back);
      if (start > from && start >= learned.silence.from && start <= learned.silence.to) continue;
      if (start > from && !(await this.answers(start, end, options))) {
        learned.noteSilent(start, end);
        continue;
      }
      learned.endSilence();
      return start > from ? start : undefined;
    }
  }

  /**
   * Finds the first start that answers: after `from`, which came back empty, and up to `answered`, which did not, for
   * ranges that end at `end`. Remembers it, and gives the start of its interval; `undefined` if nothing is hidden, or if
   * answers contradict each other.
   */
  async findFirstAnswered(
    from: number,
    answered: number,
    end: number,
    options: SearchOptions,
  ): Promise<number | undefined> {
    const learned = this.#learned;
    const edge = learned.edgeWithin(from, end) ?? (await this.#findEdge(from, answered, end, options));
    if (edge === undefined) return undefined;
    learned.edge = edge;
    const { start, tooEarly } = edge;
    // A single answer that is empty at random would cut the series short for good.
    for (; edge.confirmations < CONFIRMATIONS; edge.confirmations += 1) {
      if (!(await this.answers(start, end, options)) || (await this.answers(tooEarly, end, options))) {
        learned.forget();
        return undefined;
      }
    }
    learned.edge = undefined;
    this.firstAnswered = start;
    return this.#intervals.start(start);
  }

  /** The two starts between which ranges begin to answer; `undefined` if all after `from` do. */
  async #findEdge(
    from: number,
    answered: number,
    end: number,
    options: SearchOptions,
  ): Promise<Edge | undefined> {
    const answers = (start: number) => this.answers(start, end, options);
    const learned = this.#learned;
    const known = learned.answeredBefore(end);
    let visible = known > from ? Math.min(answered, known) : answered;
    while (visible > from) {
      let hidden = learned.hidden < visible ? Math.max(from, learned.hidden) : from;
      while (this.#intervals.count(hidden, visible) > 1) {
        const half = Math.floor(this.#intervals.count(hidden, visible) / 2);
        const middle = this.#intervals.shift(hidden, half);
        if (await answers(middle)) visible = middle;
        else {
          hidden = middle;
          learned.hidden = middle;
        }
      }
      // If bounds are exclusive, a candle shows only in ranges that start before it.
      const inside = visible - SECOND;
      const isInside = await answers(inside);
      if (!isInside || (inside > hidden && !(await answers(hidden)))) {
        const [start, tooEarly] = isInside ? [inside, hidden] : [visible, inside];
        return { start, tooEarly, end, confirmations: 0 };
      }
      visible = hidden;
    }
    return undefined;
  }
}

/** The first start that seems to answer, and one that is too early, for ranges up to `end`. */
interface Edge {
  readonly start: number;
  readonly tooEarly: number;
  readonly end: number;
  confirmations: number;
}

/**
 * What searches have learned, so that one that fails does not begin anew. Any of it may rest on an answer that was empty
 * at random: an answer to an earlier start takes it back, and the edge is confirmed in any case.
 */
class SearchMemory {
  /** The earliest start that has answered, and a row that its answer held. */
  answered = Number.POSITIVE_INFINITY;
  #row = Number.POSITIVE_INFINITY;
  /** The latest start that came back empty although rows followed. */
  hidden = Number.NEGATIVE_INFINITY;
  edge: Edge | undefined;
  /** The starts of a gallop that came back empty, and the end of their ranges. */
  silence = NO_SILENCE;

  noteAnswered(start: number, row: number): void {
    if (start <= Math.max(this.hidden, this.edge?.tooEarly ?? this.hidden)) {
      this.hidden = Number.NEGATIVE_INFINITY;
      this.edge = undefined;
    }
    if (start <= this.answered) this.#row = start < this.answered ? row : Math.min(row, this.#row);
    this.answered = Math.min(this.answered, start);
  }

  /** The earliest start that has answered with a row from before an instant; infinite where none has. */
  answeredBefore(end: number): number {
    return this.#row < end ? this.answered : Number.POSITIVE_INFINITY;
  }

  edgeWithin(from: number, end: number): Edge | undefined {
    return this.edge !== undefined && this.edge.start > from && this.edge.end <= end ? this.edge : undefined;
  }

  noteSilent(start: number, end: number): void {
    const { from, to } = this.silence;
    this.silence = { from: Math.min(from, start), to: Math.max(to, start), end };
  }

  endSilence(): void {
    this.silence = NO_SILENCE;
  }

  /** Answers have contradicted each other. */
  forget(): void {
    this.hidden = Number.NEGATIVE_INFINITY;
    this.edge = undefined;
    this.#row = Number.POSITIVE_INFINITY;
  }
}
