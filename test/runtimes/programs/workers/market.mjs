// On workerd: the service that the others reach by their `fetch`, with a pair that has a swap every second.
import { createPairService } from "pairstream/service";

const DAY = 86_400_000;

function swapAt(timestamp) {
  const price = 100 + ((timestamp / 1_000) % 7);
  const transaction = {
    blockNumber: timestamp / 1_000,
    transactionHash: `swap-${timestamp}`,
    walletAddress: "wallet",
  };
  return { ...transaction, timestamp, side: "buy", tokenAmount: 1, usdAmount: price, nativeAmount: price };
}

const source = {
  pair: () => ({
    tokenAddress: null,
    createdAt: 0,
    settled: true,
    *swaps({ from, to, asOf }) {
      const first = Math.ceil(Math.max(from, asOf - DAY) / 1_000) * 1_000;
      for (let at = first; at < to && at <= asOf; at += 1_000) yield swapAt(at);
    },
  }),
};

let service;

export default {
  fetch(request) {
    service ??= createPairService({ source, clock: () => Date.now() });
    return service.fetch(request);
  },
};
