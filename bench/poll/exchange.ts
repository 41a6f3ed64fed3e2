import { marketOf } from "../../test/indicators/market.js";

const DAY = 86_400_000;
/** A day begins: it is so long that the polls of a bench all fall into it. */
export const START = Date.UTC(2026, 0, 10);
export const SERIES = { network: "mainnet", pairAddress: "pair", timeframe: "1d", currency: "usd" } as const;
export const CANDLES = 4;

/** Where the polls go, and where the bare requests do. */
export const POLLED = "/polled";
export const BARE = "/bare";

/** What is always answered: the running candle and the ones before, newest first. */
export const PAGE = JSON.stringify({
  cursor: null,
  page: 1,
  pairAddress: SERIES.pairAddress,
  tokenAddress: "token",
  timeframe: SERIES.timeframe,
  currency: SERIES.currency,
  result: marketOf(8, CANDLES).map((candle, at) => ({
    ...candle,
    timestamp: new Date(START - at * DAY).toISOString(),
  })),
});
