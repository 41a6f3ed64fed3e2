import type { FetchLike, Series } from "pairstream";
import { type CandleBook, emptyBook } from "../../src/candles/read/book.js";
import { judge } from "../../src/candles/read/judge.js";
import { type CandleRules, windowStart } from "../../src/candles/rules.js";
import { parseHttpDate } from "../../src/client/send/attempt.js";
import { callAt } from "../../src/client/timers.js";
import { beginning } from "../../src/contract/quote.js";
import { readOhlcvBody } from "../../src/contract/wire.js";
import type { VirtualClock } from "../../src/replay/virtual-clock.js";
import { intervalsOf } from "../../src/timeframe.js";

const TIMEOUT = 10_000;

/** What the floors ask, and by which clock their timers go. */
export interface LeastOptions {
  readonly fetch: FetchLike;
  readonly clock: VirtualClock;
  readonly headers: Record<string, string>;
  readonly series: Series;
  readonly revisionWindow: number;
}

/** The parts that no poll can do without, in a row, with nothing between them: what a client and its streams cost beyond. */
export class LeastPoll {
  readonly #options: LeastOptions;
  readonly #rules: CandleRules;
  #book: CandleBook | undefined;

  constructor(options: LeastOptions) {
    this.#options = options;
    const { series, revisionWindow } = options;
    this.#rules = { intervals: intervalsOf(series.timeframe), settle: 1_000, revisionWindow };
  }

  /** A request that can be aborted and ends in time, and what its headers tell of its size, age, cost and time. */
  async ask(url: string): Promise<{ text: string; date: number }> {
    const { fetch, clock, headers } = this.#options;
    const controller = new AbortController();
    const timer = callAt(clock, clock.now() + TIMEOUT, () => controller.abort());
    const { signal } = controller;
    const answer = await fetch(url, { method: "GET", headers: { ...headers }, redirect: "manual", signal });
    for (const name of ["content-length", "age", "x-request-weight"]) answer.headers.get(name);
    const date = parseHttpDate(answer.headers.get("date"))!;
    const text = await answer.text();
    timer.unsubscribe();
    return { text, date };
  }

  /** The same, with its rows checked and held against those that are known. */
  async poll(url: string): Promise<CandleBook> {
    const { text, date } = await this.ask(url);
    const { intervals } = this.#rules;
    const { page } = readOhlcvBody(text, this.#options.series, (at) => intervals.start(at) === at, beginning);
    const before = this.#book ?? emptyBook(windowStart(this.#rules, date));
    const { book } = judge(this.#rules, before, {
      from: before.finalUntil,
      to: intervals.end(date),
      at: date,
      epoch: 0,
      isInDoubt: false,
      candles: page.result.toReversed(),
      lacking: [],
      broken: [],
      hasUnplaced: false,
      refusal: undefined,
      isEmpty: page.result.length === 0,
      bornAt: undefined,
    });
    this.#book = book;
    return book;
  }
}
