import type { FetchLike } from "pairstream";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Which pairs there are, by how often they trade. */
export type Trading =
  /** All of them have swaps in every minute. */
  | "busy"
  /** As in the field: a few trade all the time, half of them in one minute of twenty, some a few times a day. */
  | "mixed";

/** The share of minutes with swaps of the pair that trades least. */
const LEAST = 0.002;

export interface Market {
  readonly trading: Trading;
  /** How many pairs it has. */
  readonly pairs: number;
  /** When all of them were created. */
  readonly createdAt: number;
  /** The service's clock. */
  now(): number;
}

/** The addresses of a market's pairs; so many letters has one on mainnet. */
export function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `pair${number}x`.padEnd(44, "z"));
}

const ASKED = /pairs\/pair(\d+)x.*fromDate=(\d+)&toDate=(\d+)&limit=(\d+)/;

/**
 * A service that takes next to no time to answer: candles of a minute, and the creation of a pair. What is over does not
 * change any more, and the running candle is another one at each answer.
 */
export function madeUpService({ trading, pairs, createdAt, now }: Market): FetchLike {
  const created = { blockTimestamp: new Date(createdAt).toISOString() };
  const hasSwaps = (number: number, minute: number) =>
    trading === "busy" || chanceOf(number, minute) < LEAST ** (number / pairs);

  function rowsOf(number: number, from: number, to: number, limit: number): object[] {
    const rows: object[] = [];
    const running = Math.floor(now() / MINUTE) * MINUTE;
    const newest = Math.min(running, Math.ceil(to / MINUTE) * MINUTE - MINUTE);
    const oldest = Math.max(from, createdAt);
    for (let start = newest; start >= oldest && rows.length < limit; start -= MINUTE) {
      if (!hasSwaps(number, start / MINUTE)) continue;
      const volume = Math.min(MINUTE, now() - start);
      const prices = { open: 1.5, high: 1.75, low: 1.25, close: 1 + (start % 7) / 8 };
      rows.push({ timestamp: new Date(start).toISOString(), ...prices, volume, swaps: 9 });
    }
    return rows;
  }

  return async (url) => {
    const asked = ASKED.exec(url);
    const [, number, from, to, limit] = (asked ?? []).map(Number);
    const page = { page: 1, tokenAddress: "token", timeframe: "1min", currency: "usd" };
    const pairAddress = /pairs\/([^/]+)/.exec(url)![1]!;
    const body =
      asked === null
        ? { ...created, blockNumber: 1, transactionHash: "hash", result: [] }
        : { ...page, pairAddress, result: rowsOf(number!, from! * 1_000, to! * 1_000, limit!) };
    const text = JSON.stringify(body);
    const date = new Date(now()).toUTCString();
    const headers = { get: (name: string) => (name.toLowerCase() === "date" ? date : null) };
    return { status: 200, headers, text: async () => text };
  };
}

/** When the pairs of a market are old enough for any history. */
export const createdBefore = (instant: number) => instant - 30 * DAY;

/** A number from 0 to 1 that a pair and a minute make up. */
function chanceOf(number: number, minute: number): number {
  let bits = Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(minute, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
}
