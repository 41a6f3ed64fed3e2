import {
  type CandleEvent,
  type Indicator,
  type IndicatorEvent,
  InvalidInputError,
  withIndicators,
} from "pairstream";
import { connect, defer, map, merge, type Observable } from "rxjs";
import {
  type Account,
  type BrokerRules,
  type Fill,
  fillOrder,
  type Order,
  openAccount,
  placeOrder,
} from "./broker.js";

/** What a strategy's file exports: orders, from candles and the indicators that it asks for. */
export interface Strategy {
  readonly title: string;
  readonly indicators: Readonly<Record<string, Indicator<unknown>>>;
  // A method, so that a strategy of certain indicators is one of any.
  decideOrders(events: Observable<IndicatorEvent>): Observable<Order>;
}

/** What happens in an account: the order of a candle comes right after it. */
export type TradingStep =
  | {
      readonly type: "candle";
      readonly event: CandleEvent;
      readonly account: Account;
      readonly fill: Fill | undefined;
    }
  | { readonly type: "order"; readonly order: Order; readonly account: Account };

/** Trades on paper what a strategy decides, live and in a backtest alike. */
export function tradeOnPaper(
  events: Observable<CandleEvent>,
  { indicators, decideOrders }: Strategy,
  rules: BrokerRules,
): Observable<TradingStep> {
  return defer(() => {
    let account = openAccount(rules);
    const onCandle = (event: CandleEvent): TradingStep => {
      const { account: after, fill } = fillOrder(account, event, rules);
      account = after;
      return { type: "candle", event, account, fill };
    };
    const onOrder = (order: Order): TradingStep => {
      account = placeOrder(account, order);
      return { type: "order", order, account };
    };
    return events.pipe(
      withIndicators(indicators),
      // The candle goes first: what it fills was decided before it.
      connect((shared) => merge(shared.pipe(map(onCandle)), decideOrders(shared).pipe(map(onOrder)))),
    );
  });
}

/** The strategy that a file exports, by its URL. */
export async function loadStrategy(url: string): Promise<Strategy> {
  const { title, indicators, decideOrders } = await load(url);
  if (typeof title === "string" && typeof indicators === "object" && typeof decideOrders === "function") {
    return { title, indicators, decideOrders };
  }
  throw refusal("lacks one of them");
}

async function load(url: string): Promise<Partial<Strategy>> {
  try {
    return await import(url);
  } catch (cause) {
    const [reason] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    throw refusal(`cannot be loaded: ${reason}`, { cause });
  }
}

function refusal(problem: string, options?: ErrorOptions): InvalidInputError {
  const allowed =
    "a file that exports title, indicators and decideOrders, as examples/backtest/strategy.ts does";
  return new InvalidInputError("strategy", allowed, problem, options);
}
