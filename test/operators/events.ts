import type { CandleEvent, CandleStatus } from "../../src/candles/event.js";
import type { Candle, Series } from "../../src/contract/model.js";

/** The series of every event made here. */
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

/** The candle of the minute `at`, all of its prices `price`. */
export function candleOf(at: number, price = 1): Candle {
  return {
    timestamp: at * 60_000,
    open: price,
    high: price,
    low: price,
    close: price,
    volume: 1,
    swaps: 1,
  };
}

/** An event about the candle of the minute `at`. */
export function eventOf(
  type: CandleEvent["type"],
  at: number,
  status: CandleStatus = "open",
  price = 1,
): CandleEvent {
  const candle = candleOf(at, price);
  return { type, candle, status, revision: 0, live: true, observedAt: 0, series: SERIES };
}
