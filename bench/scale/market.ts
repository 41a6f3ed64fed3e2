import type { Swap, SwapSource } from "pairstream/service";

/** ms between two swaps of a pair, so that every candle has one. */
const SPACING = 1_000;

/** The addresses of the first `count` pairs. */
export function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `pair${String(at).padStart(40, "0")}`);
}

/** A market of any number of pairs, of which none costs anything to keep, and little to be asked for. */
export const steadyMarket: SwapSource = {
  pair: (_network, pairAddress) => ({
    tokenAddress: "token",
    createdAt: 0,
    settled: true,
    *swaps({ from, to, asOf }) {
      const end = Math.min(to, asOf + 1);
      for (let at = Math.ceil(from / SPACING); at * SPACING < end; at += 1) yield swapAt(pairAddress, at);
    },
  }),
};

function swapAt(pairAddress: string, at: number): Swap {
  const price = 100 + ((at * 7 + Number(pairAddress.slice(-3))) % 23);
  return {
    blockNumber: at,
    timestamp: at * SPACING,
    transactionHash: `hash${at}`,
    walletAddress: "wallet",
    side: "buy",
    tokenAmount: 1,
    usdAmount: price,
    nativeAmount: price / 100,
  };
}
