import { createClient, type VirtualClock } from "../../../src/index.js";

export const MINUTE = 60_000;
export const NOON = Date.UTC(2026, 0, 1, 12);
export const MINUTES = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
} as const;

/**
 * A client of a service whose candles appear at given instants; `appearances`: by the number of the minute after noon.
 * `isDown`: whether it has no answer now.
 */
export function clientOf(
  clock: VirtualClock,
  appearances: ReadonlyMap<number, number>,
  isDown: () => boolean = () => false,
) {
  const fetch = async (url: string) => {
    if (isDown()) return { status: 503, headers: { get: () => null }, text: async () => "" };
    const asked = new URL(url).searchParams;
    const [from, to] = ["fromDate", "toDate"].map((name) => Number(asked.get(name)) * 1_000);
    const result = [...appearances]
      .map(([minute, at]) => ({ minute, at, start: NOON + minute * MINUTE }))
      .filter(({ start, at }) => start >= from! && start <= to! && at <= clock.now())
      .sort((a, b) => b.start - a.start)
      .map(({ minute, start }) => {
        const price = 100 + minute;
        const prices = { open: price, high: price, low: price, close: price };
        return { timestamp: new Date(start).toISOString(), ...prices, volume: 1, swaps: 1 };
      });
    const body = { ...MINUTES, cursor: null, page: 1, tokenAddress: "token", result };
    const headers = {
      get: (name: string) => (/^date$/i.test(name) ? new Date(clock.now()).toUTCString() : null),
    };
    return { status: 200, headers, text: async () => JSON.stringify(body) };
  };
  return createClient({
    baseUrl: "https://service.test",
    apiKey: "key",
    fetch,
    scheduler: clock,
    warn: false,
  });
}
