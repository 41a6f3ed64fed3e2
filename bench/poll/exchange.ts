import { marketOf } from "../../test/indicators/random-candles.js";

const DAY = 86_400_000;
/** A day begins: it is so long that the polls of a bench all fall into it. */
export const START = Date.UTC(2026, 0, 10);
export const SERIES = { network: "mainnet", pairAddress: "pair", timeframe: "1d", currency: "usd" } as const;

/** How many candles a page holds: those of a poll by default, and those of a long revision window. */
export const SIZES = [4, 100] as const;
export type Size = (typeof SIZES)[number];

/** The window of such a poll: it asks for the running candle and for one before the window, too. */
export const windowOf = (candles: Size) => candles - 2;
/** Where the polls for such a page go, and where the bare requests do. */
export const polledPath = (candles: Size) => `/polled/${candles}`;
export const barePath = (candles: Size) => `/bare/${candles}`;

/** What is always answered: the running candle and the ones before, newest first. */
export function pageOf(candles: Size): string {
  return JSON.stringify({
    cursor: null,
    page: 1,
    pairAddress: SERIES.pairAddress,
    tokenAddress: "token",
    timeframe: SERIES.timeframe,
    currency: SERIES.currency,
    result: marketOf(8, candles).map((candle, at) => ({
      ...candle,
      timestamp: new Date(START - at * DAY).toISOString(),
    })),
  });
}
