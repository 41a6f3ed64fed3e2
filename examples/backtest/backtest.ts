import type { Candle, CandleEvent } from "pairstream";
import { filter, map, type Observable, reduce } from "rxjs";
import {
  type BrokerRules,
  equityOf,
  type Fill,
  fillOrder,
  type Order,
  openAccount,
  placeOrder,
} from "./broker.js";
import type { EquityCurve } from "./statistics.js";
import { type Strategy, tradeOnPaper } from "./trading.js";

/** What became of a strategy, and of simply holding. */
export interface Backtest {
  /** One an interval, ascending. */
  readonly candles: readonly Candle[];
  readonly orders: readonly Order[];
  readonly fills: readonly Fill[];
  readonly trades: readonly Trade[];
  readonly strategy: EquityCurve;
  /** Bought at the open of the first candle, at the same costs, and held. */
  readonly buyAndHold: EquityCurve;
}

/** A buy and the sale that ended it; without one the tokens are still held. */
export interface Trade {
  readonly bought: Fill;
  readonly sold: Fill | undefined;
  /** After the costs of both; absent without the sale. */
  readonly profit: number | undefined;
}

/** Runs a strategy over candles that are final, once each, ascending, as `replayCandles` gives them. */
export function backtest(
  events: Observable<CandleEvent>,
  strategy: Strategy,
  rules: BrokerRules,
): Observable<Backtest> {
  const steps = tradeOnPaper(events, strategy, rules);
  return steps.pipe(
    filter(
      (step) => step.type === "order" || (step.event.status === "final" && step.event.type !== "removed"),
    ),
    reduce(
      (book, step) => {
        if (step.type === "order") {
          book.orders.push(step.order);
          return book;
        }
        const { event, account, fill } = step;
        book.candles.push(event.candle);
        if (fill !== undefined) book.fills.push(fill);
        book.equity.push(equityOf(account, event.candle.close));
        if (account.quantity > 0) book.exposed += 1;
        return book;
      },
      {
        candles: [] as Candle[],
        orders: [] as Order[],
        fills: [] as Fill[],
        equity: [] as number[],
        exposed: 0,
      },
    ),
    map(({ candles, orders, fills, equity, exposed }) => ({
      candles,
      orders,
      fills,
      trades: tradesOf(fills),
      strategy: { start: rules.cash, equity, exposed },
      buyAndHold: hold(candles, rules),
    })),
  );
}

/** What all the cash becomes that is turned into tokens at the first open. */
export function hold(candles: readonly Candle[], rules: BrokerRules): EquityCurve {
  const wish: Order = { side: "buy", candle: -1, placedAt: -1, price: candles[0]?.open ?? 0 };
  let account = placeOrder(openAccount(rules), wish);
  let exposed = 0;
  const equity = candles.map((candle) => {
    ({ account } = fillOrder(
      account,
      { type: "new", candle, status: "final", observedAt: candle.timestamp },
      rules,
    ));
    if (account.quantity > 0) exposed += 1;
    return equityOf(account, candle.close);
  });
  return { start: rules.cash, equity, exposed };
}

function tradesOf(fills: readonly Fill[]): Trade[] {
  // All or nothing: buys and sales take turns, and a buy comes first.
  return fills.flatMap((bought, at) => {
    if (bought.order.side === "sell") return [];
    const sold = fills[at + 1];
    return [{ bought, sold, profit: sold === undefined ? undefined : gotFor(sold) - paidFor(bought) }];
  });
}

const paidFor = ({ price, quantity, fee }: Fill) => price * quantity + fee;
const gotFor = ({ price, quantity, fee }: Fill) => price * quantity - fee;
