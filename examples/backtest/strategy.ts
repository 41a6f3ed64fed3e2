import { crosses, ema, type IndicatorEvent, type IndicatorValues, rsi } from "pairstream";
import { defer, filter, map, type Observable } from "rxjs";
import type { Order } from "./broker.js";

/** In words, for the report. */
export const title = "EMA 9/21 cross, bought below an RSI of 70";

/** What the strategy looks at. */
export const indicators = { fast: ema(9), slow: ema(21), strength: rsi(14) };

/** From here on a rise counts as overbought, on the RSI's scale of 0 to 100. */
const OVERBOUGHT = 70;

/**
 * Buys when the fast average crosses above the slow one, unless the market is overbought; sells when it crosses back.
 * Orders follow from candles that have closed. Those of the history, `live: false`, only set the averages.
 */
export function decideOrders(
  events: Observable<IndicatorEvent<IndicatorValues<typeof indicators>>>,
): Observable<Order> {
  return defer(() => {
    let isIn = false;
    return events.pipe(
      crosses("fast", "slow"),
      filter(({ direction, event: { live, values } }) => {
        if (!live) return false;
        const { strength = OVERBOUGHT } = values;
        return direction === "up" ? !isIn && strength < OVERBOUGHT : isIn;
      }),
      map(({ direction, event: { candle, observedAt } }): Order => {
        isIn = direction === "up";
        const side = isIn ? "buy" : "sell";
        return Object.freeze({ side, candle: candle.timestamp, placedAt: observedAt, price: candle.close });
      }),
    );
  });
}
