import type { Network } from "pairstream";
import type { Swap, SwapPair, SwapRange, SwapSource } from "pairstream/service";

export const PAIR = "pair1";
const BLOCK = 400;

/** A pair whose swaps are made one by one, and can be taken back. */
export class HandMadeMarket implements SwapSource {
  readonly #createdAt: number;
  readonly #pair: SwapPair;
  #swaps: Swap[] = [];
  #made = 0;

  constructor(createdAt: number) {
    this.#createdAt = createdAt;
    this.#pair = {
      tokenAddress: "token1",
      createdAt,
      swaps: ({ from, to, asOf }: SwapRange) =>
        this.#swaps.filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf),
    };
  }

  pair(network: Network, pairAddress: string): SwapPair | undefined {
    return network === "mainnet" && pairAddress === PAIR ? this.#pair : undefined;
  }

  trade(timestamp: number, price: number, { wallet = "trader", side = "buy" as Swap["side"] } = {}): void {
    this.#made += 1;
    const tokenAmount = 100;
    this.#swaps.push({
      blockNumber: 1_000 + Math.floor((timestamp - this.#createdAt) / BLOCK),
      timestamp,
      transactionHash: `hash${this.#made}`,
      walletAddress: wallet,
      side,
      tokenAmount,
      usdAmount: price * tokenAmount,
      nativeAmount: (price * tokenAmount) / 100,
    });
    this.#swaps.sort((a, b) => a.timestamp - b.timestamp);
  }

  /** Takes back the swaps of `[from, to)`, as a fork does. */
  takeBack(from: number, to: number): void {
    this.#swaps = this.#swaps.filter(({ timestamp }) => timestamp < from || timestamp >= to);
  }
}
