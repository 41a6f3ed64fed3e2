import { isObservable, type Observable, Subject } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkSeries, checkWeekStart } from "../contract/input.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { BarReader } from "./bar-reader.js";
import { MergedFeeds } from "./feeds.js";
import { type Account, Ledger } from "./ledger.js";
import { type CancelOrder, type Order, seriesKeyOf } from "./order.js";
import type { Cancellation, Rejection } from "./report.js";
import { type BrokerOptions, type BrokerRules, checkBroker } from "./rules.js";

/**
 * A function from events to orders. The same function runs over the past, on a tape, and live.
 *
 * It gets the events of all feeds, merged. An order counts as decided on the newest event at the time when the order comes,
 * so decide in step with the events. An order that is decided on an event that is not `live` is refused.
 */
export type Strategy = (events: Observable<CandleEvent>) => Observable<Order | CancelOrder>;

/** Past candles of one series. */
export interface BacktestFeed {
  /** The series of the candles. */
  readonly series: Series;
  /** The candles, ascending, each once. They are read once, at most one ahead. */
  readonly candles: Iterable<Candle> | AsyncIterable<Candle>;
}

/** The options of a backtest. */
export interface BacktestOptions {
  /** The candles to run on: one or more feeds, each with another series, all in the same currency. */
  feeds: readonly BacktestFeed[];
  /** The strategy, which decides on orders. */
  strategy: Strategy;
  /** Fees, slippage and other rules of the broker; defaults: see `BrokerOptions`. */
  broker?: BrokerOptions;
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/** An order of a strategy, and when it was decided. */
export interface PlacedOrder {
  /** The order, or the cancellation of one. */
  readonly order: Order | CancelOrder;
  /** When it was decided: the newest `observedAt` by then, ms since the epoch. */
  readonly at: number;
}

/** The results of a strategy, the rules of the broker, and the results of buying and holding. */
export interface BacktestResult extends Account {
  /** All orders of the strategy, in order. */
  readonly orders: readonly PlacedOrder[];
  /** Orders that were refused, each with the reason. */
  readonly rejections: readonly Rejection[];
  /** Orders that were cancelled without a fill, or the rest of partly filled ones. */
  readonly cancellations: readonly Cancellation[];
  /** Orders that were still open at the end. */
  readonly openOrders: readonly Order[];
  /** The result of buying each pair for an equal part of the money at its first candle, by the same rules, and holding. */
  readonly buyAndHold: Account;
  /** The rules of the broker, with the defaults filled in. */
  readonly broker: BrokerRules;
}

/**
 * Runs a strategy on paper over past candles.
 *
 * Events come as from `replayCandles`, of all feeds in the order of `observedAt`. At the same time, the shorter timeframe
 * comes first, and then the feeds in their order; candles of one interval are filled in that order, too. The fills of a
 * candle are computed when it closes, before the strategy sees the event. A candle that began before an order was known
 * never fills that order. Two runs give the same result.
 *
 * It does not know how your own trades would have moved a pool, whether a swap would have been sandwiched, and what
 * happened to pairs that are not among the feeds.
 *
 * Rejects with an `InvalidInputError` that names a wrong option or candle, and with any error of the strategy or a source.
 *
 * ```ts
 * import { type Candle, crosses, ema, type Series, withIndicators } from "pairstream";
 * import { backtest, type Order, type Strategy } from "pairstream/backtest";
 * import { map } from "rxjs";
 *
 * const strategy: Strategy = (events) =>
 *   events.pipe(
 *     withIndicators({ fast: ema(9), slow: ema(21) }),
 *     crosses("fast", "slow"),
 *     map(({ direction, event: { series } }): Order => {
 *       return direction === "up"
 *         ? { type: "market", side: "buy", series, size: { equity: 0.5 } }
 *         : { type: "market", side: "sell", series, size: { position: 1 } };
 *     }),
 *   );
 *
 * declare const series: Series;
 * declare const candles: Candle[];
 * const { statistics, rejections } = await backtest({ feeds: [{ series, candles }], strategy });
 * console.log(statistics.totalReturn, statistics.sharpe.value ?? statistics.sharpe.reason, rejections.length);
 * ```
 */
export async function backtest(options: BacktestOptions): Promise<BacktestResult> {
  checkNames(
    options,
    namesOf<BacktestOptions>({ feeds: true, strategy: true, broker: true, weekStart: true }),
  );
  const { strategy } = options;
  if (typeof strategy !== "function") {
    throw new InvalidInputError(
      "strategy",
      "a function from events to orders",
      `is of type ${typeof strategy}`,
    );
  }
  const rules = checkBroker(options.broker);
  const weekStart = checkWeekStart(options.weekStart);
  const feeds = checkFeeds(options.feeds);
  const merged = new MergedFeeds(feeds, weekStart);
  try {
    const first = await merged.next();
    if (first === undefined) throw new InvalidInputError("feeds", "at least one candle", "hold no candle");
    const run = new Run(rules, feeds, weekStart, first.candle.timestamp);
    run.start(strategy);
    for (let event: CandleEvent | undefined = first; event !== undefined; )
      event = await run.through(event, merged);
    return run.end();
  } finally {
    await merged.close();
  }
}

/** Checks feeds, and copies what they are of. */
export function checkFeeds(feeds: readonly BacktestFeed[]): readonly BacktestFeed[] {
  if (!Array.isArray(feeds) || feeds.length === 0) {
    throw new InvalidInputError(
      "feeds",
      "a list of at least one feed",
      Array.isArray(feeds) ? "is empty" : "is not a list",
    );
  }
  const seen = new Set<string>();
  let currency: Series["currency"] | undefined;
  return feeds.map((feed: BacktestFeed, at) => {
    checkNames(feed, namesOf<BacktestFeed>({ series: true, candles: true }), `feeds[${at}].`);
    const series = checkSeries(feed.series);
    const key = seriesKeyOf(series);
    if (seen.has(key))
      throw new InvalidInputError(
        `feeds[${at}].series`,
        "each series in one feed only",
        `is ${key}, as in an earlier feed`,
      );
    seen.add(key);
    currency ??= series.currency;
    if (series.currency !== currency) {
      const allowed = `${currency}, the currency of the first feed`;
      throw new InvalidInputError(`feeds[${at}].series.currency`, allowed, `is ${series.currency}`);
    }
    return { series, candles: feed.candles };
  });
}

class Run {
  readonly #rules: BrokerRules;
  readonly #bars: BarReader;
  readonly #events = new Subject<CandleEvent>();
  readonly #orders: PlacedOrder[] = [];
  readonly #own: Ledger;
  readonly #held: Ledger;
  #failure: { readonly error: unknown } | undefined;
  #hasEnded = false;

