import type { Swap } from "pairstream/service";

/**
 * A tape small enough to work out by hand. It runs over the end of January 2024 (1 February was a Thursday, 5 February
 * a Monday), with swaps on boundaries to the millisecond, a silence, a hash that comes twice, dust that prices at 500,
 * and a swap of no tokens.
 */
const rows: [number, string, string, string, "buy" | "sell", number, number, number][] = [
  [100, "2024-01-31T23:59:50.000Z", "h1", "alice", "buy", 100, 200, 2],
  [101, "2024-01-31T23:59:50.400Z", "h2", "bob", "buy", 50, 110, 1],
  [103, "2024-01-31T23:59:51.000Z", "h3", "carol", "buy", 10, 25, 0.2],
  [104, "2024-01-31T23:59:59.999Z", "h4", "alice", "sell", 40, 60, 0.8],
  [105, "2024-02-01T00:00:00.000Z", "h5", "bob", "sell", 20, 80, 1],
  [105, "2024-02-01T00:00:00.000Z", "h5", "bob", "sell", 10, 30, 0.25],
  [106, "2024-02-01T00:00:00.999Z", "h6", "dave", "buy", 0.001, 0.5, 0.001],
  [107, "2024-02-01T00:00:01.000Z", "h7", "erin", "sell", 0, 5, 0.05],
  [400, "2024-02-01T06:30:00.000Z", "h8", "alice", "buy", 10, 50, 0.5],
  [401, "2024-02-01T06:34:59.999Z", "h9", "alice", "sell", 60, 240, 3],
  [9000, "2024-02-04T23:59:59.999Z", "h10", "carol", "buy", 1, 6, 0.1],
  [9001, "2024-02-05T00:00:00.000Z", "h11", "alice", "sell", 20, 140, 1],
];

export const pairAddress = "pairA";

export const smallTape: readonly Swap[] = rows.map(
  ([blockNumber, time, transactionHash, walletAddress, side, tokenAmount, usdAmount, nativeAmount]) => ({
    blockNumber,
    timestamp: Date.parse(time),
    transactionHash,
    walletAddress,
    side,
    tokenAmount,
    usdAmount,
    nativeAmount,
  }),
);
