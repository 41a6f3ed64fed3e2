import chalk from "chalk";
import { type Client, type Series, type WatchOptions, watchCandles } from "pairstream";
import { concatMap, from, type Observable } from "rxjs";
import { equityOf, type Fill, type Order, USUAL_RULES } from "../backtest/broker.js";
import { type Strategy, type TradingStep, tradeOnPaper } from "../backtest/trading.js";
import { amount, dollars, prices, timeOfDay } from "./text.js";

/** What a strategy does with money that is not there. */
export type PaperEvent =
  | { readonly type: "order"; readonly order: Order }
  | { readonly type: "fill"; readonly fill: Fill; readonly observedAt: number; readonly equity: number };

/** Runs a strategy over a pair as it trades. It sees flat candles for intervals without swaps, as a backtest does. */
export function tradeLive(
  client: Client,
  watch: Series & WatchOptions,
  strategy: Strategy,
): Observable<PaperEvent> {
  const events = watchCandles(client, { ...watch, fillGaps: true });
  return tradeOnPaper(events, strategy, USUAL_RULES).pipe(concatMap((step) => from(eventsOf(step))));
}

function eventsOf(step: TradingStep): readonly PaperEvent[] {
  if (step.type === "order") return [{ type: "order", order: step.order }];
  const { fill, account, event } = step;
  if (fill === undefined) return [];
  const { observedAt, candle } = event;
  return [{ type: "fill", fill, observedAt, equity: equityOf(account, candle.close) }];
}

/** A line for people; amounts are in dollars, or in the chain's own coin. */
export function paperLine(event: PaperEvent, currency: Series["currency"]): string {
  const money = (value: number) => (currency === "usd" ? dollars(value) : amount(value));
  if (event.type === "order") {
    const { side, placedAt, price } = event.order;
    const text = `${side} at the next open; last close ${prices([price])[0]}`;
    return `${chalk.dim(timeOfDay(placedAt))} ${chalk.bold("paper   order")} ${text}`;
  }
  const { fill, observedAt, equity } = event;
  const { order, quantity, price, fee } = fill;
  const done = order.side === "buy" ? "bought" : "sold";
  const text = `${done} ${amount(quantity)} at ${prices([price])[0]}, fee ${money(fee)}; equity ${money(equity)}`;
  return `${chalk.dim(timeOfDay(observedAt))} ${chalk.bold("paper   fill")}  ${text}`;
}
