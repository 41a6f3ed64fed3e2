import type { Candle, CandleEvent, Series } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { EMPTY, from, mergeMap } from "rxjs";
import { MINUTE } from "./bars.js";

export const minuteFrom = (
  at: number,
  open: number,
  close: number,
  high = Math.max(open, close),
  low = Math.min(open, close),
): Candle => {
  return { timestamp: at * MINUTE, open, high, low, close, volume: 1_000, swaps: 1 };
};

export const ups = (count: number): Candle[] =>
  Array.from({ length: count }, (_, at) => minuteFrom(at, 100 + at, 101 + at));

export const idle: Strategy = () => EMPTY;

/** Orders by the timestamp of the candle that they are decided on. */
export const scripted =
  (orders: (event: CandleEvent) => readonly Order[]): Strategy =>
  (events) =>
    events.pipe(mergeMap((event) => from(orders(event))));

export const buy = (of: Series, more: object = {}): Order => {
  return { type: "market", side: "buy", series: of, size: { quantity: 1 }, ...more } as Order;
};
