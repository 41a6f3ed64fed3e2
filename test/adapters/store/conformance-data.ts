import type { Candle } from "pairstream";
import type { StoreKey } from "pairstream/store";

export const MINUTE = 60_000;

export function keyOf(pairAddress: string, others: Partial<StoreKey> = {}): StoreKey {
  const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
  return { ...series, service: "https://api.test/v1", weekStart: "monday", ...others };
}

/** A candle of its own for each interval and value. */
export function candleAt(interval: number, value = 1): Candle {
  const low = value + interval / 1_000;
  const prices = { open: low + 0.1, high: low + 0.3, low, close: low + 0.2 };
  return { timestamp: interval * MINUTE, ...prices, volume: value * 1.5, swaps: value };
}
