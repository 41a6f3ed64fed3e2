import type { Currency, Timeframe } from "pairstream";

/** What a page offers. */
export const TIMEFRAMES = [
  ...(["1s", "10s", "30s", "1min", "5min", "10min", "30min"] as const),
  ...(["1h", "4h", "12h", "1d", "1w", "1M"] as const),
] satisfies readonly Timeframe[];
export const CURRENCIES = ["usd", "native"] satisfies readonly Currency[];
