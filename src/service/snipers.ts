import { priceOf } from "./candles.js";
import type { CheckedQuirks } from "./quirks.js";
import type { Swap, SwapPair } from "./swaps.js";

/** A sniper report as it is served. */
export interface ServedReport {
  blockNumber: number;
  blockTimestamp: string;
  transactionHash: string;
  result: ServedSniper[];
}

interface ServedTransaction {
  transactionHash: string;
  transactionTimestamp: string;
  blocksAfterCreation: number;
}

interface ServedSniper {
  walletAddress: string;
  snipedTransactions: ServedTransaction[];
  sellTransactions: ServedTransaction[];
  totalSellTransactions: number;
  totalSnipedTransactions: number;
  totalTokensSniped: number;
  totalSnipedUsd: number;
  totalTokensSold: number;
  totalSoldUsd: number;
  currentBalance: number;
  currentBalanceUsdValue: number;
  realizedProfitPercentage: number;
  realizedProfitUsd: number;
}

/** What a report is of. */
export interface ReportQuery {
  /** How many blocks after the creation count. */
  readonly blocks: number;
  readonly asOf: number;
  readonly quirks: Pick<CheckedQuirks, "soldBelowZero">;
}

/**
 * The snipers of a pair as known at `asOf`, sorted by their first early buy; `undefined` before the pair's first swap.
 */
export function sniperReport(pair: SwapPair, query: ReportQuery): ServedReport | undefined {
  const { blocks, asOf } = query;
  const { first, wallets } = earlyBuyers(pair, blocks, asOf);
  if (first === undefined) return undefined;
  const swapsOf = new Map([...wallets].map((wallet) => [wallet, [] as Swap[]]));
  if (wallets.size > 0) {
    for (const swap of pair.swaps({ from: pair.createdAt, to: asOf + 1, asOf, wallets })) {
      swapsOf.get(swap.walletAddress)?.push(swap);
    }
  }
  const price = lastUsdPrice(pair, asOf);
  const result: ServedSniper[] = [];
  for (const [wallet, swaps] of swapsOf) {
    if (!swaps.some(({ side }) => side === "sell")) continue;
    result.push(sumUpWallet(wallet, swaps, first.blockNumber, query, price));
  }
  return {
    blockNumber: first.blockNumber,
    blockTimestamp: new Date(first.timestamp).toISOString(),
    transactionHash: first.transactionHash,
    result,
  };
}

function earlyBuyers(pair: SwapPair, blocks: number, asOf: number) {
  const wallets = new Set<string>();
  let first: Swap | undefined;
  let end = Infinity;
  for (const swap of pair.swaps({ from: pair.createdAt, to: asOf + 1, asOf })) {
    first ??= swap;
    // If timestamps are whole seconds, blocks within one second may be out of order. Blocks of different seconds are in
    // order.
    if (swap.timestamp > end) break;
    if (swap.blockNumber - first.blockNumber > blocks) end = Math.min(end, swap.timestamp);
    else if (swap.side === "buy") wallets.add(swap.walletAddress);
  }
  return { first, wallets };
}

/** The price of the last swap that has one, or 0. The search goes back from the newest in slices of doubling length. */
function lastUsdPrice(pair: SwapPair, asOf: number): number {
  let to = asOf + 1;
  for (let width = 60_000; to > pair.createdAt; width *= 2) {
    const from = Math.max(pair.createdAt, to - width);
    let price: number | undefined;
    for (const swap of pair.swaps({ from, to, asOf })) price = priceOf(swap, "usd") ?? price;
    if (price !== undefined) return price;
    to = from;
  }
  return 0;
}

function sumUpWallet(
  wallet: string,
  swaps: Swap[],
  firstBlock: number,
  { blocks, quirks }: ReportQuery,
  price: number,
): ServedSniper {
  const buys = swaps.filter(({ side }) => side === "buy");
  const sells = swaps.filter(({ side }) => side === "sell");
  const sniped = buys.filter(({ blockNumber }) => blockNumber - firstBlock <= blocks);
  const serve = (swap: Swap): ServedTransaction => ({
    transactionHash: swap.transactionHash,
    transactionTimestamp: new Date(swap.timestamp).toISOString(),
    blocksAfterCreation: swap.blockNumber - firstBlock,
  });
  const totalSnipedUsd = sum(sniped, "usdAmount");
  const totalSoldUsd = sum(sells, "usdAmount");
  const sold = sum(sells, "tokenAmount");
  const totalTokensSold = quirks.soldBelowZero ? -sold : sold;
  const currentBalance = bounded(Math.max(0, sum(buys, "tokenAmount") - totalTokensSold));
  const realizedProfitUsd = totalSoldUsd - totalSnipedUsd;
  return {
    walletAddress: wallet,
    snipedTransactions: sniped.map(serve),
    sellTransactions: sells.map(serve),
    totalSellTransactions: sells.length,
    totalSnipedTransactions: sniped.length,
    totalTokensSniped: sum(sniped, "tokenAmount"),
    totalSnipedUsd,
    totalTokensSold,
    totalSoldUsd,
    currentBalance,
    currentBalanceUsdValue: bounded(currentBalance * price),
    realizedProfitPercentage: totalSnipedUsd === 0 ? 0 : bounded((realizedProfitUsd / totalSnipedUsd) * 100),
    realizedProfitUsd,
  };
}

function sum(swaps: readonly Swap[], field: "tokenAmount" | "usdAmount"): number {
  return bounded(swaps.reduce((total, swap) => total + swap[field], 0));
}

/** JSON has no infinity: it would become null. */
function bounded(value: number): number {
  return Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE);
}
