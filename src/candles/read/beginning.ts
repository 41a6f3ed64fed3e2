import { type ClientCore, serviceNow } from "../../client/core.js";
import type { PairFacts } from "../../client/known-pairs.js";
import { readPage } from "../../client/send/walk.js";
import type { Series, Timeframe } from "../../contract/model.js";
import { ohlcvRoute, snipersRoute } from "../../contract/routes.js";
import { readSniperBody } from "../../contract/wire.js";
import { PairstreamError } from "../../errors.js";
import { isApart } from "../../poll/apart.js";
import type { AskOptions } from "../../poll/poller.js";
import type { Intervals } from "../../timeframe.js";

export interface ReadOptions extends Pick<AskOptions, "priority" | "signal" | "tell"> {
  /** Sends what finds out where a series begins; default: as the client does. */
  readonly send?: ClientCore["send"];
}

/** The pause before the next sniper report, in ms, if the last one did not tell the creation. */
const REPORT_PAUSE = 60_000;
/** For so long, in ms, a new reading believes what an earlier one has found: the service may have shown nothing for a while. */
const BELIEVED = 60_000;
/** How many times longer each range of a search is than the one before. */
const STRIDE = 4;
/** What is sought for, and what is known of that. */
interface Sought {
  readonly start: number;
  readonly end: number;
  readonly at: number;
  readonly isSilent: boolean;
  readonly known: number | undefined;
}

/** No chain with token pairs is older. */
export const EARLIEST = Date.UTC(2009, 0, 1);

/**
 * Where a series begins. A range that starts before the pair's creation can come back empty although it holds candles, so
 * an empty answer alone proves no silence. Where that is so, ranges answer from one start on, and from none before it.
 */
export class Beginning {
  readonly #core: ClientCore;
  readonly #series: Series<Timeframe>;
  readonly #intervals: Intervals;
  /** What is known of the pair, shared by all who read it. */
  readonly #facts: PairFacts;
  /** What somebody has found long before this reading: it finds out by itself whether that is so. */
  readonly #outdated: PairFacts["firstAnswered"][Timeframe];
  /** The earliest start that has answered, and the latest that came back empty although rows follow. */
  #answered = Infinity;
  #hidden = -Infinity;
  /** When an answer with rows was last made. */
  #answeredAt = -Infinity;

  constructor(core: ClientCore, series: Series<Timeframe>, intervals: Intervals) {
    this.#core = core;
    this.#series = series;
    this.#intervals = intervals;
    this.#facts = core.pairs.of(series);
    const opening = this.#facts.firstAnswered[series.timeframe];
    if (opening && Math.abs(core.scheduler.now() - opening.at) >= BELIEVED) this.#outdated = opening;
  }

  /** The start of the interval in which the pair was created, as its sniper report tells. */
  get createdIn(): number | undefined {
    const { createdAt } = this.#facts;
    return createdAt === undefined ? undefined : this.#intervals.start(createdAt);
  }

