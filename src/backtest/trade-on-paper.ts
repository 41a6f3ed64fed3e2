import {
  concat,
  concatMap,
  connect,
  defer,
  EMPTY,
  finalize,
  from,
  map,
  merge,
  type Observable,
  Subject,
} from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkWeekStart } from "../contract/input.js";
import type { Series, WeekStart } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { checkEvent } from "../operators/series-states.js";
import type { PlacedOrder } from "./backtest.js";
import type { CancelOrder, Order } from "./order.js";
import { PaperAccount } from "./paper-account.js";
import type { Cancellation, Fill, Rejection, Report } from "./report.js";
import { type BrokerOptions, checkBroker } from "./rules.js";
import { accountOf, checkList, checkStrategy, checkTraded, ordersOf, type Strategy } from "./strategy.js";

/** The options of `tradeOnPaper`. */
export interface PaperOptions {
  /** The series that can be traded, one or more. */
  series: readonly Series[];
  /** The strategy, which decides on orders. */
  strategy: Strategy;
  /** Fees, slippage and other rules of the broker; defaults: see `BrokerOptions`. */
  broker?: BrokerOptions;
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/** An event of an account on paper. */
export type PaperEvent = {
  /** The value of the account now: money, and positions at their last closes, in its currency. */
  readonly equity: number;
} & (
  | {
      readonly type: "order";
      /** The order of the strategy, and when it was decided. */
      readonly placed: PlacedOrder;
    }
  | {
      readonly type: "fill";
      /** The fill. */
      readonly fill: Fill;
    }
  | {
      readonly type: "rejection";
      /** The order that was refused, and the reason. */
      readonly rejection: Rejection;
    }
  | {
      readonly type: "cancellation";
      /** The order that was cancelled, or the rest of it, and the reason. */
      readonly cancellation: Cancellation;
    }
);

/**
 * Trades a strategy on paper on live events, with the strategy and the broker of `backtest`.
 *
 * The fills of a candle are computed and emitted when it closes, before the orders that its event leads to. An order that
 * is decided on an event that is not `live` is refused as `late`: a history only warms up indicators. A candle that is
 * corrected later is not traded again. Orders from before the first event count as decided on it.
 *
 * Orders on a series of which no candle comes stay open, and nothing is said of that, as one may still come.
 *
 * It completes when `events` and the strategy have completed. Errors of both pass through. Throws an `InvalidInputError`
 * for bad options, and ends with one where `events` hold anything else.
 *
 * ```ts
 * import { createClient, watchCandles } from "pairstream";
 * import { type Strategy, tradeOnPaper } from "pairstream/backtest";
 * import { demoService } from "pairstream/service";
 *
 * declare const strategy: Strategy;
 * const demo = demoService();
 * const series = { network: "mainnet", pairAddress: demo.pairs[0], timeframe: "1min", currency: "usd" } as const;
 * watchCandles(createClient(demo.clientOptions), { ...series, since: { candles: 100 }, fillGaps: true })
 *   .pipe(tradeOnPaper({ series: [series], strategy, broker: { cash: 10_000 } }))
 *   .subscribe((event) => console.log(event.type, event.equity));
 * ```
 */
export function tradeOnPaper(
  options: PaperOptions,
): (events: Observable<CandleEvent>) => Observable<PaperEvent> {
  checkNames(options, namesOf<PaperOptions>({ series: true, strategy: true, broker: true, weekStart: true }));
  const strategy = checkStrategy(options.strategy);
  const rules = checkBroker(options.broker);
  checkList("series", options.series, "series");
  const series = checkTraded(options.series, (at) => `series[${at}]`);
  const weekStart = checkWeekStart(options.weekStart);
  return (events) =>
    defer(() => {
      let account: PaperAccount | undefined;
      const early: (Order | CancelOrder)[] = [];
      const tell = (reports: readonly Report[]): PaperEvent[] => {
        const { equity } = account!.broker;
        return reports.flatMap((report) =>
          report.type === "borrow" ? [] : [Object.freeze({ ...report, equity })],
        );
      };
      const place = (order: Order | CancelOrder): PaperEvent[] => {
        if (account === undefined) {
          early.push(order);
          return [];
        }
        const placed = Object.freeze({ order: Object.freeze({ ...order }), at: account.now });
        const reports = account.order(placed.order);
        return [
          Object.freeze({ type: "order", placed, equity: account.broker.equity } as const),
          ...tell(reports),
        ];
      };
      const hear = (event: CandleEvent): PaperEvent[] => {
        checkEvent(event);
        const isFirst = account === undefined;
        account ??= new PaperAccount(rules, series, weekStart, event.observedAt);
        const told = tell(account.hear(event));
        return isFirst ? [...told, ...early.flatMap(place)] : told;
      };
      const fills = new Subject<Fill>();
      const own = accountOf(() => account?.broker, fills.asObservable());
      // The strategy hears of a fill once that is told, as its orders come after it.
      const tellStrategy = (told: readonly PaperEvent[]) => {
        for (const event of told) if (event.type === "fill") fills.next(event.fill);
        return EMPTY;
      };
      return events.pipe(
        // The account goes first: what a candle fills was decided before it.
        connect((shared) => {
          const heard = shared.pipe(
            map(hear),
            finalize(() => fills.complete()),
          );
          return merge(heard, ordersOf(strategy, shared, own).pipe(map(place)));
        }),
        concatMap((told) =>
          concat(
            from(told),
            defer(() => tellStrategy(told)),
          ),
        ),
      );
    });
}