  constructor(rules: BrokerRules, feeds: readonly BacktestFeed[], weekStart: WeekStart, from: number) {
    const series = feeds.map((feed) => feed.series);
    this.#rules = rules;
    this.#bars = new BarReader(rules.within, weekStart, from);
    this.#own = new Ledger(rules, series, from);
    this.#held = new Ledger({ ...rules, latency: 0 }, series, from);
    this.#held.hold(series);
  }

  start(strategy: Strategy): void {
    const orders = strategy(this.#events.asObservable());
    if (!isObservable(orders)) {
      throw new InvalidInputError(
        "strategy",
        "a function that returns an Observable of orders",
        "does not return an Observable",
      );
    }
    orders.subscribe({
      next: (given) => {
        if (this.#hasEnded) return;
        const order = typeof given === "object" && given !== null ? Object.freeze({ ...given }) : given;
        const { now, isLate } = this.#bars;
        this.#orders.push(Object.freeze({ order, at: now }));
        this.#own.tell(this.#own.broker.place(order, now, isLate));
      },
      error: (error) => {
        this.#failure ??= { error };
      },
    });
    this.#throwFailure();
  }

  /** Takes events until one has to be waited for. */
  through(first: CandleEvent, feeds: MergedFeeds): ReturnType<MergedFeeds["next"]> {
    let next: ReturnType<MergedFeeds["next"]> = first;
    while (next !== undefined && !(next instanceof Promise)) {
      this.#step(next);
      next = feeds.next();
    }
    return next;
  }

  #step(event: CandleEvent): void {
    const bar = this.#bars.read(event);
    if (bar !== undefined) {
      const { fills } = this.#bars;
      this.#held.close(bar, fills);
      this.#own.close(bar, fills);
    }
    this.#events.next(event);
    this.#throwFailure();
  }

  end(): BacktestResult {
    this.#events.complete();
    this.#hasEnded = true;
    this.#throwFailure();
    const { reports, broker } = this.#own;
    return this.#own.end({
      orders: Object.freeze(this.#orders),
      rejections: Object.freeze(
        reports.flatMap((report) => (report.type === "rejection" ? [report.rejection] : [])),
      ),
      cancellations: Object.freeze(
        reports.flatMap((report) => (report.type === "cancellation" ? [report.cancellation] : [])),
      ),
      openOrders: Object.freeze(broker.orders.map(({ order }) => order)),
      buyAndHold: this.#held.end({}),
      broker: this.#rules,
    });
  }

  #throwFailure(): void {
    if (this.#failure === undefined) return;
    this.#hasEnded = true;
    throw this.#failure.error;
  }
}
