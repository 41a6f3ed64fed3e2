import type { Series } from "pairstream";
import { Broker } from "../../src/backtest/broker.js";
import type { Bar } from "../../src/backtest/inside-bar.js";
import {
  type CancelOrder,
  type Order,
  type OrderBase,
  pairKeyOf,
  seriesKeyOf,
} from "../../src/backtest/order.js";
import type { Cancellation, Fill, Rejection, Report } from "../../src/backtest/report.js";
import { type BrokerOptions, checkBroker } from "../../src/backtest/rules.js";

export const MINUTE = 60_000;
export const series: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

/** What costs nothing, so that figures can be worked out by hand. */
export const FREE: BrokerOptions = { cash: 10_000, fees: { maker: 0, taker: 0 }, slippage: { share: 0 } };

/** Open, high, low, close; and the value traded. */
export type Prices = readonly [number, number, number, number, number?];

/** The minute `at`, seen as it closes. */
export function barOf(at: number, [open, high, low, close, volume = 1_000_000]: Prices, of = series): Bar {
  const start = at * MINUTE;
  return {
    series: of,
    pair: pairKeyOf(of),
    key: seriesKeyOf(of),
    start,
    end: start + MINUTE,
    observedAt: start + MINUTE,
    open,
    high,
    low,
    close,
    volume,
  };
}

type DistributivePartial<T> = T extends OrderBase ? Omit<T, keyof OrderBase> & Partial<OrderBase> : never;

/** An order of one token, unless it says otherwise. */
export function orderOf(side: Order["side"], order: DistributivePartial<Order>): Order {
  return { series, side, size: { quantity: 1 }, ...order } as Order;
}

/** A broker, what it has said, and short ways to use it. */
export class Desk {
  readonly broker: Broker;
  readonly reports: Report[] = [];
  #now = 0;
  #at = 0;

  constructor(options: BrokerOptions = FREE, known: Iterable<Series> = [series]) {
    this.broker = new Broker(checkBroker(options), known);
  }

  /** Places orders, decided on what was known at the end of the last minute. */
  place(...orders: (Order | CancelOrder)[]): this {
    for (const order of orders) this.reports.push(...this.broker.place(order, this.#now));
    return this;
  }

  /** The next minutes, one after the other. */
  trade(...minutes: Prices[]): this {
    for (const prices of minutes) {
      const bar = barOf(this.#at, prices);
      this.reports.push(...this.broker.close(bar));
      this.#at += 1;
      this.#now = bar.observedAt;
    }
    return this;
  }

  get fills(): Fill[] {
    return this.reports.flatMap((report) => (report.type === "fill" ? [report.fill] : []));
  }
  get rejections(): Rejection[] {
    return this.reports.flatMap((report) => (report.type === "rejection" ? [report.rejection] : []));
  }
  get cancellations(): Cancellation[] {
    return this.reports.flatMap((report) => (report.type === "cancellation" ? [report.cancellation] : []));
  }
  /** Side, minute, price: what matters of a fill. */
  get deals(): string[] {
    return this.fills.map(({ side, candle, quantity, price }) => {
      return `${side} ${cents(quantity)} at ${cents(price)} in ${candle / MINUTE}`;
    });
  }
  get gone(): string[] {
    return this.cancellations.map(({ id, reason }) => `${id}: ${reason}`);
  }
  get refused(): string[] {
    return this.rejections.map(({ reason }) => reason);
  }
}

export const cents = (value: number) => Math.round(value * 100) / 100;
