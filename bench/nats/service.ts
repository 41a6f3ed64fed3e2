import type { FetchLike } from "pairstream";

/** ms since the epoch, on which the processes of a machine agree. */
export const now = () => performance.timeOrigin + performance.now();

const LENGTHS = { "1s": 1_000, "10s": 10_000, "1min": 60_000 } as const;
const ASKED = /pairs\/([^/]+)\/.*fromDate=(\d+)&toDate=(\d+)/;

/**
 * A service whose pairs all have swaps in every interval, and of which the running candle differs with every answer: its
 * volume is the instant of that.
 */
export function liquidService(timeframe: keyof typeof LENGTHS): FetchLike {
  const length = LENGTHS[timeframe];
  return async (url) => {
    const [, pairAddress, from, to] = ASKED.exec(url)!;
    const at = now();
    const running = Math.floor(at / length) * length;
    const result = [];
    for (let start = running; start >= Number(from) * 1_000; start -= length) {
      if (start >= Number(to) * 1_000) continue;
      const prices = { open: 1.5, high: 1.75, low: 1.25, close: 1.5 };
      const volume = start === running ? at : 1;
      result.push({ timestamp: new Date(start).toISOString(), ...prices, volume, swaps: 9 });
    }
    const page = { page: 1, pairAddress, tokenAddress: "token", timeframe, currency: "usd", result };
    const text = JSON.stringify(page);
    const date = new Date(at).toUTCString();
    const headers = { get: (name: string) => (name.toLowerCase() === "date" ? date : null) };
    return { status: 200, headers, text: async () => text };
  };
}
