import type { CandleEvent, CandleStatus } from "../../src/candles/event.js";
import { minuteCandle, SERIES } from "../candles/minute-candles.js";

/** An event about the candle of the minute `at`; `updated` from the same candle. */
export function eventOf(
  type: CandleEvent["type"],
  at: number,
  status: CandleStatus = "open",
  price = 1,
): CandleEvent {
  const candle = minuteCandle(at, price);
  const base = { candle, status, revision: 0, live: true, lateBy: 0, observedAt: 0, series: SERIES };
  return type === "updated" ? { type, previous: candle, ...base } : { type, ...base };
}
