import type { Candle, CandleEvent } from "pairstream";
import { from, type Observable } from "rxjs";

const MINUTE = 60_000;

/** The candle of the minute `at`, whose extremes are its open and close. */
export function candleOf(at: number, open: number, close: number): Candle {
  const [low, high] = [Math.min(open, close), Math.max(open, close)];
  return { timestamp: at * MINUTE, open, high, low, close, volume: 1, swaps: 1 };
}

/** Each candle once, when it can no longer change. */
export function finalEvents(candles: readonly Candle[]): Observable<CandleEvent> {
  return from(
    candles.map((candle): CandleEvent => {
      const observedAt = candle.timestamp + MINUTE;
      const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
      return { type: "new", candle, status: "final", revision: 0, live: true, lateBy: 0, observedAt, series };
    }),
  );
}
