import { holdingOf, type Sniper, type SniperReport, type SniperTransaction } from "pairstream";
import type { SortOrder } from "../../page/sorted-headings.js";

/** By what the table of snipers can be sorted. */
export const COLUMNS = ["wallet", "last", "holds", "sold", "profit", "percent"] as const;
export type Column = (typeof COLUMNS)[number];

export type Order = SortOrder<Column>;

/** Whoever swapped last on top. */
export const FIRST_ORDER: Order = { column: "last", descending: true };

/** What is gained or lost by what was sold, in per cent of what was paid; `null` where the service does not say. */
export function profitPercent({
  realizedProfitPercentage: told,
  realizedProfitUsd: profit,
  totalSnipedUsd: paid,
}: Sniper): number | null {
  if (told !== null) return told;
  return profit === null || paid === null || paid <= 0 ? null : (profit / paid) * 100;
}

/** When a wallet swapped last, ms since the epoch; `null` where nothing is known. */
export function lastSwapOf({ snipedTransactions, sellTransactions }: Sniper): number | null {
  const instants = [...snipedTransactions, ...sellTransactions].map((one) => one.transactionTimestamp);
  return instants.length === 0 ? null : instants.reduce((last, instant) => Math.max(last, instant));
}

const KEYS: Readonly<Record<Exclude<Column, "wallet">, (sniper: Sniper) => number | null>> = {
  last: lastSwapOf,
  holds: (sniper) => holdingOf(sniper).usd,
  sold: ({ totalSoldUsd }) => totalSoldUsd,
  profit: ({ realizedProfitUsd }) => realizedProfitUsd,
  percent: profitPercent,
};

/** Snipers in an order; what is not known comes last in both directions, and what is equal stays by wallet. */
export function ordered(snipers: readonly Sniper[], { column, descending }: Order): Sniper[] {
  const sign = descending ? -1 : 1;
  const byWallet = (a: Sniper, b: Sniper) =>
    a.walletAddress < b.walletAddress ? -1 : Number(a.walletAddress > b.walletAddress);
  if (column === "wallet") return [...snipers].sort((a, b) => sign * byWallet(a, b));
  const keyOf = KEYS[column];
  return snipers
    .map((sniper) => ({ sniper, key: keyOf(sniper) }))
    .sort((a, b) => {
      if (a.key === null || b.key === null)
        return Number(a.key === null) - Number(b.key === null) || byWallet(a.sniper, b.sniper);
      return sign * (a.key - b.key) || byWallet(a.sniper, b.sniper);
    })
    .map(({ sniper }) => sniper);
}

/** Figures begin with the largest, addresses with the first. */
export function startsDescending(column: Column): boolean {
  return column !== "wallet";
}

/** One swap of a sniper. */
export interface SniperSwap {
  readonly wallet: string;
  readonly side: "buy" | "sell";
  readonly transaction: SniperTransaction;
}

/** All swaps of a report, the newest first. */
export function swapsOf({ result }: SniperReport): SniperSwap[] {
  return result
    .flatMap(({ walletAddress: wallet, snipedTransactions, sellTransactions }) => [
      ...snipedTransactions.map((transaction): SniperSwap => ({ wallet, side: "buy", transaction })),
      ...sellTransactions.map((transaction): SniperSwap => ({ wallet, side: "sell", transaction })),
    ])
    .sort((a, b) => b.transaction.transactionTimestamp - a.transaction.transactionTimestamp);
}
