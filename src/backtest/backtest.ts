import { Subject, Subscription } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkFlag, checkWeekStart } from "../contract/input.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { BarReader } from "./bar-reader.js";
import { MergedFeeds } from "./feeds.js";
import { type Account, Ledger } from "./ledger.js";
import type { CancelOrder, Order } from "./order.js";
import type { Cancellation, Fill, Rejection } from "./report.js";
import { type BrokerOptions, type BrokerRules, checkBroker } from "./rules.js";
import { accountOf, checkList, checkStrategy, checkTraded, ordersOf, type Strategy } from "./strategy.js";

/** Past candles of one series. */
export interface BacktestFeed {
  /** The series of the candles. */
  readonly series: Series;
  /** The candles, ascending, each once. They are read once, at most one ahead. */
  readonly candles: Iterable<Candle> | AsyncIterable<Candle>;
  /**
   * Whether to add flat candles (volume 0, swaps 0) for intervals without a candle, between the first and the last; default false. On
   * chain the price stands still until somebody trades, and so live with `fillGaps` of `watchCandles`.
   */
  readonly fillGaps?: boolean;
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
 * It waits for no strategy: what is decided after a promise or a delay comes too late, and nothing says so. At the end, a failure
 * included, the strategy is unsubscribed.
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
  const strategy = checkStrategy(options.strategy);
  const rules = checkBroker(options.broker);
  const weekStart = checkWeekStart(options.weekStart);
  const feeds = checkFeeds(options.feeds);
  const merged = new MergedFeeds(feeds, weekStart);
  let run: Run | undefined;
  try {
    const first = await merged.next();
    if (first === undefined) throw new InvalidInputError("feeds", "at least one candle", "hold no candle");
    run = new Run(rules, feeds, weekStart, first.candle.timestamp);
    run.start(strategy);
    for (let event: CandleEvent | undefined = first; event !== undefined; )
      event = await run.through(event, merged);
    return run.end();
  } finally {
    run?.stop();
    await merged.close();
  }
}

/** Checks feeds, and copies what they are of. */
export function checkFeeds(feeds: readonly BacktestFeed[]): readonly Required<BacktestFeed>[] {
  checkList("feeds", feeds, "feed");
  feeds.forEach((feed, at) => {
    checkNames(feed, namesOf<BacktestFeed>({ series: true, candles: true, fillGaps: true }), `feeds[${at}].`);
  });
  const series = checkTraded(
    feeds.map((feed) => feed.series),
    (at) => `feeds[${at}].series`,
  );
  return feeds.map(({ candles, fillGaps }, at) => {
    return { series: series[at]!, candles, fillGaps: checkFlag(`feeds[${at}].fillGaps`, fillGaps) };
  });
}

class Run {
  readonly #rules: BrokerRules;
  readonly #bars: BarReader;
  readonly #events = new Subject<CandleEvent>();
  readonly #fills = new Subject<Fill>();
  readonly #orders: PlacedOrder[] = [];
  readonly #own: Ledger;
  readonly #held: Ledger;
  #failure: { readonly error: unknown } | undefined;
  #strategy = Subscription.EMPTY;

  constructor(rules: BrokerRules, feeds: readonly BacktestFeed[], weekStart: WeekStart, from: number) {
    const series = feeds.map((feed) => feed.series);
    this.#rules = rules;
    this.#bars = new BarReader(rules.within, weekStart, from);
    this.#own = new Ledger(rules, series, from);
    this.#held = new Ledger({ ...rules, latency: 0 }, series, from);
    this.#held.hold(series);
  }

  start(strategy: Strategy): void {
    const account = accountOf(() => this.#own.broker, this.#fills.asObservable());
    this.#strategy = ordersOf(strategy, this.#events.asObservable(), account).subscribe({
      next: (given) => {
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
      const reports = this.#own.close(bar, fills);
      for (let at = 0; at < reports.length; at += 1) {
        const report = reports[at]!;
        if (report.type === "fill") this.#fills.next(report.fill);
      }
    }
    this.#events.next(event);
    this.#throwFailure();
  }

  end(): BacktestResult {
    this.#events.complete();
    this.#fills.complete();
    this.#throwFailure();
    this.stop();
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

  /** Ends the strategy, with what it has running beside the events. */
  stop(): void {
    this.#strategy.unsubscribe();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
