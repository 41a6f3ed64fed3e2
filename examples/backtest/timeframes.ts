import { type AnyTimeframe, intervalOf } from "pairstream";

/** All there are, the shortest first. */
export const TIMEFRAMES: readonly AnyTimeframe[] = [
  ...(["1s", "10s", "30s", "1min", "5min", "10min", "30min"] as const),
  ...(["1h", "4h", "12h", "1d", "1w", "1M"] as const),
];

/** In ms; of a month that of a long one. */
export function lengthOf(timeframe: AnyTimeframe): number {
  const { start, end } = intervalOf(timeframe, 0);
  return end - start;
}
