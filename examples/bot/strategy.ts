import {
  bollinger,
  type CandleEvent,
  closes,
  crosses,
  ema,
  type Series,
  sma,
  type Timeframe,
  withIndicators,
  withTimeframe,
} from "pairstream";
import { connect, filter, map, merge, type Observable } from "rxjs";

/** What the strategy wants done. */
export interface Order {
  readonly side: "buy" | "sell";
  readonly reason: "cross" | "stop";
  readonly series: Series;
  /** The timestamp of the candle that it was decided on, ms since the epoch. */
  readonly candle: number;
  /** The close of that candle then: what the strategy saw, not what it will get. */
  readonly price: number;
  /** When it was decided, by the service's clock, ms since the epoch. */
  readonly observedAt: number;
}

/** What was bought and is held. */
export interface Position {
  readonly price: number;
  readonly quantity: number;
}

export interface Rules {
  /** The timeframe of the trend, longer than those that are traded. */
  readonly trend: Timeframe;
  /** The loss at which a position is sold, as a share of its price: 0.05 for 5 %. */
  readonly stopLoss: number;
}

/** How many candles of the trend's timeframe its average is made of. */
export const TREND_CANDLES = 20;

const indicators = {
  fast: ema(9),
  slow: ema(21),
  bands: bollinger(20, 2),
  usualVolume: sma(20, { source: "volume" }),
};

/**
 * Orders for any number of series, merged. It buys when the fast average crosses above the slow one, on a close that is
 * inside the bands, on more volume than usual, above the trend. It sells on a close with the fast average below, and as
 * soon as a live price is at the stop: of the running candle, or of the one that has just closed, as the last seconds
 * show only there. Only what is live counts: history, and what comes late, sets the averages.
 */
export function decideOrders(
  events: Observable<CandleEvent>,
  positionOf: (series: Series) => Position | undefined,
  { trend, stopLoss }: Rules,
): Observable<Order> {
  return events.pipe(
    withIndicators(indicators),
    withTimeframe(trend, { trend: ema(TREND_CANDLES) }),
    connect((valued) =>
      merge(
        valued.pipe(
          filter(({ type, live, status }) => type !== "removed" && live && status !== "final"),
          filter(({ series, candle }) => {
            const position = positionOf(series);
            return position !== undefined && candle.close <= position.price * (1 - stopLoss);
          }),
          map((event) => orderOn(event, "sell", "stop")),
        ),
        valued.pipe(
          closes(),
          filter(({ live, series, values: { fast, slow } }) => {
            return live && fast !== undefined && fast < (slow ?? fast) && positionOf(series) !== undefined;
          }),
          map((event) => orderOn(event, "sell", "cross")),
        ),
        valued.pipe(
          crosses("fast", "slow"),
          filter(({ direction, event: { live, series, candle, values } }) => {
            const { bands, usualVolume = candle.volume, trend: longer = candle.close } = values;
            const isCalm = bands !== undefined && candle.close < bands.upper;
            const isBacked = candle.volume > usualVolume && candle.close > longer;
            return direction === "up" && live && isCalm && isBacked && positionOf(series) === undefined;
          }),
          map(({ event }) => orderOn(event, "buy", "cross")),
        ),
      ),
    ),
  );
}

function orderOn(
  { series, candle: { timestamp, close }, observedAt }: CandleEvent,
  side: Order["side"],
  reason: Order["reason"],
): Order {
  return Object.freeze({ side, reason, series, candle: timestamp, price: close, observedAt });
}