  /** The first start that answers, where earlier ones are known to come back empty. */
  get #opening(): number | undefined {
    const opening = this.#facts.firstAnswered[this.#series.timeframe];
    return opening === this.#outdated ? undefined : opening?.start;
  }

  /** The start of the interval before which there is nothing, or nothing that shows. */
  get start(): number | undefined {
    const { createdIn } = this;
    return createdIn === undefined ? this.#opening : Math.max(this.#opening ?? createdIn, createdIn);
  }

  /** Whether a range that starts there hides nothing. */
  isReached(start: number): boolean {
    const reached = this.#opening ?? this.#facts.createdAt ?? Infinity;
    return start >= Math.min(this.#answered, reached);
  }

  /**
   * Takes note that a range from `start` on has answered with rows, at `at`. If somebody has found that only later starts answer,
   * that was wrong.
   */
  noteAnswer(start: number, at: number): void {
    this.#answeredAt = at;
    this.#answered = Math.min(this.#answered, start);
    if (start <= this.#hidden) this.#hidden = -Infinity;
    if (start < (this.#opening ?? start)) this.#facts.firstAnswered[this.#series.timeframe] = undefined;
  }

  /**
   * Takes note that a range from `start` on has come back empty at `at` although rows follow: after two of them nothing answers
   * there. What has answered is not hidden by an answer that may be older.
   */
  noteHidden(start: number, at: number): void {
    if (start >= this.#answered && !isApart(at, this.#answeredAt)) return;
    if (start >= this.#answered && start <= this.#hidden) this.#answered = Infinity;
    this.#hidden = Math.max(this.#hidden, start);
  }

  /** Whether a range from `start` on would come back empty, as far as that is known. */
  isHidden(start: number): boolean {
    return start <= this.#hidden;
  }

  /** From where to ask for what begins at `start` to get an answer; `anchor`: a known candle after that, which it has to show. */
  answeringFrom(start: number, anchor: number | undefined): number {
    const isReached = this.#answered <= (anchor ?? start);
    return Math.max(start, this.#opening ?? start, isReached ? this.#answered : start);
  }

  /**
   * Finds out whether ranges that begin at `start` hide rows from before `end`; `at`: the service's time; `isSilent`:
   * whether that very range has just come back empty; `known`: a candle that has been shown before.
   */
  async seek(sought: Sought, options: ReadOptions): Promise<void> {
    const { start, end, at, isSilent } = sought;
    await this.learnCreation(at, options);
    const { createdIn } = this;
    /** Whether the service has any row from there on to show; `to`: another end, where a cache may know the answer to this one. */
    const answers = async (from: number, to = end) =>
      from >= start && from < end && (await this.#ask(from, to, options)).hasRows;
    if (createdIn === undefined) {
      if (isSilent || !(await answers(start))) await this.#find(sought, answers);
      return;
    }
    // Where bounds are exclusive, only a range that begins before the first candle shows it. A service may go by the very
    // instant of the creation, too.
    for (const by of [-1, 0, 1]) {
      let from = this.#intervals.shift(createdIn, by);
      if ((isSilent && from === start) || !(await answers(from))) continue;
      // That a start is hidden counts once it has been so twice.
      while (from >= createdIn) {
        const before = this.#intervals.shift(from, -1);
        if (!(await answers(before, this.#intervals.shift(end, 1)))) break;
        from = before;
      }
      this.#open(from);
      return;
    }
  }

  #open(start: number): void {
    this.#facts.firstAnswered[this.#series.timeframe] = { start, at: this.#core.scheduler.now() };
  }

  /** Asks the sniper report, which only mainnet has, when the pair was created; `at`: the service's time. */
  async learnCreation(at: number, options: ReadOptions): Promise<void> {
    const facts = this.#facts;
    if (facts.createdAt !== undefined || this.#series.network !== "mainnet") return;
    if (facts.report === undefined) {
      if (Math.abs(at - facts.reportedAt) < REPORT_PAUSE) return;
      facts.reportedAt = at;
      facts.report = this.#askReport(options).finally(() => {
        facts.report = undefined;
        // It may have taken longer than the pause.
        facts.reportedAt = Math.max(at, serviceNow(this.#core));
      });
    }
    // Whoever has asked may leave meanwhile.
    await facts.report.catch(() => {});
    options.signal.throwIfAborted();
  }

  async #askReport({ priority, signal, tell, send = this.#core.send }: ReadOptions): Promise<void> {
    try {
      const route = snipersRoute({ pairAddress: this.#series.pairAddress });
      const { value } = await send({ route, priority, signal, tell, parse: readSniperBody });
      this.#facts.createdAt = value.report.blockTimestamp ?? undefined;
    } catch (error) {
      // The report is only a help; what is wrong with the service shows in the next read of candles.
      if (!(error instanceof PairstreamError)) throw error;
    }
  }

  /**
   * Finds the first start that answers, for ranges that end at `end`: they begin further and further back until one answers,
   * and then halfway between the last that answered and the first that did not. It misses a pair whose whole life lies between
   * two of these starts.
   */
  async #find(
    { start: from, end, known }: Sought,
    answers: (from: number, to?: number) => Promise<boolean>,
  ): Promise<void> {
    const { shift, count } = this.#intervals;
    const before = shift(known ?? end, -1);
    // From its very start on nothing answers, as has just been found out.
    if (known !== undefined && !(before > from && (await answers(before)))) {
      // A service that does not even show what it has shown before hides nothing: it shows nothing at all.
      if (!(await answers(known))) return;
      // Of the first candle that shows only the start itself answers.
      this.#hidden = before;
    }
    let answered = this.#answered < end ? this.#answered : Infinity;
    let hidden = Math.max(from, this.#hidden);
    for (let back = 2; answered === Infinity; back *= STRIDE) {
      const start = shift(end, -back);
      if (start <= hidden) return;
      if (await answers(start)) answered = start;
    }
    while (count(hidden, answered) > 1) {
      this.#hidden = hidden;
      const middle = shift(hidden, Math.floor(count(hidden, answered) / 2));
      if (await answers(middle)) answered = middle;
      else hidden = middle;
    }
    // An answer that was empty by chance, its copies, or every second answer, by a machine that lags, would cut the series short.
    for (const more of [1, 2]) if (await answers(hidden, shift(end, more))) return;
    this.#hidden = hidden;
    this.#open(answered);
  }

  /** The newest candle before `end`; `undefined` if none shows, or the service tells of the oldest first. */
  async candleBefore(end: number, options: ReadOptions): Promise<number | undefined> {
    const start = this.start ?? this.#intervals.start(EARLIEST);
    if (start >= end) return undefined;
    const { shown } = await this.#ask(start, end, options, 3);
    const [first, second] = shown.filter((timestamp) => timestamp < end);
    const isCandle = first !== undefined && this.#intervals.start(first) === first;
    return isCandle && first >= (second ?? first) ? first : undefined;
  }

  /** Asks for a row more than it needs: the newest may be that of an end which belongs to the range. */
  async #ask(start: number, end: number, options: ReadOptions, limit = 2) {
    const { priority, signal, tell, send = this.#core.send } = options;
    const { value, observedAt } = await send({
      route: ohlcvRoute({ ...this.#series, from: start, to: end, limit }),
      priority,
      signal,
      tell,
      parse: (text, quote) => {
        const range = { from: start, to: end };
        const { page, refused } = readPage(text, quote, this.#series, this.#intervals, range, () => true);
        const shown = page.result.map(({ timestamp }) => timestamp);
        const places = [...shown, ...refused.map(({ key = start }) => key)];
        // What lies beside the range proves nothing of that. The range may cut its first candle.
        const first = this.#intervals.start(start);
        return { shown, hasRows: places.some((place) => place >= first && place < end) };
      },
    });
    if (value.hasRows) this.noteAnswer(start, observedAt);
    return value;
  }
}
