import { crosses, ema, withIndicators } from "pairstream";
import type { Order, Strategy } from "pairstream/backtest";
import { filter, mergeMap } from "rxjs";

/** In words, for the report. */
export const title = "EMA cross with a stop";

/** What can be set, and what it is by default: `--set fast=12 slow=26`. */
export const parameters = {
  /** Candles of the fast average. */
  fast: 9,
  /** Candles of the slow one. */
  slow: 21,
  /** The share of the account that a buy takes, above 0, at most 1. */
  size: 1,
  /** How far below the close that it was decided on a position is sold, as a share of it; 0: no stop. */
  stop: 0.05,
};

/**
 * Buys when the fast average crosses above the slow one, and sells when it crosses back, or at the stop. A sale where the
 * stop was first is refused by the broker, as there is nothing to sell. Closes of a history only set the averages.
 */
export default ({ fast, slow, size, stop }: typeof parameters): Strategy =>
  (events) =>
    events.pipe(
      withIndicators({ fast: ema(fast), slow: ema(slow) }),
      crosses("fast", "slow"),
      filter(({ event }) => event.live),
      mergeMap(({ direction, event: { candle, series } }): Order[] => {
        if (direction === "down") return [{ type: "market", side: "sell", series, size: { position: 1 } }];
        const id = `${series.pairAddress} ${candle.timestamp}`;
        const buy: Order = { id, type: "market", side: "buy", series, size: { equity: size } };
        if (stop === 0) return [buy];
        const price = candle.close * (1 - stop);
        return [buy, { type: "stop", stop: price, side: "sell", series, size: { position: 1 }, after: id }];
      }),
    );
