import { type IndicatorEvent, type IndicatorValues, sma } from "pairstream";
import { concatMap, type Observable, of, scan } from "rxjs";
import type { Order } from "../../../examples/backtest/broker.js";

export const title = "Eager";
export const indicators = { price: sma(1) };

/** Turns round at every candle that closes. */
export function decideOrders(
  events: Observable<IndicatorEvent<IndicatorValues<typeof indicators>>>,
): Observable<Order> {
  return events.pipe(
    scan(
      ({ last, count }, { candle, status, live, observedAt, values }) => {
        const isNew = live && status !== "open" && candle.timestamp > last;
        if (!isNew) return { last, count, orders: [] };
        const side = count % 2 === 0 ? ("buy" as const) : ("sell" as const);
        const price = values.price ?? candle.close;
        const order: Order = { side, candle: candle.timestamp, placedAt: observedAt, price };
        return { last: candle.timestamp, count: count + 1, orders: [order] };
      },
      { last: 0, count: 0, orders: [] as Order[] },
    ),
    concatMap(({ orders }) => of(...orders)),
  );
}
