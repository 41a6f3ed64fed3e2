import chalk from "chalk";
import { type Client, type Series, type WatchOptions, watchCandles } from "pairstream";
import {
  type Fill,
  type PaperEvent,
  type PlacedOrder,
  type Strategy,
  tradeOnPaper,
} from "pairstream/backtest";
import type { Observable } from "rxjs";
import { amount, dollars, prices, timeOfDay } from "./text.js";

/** Runs a strategy over a pair as it trades. It sees flat candles for intervals without swaps, as a backtest does. */
export function tradeLive(
  client: Client,
  { since, every, ...series }: Series & WatchOptions,
  strategy: Strategy,
): Observable<PaperEvent> {
  const watch = { ...series, ...(since !== undefined && { since }), ...(every !== undefined && { every }) };
  return watchCandles(client, { ...watch, fillGaps: true }).pipe(
    tradeOnPaper({ series: [series], strategy }),
  );
}

/** A line for people; amounts are in dollars, or in the chain's own coin. */
export function paperLine(event: PaperEvent, currency: Series["currency"]): string {
  const money = (value: number) => (currency === "usd" ? dollars(value) : amount(value));
  const line = (at: number, what: string, text: string) =>
    `${chalk.dim(timeOfDay(at))} ${chalk.bold(`paper   ${what.padEnd(5)}`)} ${text}`;
  switch (event.type) {
    case "order":
      return line(event.placed.at, "order", orderText(event.placed.order));
    case "fill":
      return line(
        event.fill.reportedAt,
        "fill",
        `${fillText(event.fill, money)}; equity ${money(event.equity)}`,
      );
    case "rejection":
      return line(event.rejection.at, "no", `${event.rejection.reason}: ${event.rejection.message}`);
    case "cancellation":
      return line(
        event.cancellation.at,
        "gone",
        `${orderText(event.cancellation.order)} (${event.cancellation.reason})`,
      );
  }
}

function orderText(order: PlacedOrder["order"]): string {
  if (order.type === "cancel") return `cancel ${order.id}`;
  const what = `${order.side} ${order.type}`;
  switch (order.type) {
    case "market":
      return `${order.side} at the next open`;
    case "limit":
      return `${what} at ${prices([order.limit])[0]}`;
    case "stop":
    case "stop-limit":
      return `${what} at ${prices([order.stop])[0]}`;
    case "take-profit":
      return `${what} at ${prices([order.target])[0]}`;
    case "trailing-stop":
      return what;
  }
}

function fillText({ side, quantity, price, fee }: Fill, money: (value: number) => string): string {
  const done = side === "buy" ? "bought" : "sold";
  return `${done} ${amount(quantity)} at ${prices([price])[0]}, fee ${money(fee)}`;
}
