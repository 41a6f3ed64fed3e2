import { checkNumber } from "../contract/input.js";
import type { Sniper, SniperReport, SniperTransaction } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { holdingOf } from "./holding.js";

/** The snipers of a pair in figures. Sums leave out what the service does not say; `unknown` counts those wallets. */
export interface SniperSummary {
  /** How many wallets there are. */
  readonly wallets: number;
  /** How many of them still hold tokens; see `holdingOf`. */
  readonly holding: number;
  /** How many have sold all but dust. */
  readonly soldOut: number;
  /** How many have a `realizedProfitUsd` above 0. */
  readonly inProfit: number;
  /** What they sniped for together, US dollars. */
  readonly snipedUsd: number;
  /** What they sold for together, US dollars. */
  readonly soldUsd: number;
  /** The sum of what they made, US dollars; below 0 for a loss. */
  readonly realizedProfitUsd: number;
  /** What they still hold is worth, US dollars. */
  readonly heldUsd: number;
  /** How many bought in the very block in which the pair was created. */
  readonly inCreationBlock: number;
  /** The wallet that sold soonest after its first snipe, and after how many ms; absent if none has sold since. */
  readonly fastestSale?: {
    /** The wallet. */
    readonly walletAddress: string;
    /** From its first snipe to its first sale after that, ms. */
    readonly ms: number;
  };
  /** The wallets that made most, by `realizedProfitUsd`; those of which it is not known are left out. */
  readonly top: readonly Sniper[];
  /** Of how many wallets the service leaves out a number that one of these figures needs. */
  readonly unknown: number;
}

/** Options of `summarizeSnipers`. */
export interface SummaryOptions {
  /** How many wallets `top` has at most, a whole number from 0; default 5. */
  top?: number;
}

/**
 * Sums the snipers of a pair up. It costs no request.
 *
 * A wallet counts once in each figure. Where two are equal, the one with the smaller address comes first. Throws an
 * `InvalidInputError` for what is no report, and for a `top` that is not a whole number from 0.
 *
 * ```ts
 * import { createClient, summarizeSnipers, watchSniperReport } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchSniperReport(client, { pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d" }).subscribe(({ report }) => {
 *   const { wallets, holding, soldOut, realizedProfitUsd } = summarizeSnipers(report);
 *   console.log(`${wallets} snipers, ${holding} hold, ${soldOut} sold out, made ${realizedProfitUsd.toFixed(0)} USD`);
 * });
 * ```
 */
export function summarizeSnipers(report: SniperReport, options: SummaryOptions = {}): SniperSummary {
  if (!Array.isArray(report?.result)) {
    throw new InvalidInputError("report", "a SniperReport, such as the report of a look", "has no result");
  }
  checkNames(options, ["top"]);
  const most = checkNumber("top", options.top ?? 5, { min: 0, integer: true });
  // One walk, in one order: sums of floating-point numbers and ties depend on it.
  const wallets = [...report.result].sort((a, b) => (a.walletAddress < b.walletAddress ? -1 : 1));
  const holdings = wallets.map(holdingOf);
  const count = (is: (wallet: Sniper) => boolean) => wallets.filter(is).length;
  const sum = (amounts: readonly (number | null)[]) =>
    amounts.reduce<number>((all, one) => all + (one ?? 0), 0);
  const profitable = wallets.filter(({ realizedProfitUsd }) => realizedProfitUsd !== null);
  const fastestSale = fastestOf(wallets);
  return Object.freeze({
    wallets: wallets.length,
    holding: holdings.filter(({ tokens, isSoldOut }) => tokens !== null && !isSoldOut).length,
    soldOut: holdings.filter(({ isSoldOut }) => isSoldOut).length,
    inProfit: count(({ realizedProfitUsd }) => (realizedProfitUsd ?? 0) > 0),
    snipedUsd: sum(wallets.map(({ totalSnipedUsd }) => totalSnipedUsd)),
    soldUsd: sum(wallets.map(({ totalSoldUsd }) => totalSoldUsd)),
    realizedProfitUsd: sum(wallets.map(({ realizedProfitUsd }) => realizedProfitUsd)),
    heldUsd: sum(holdings.map(({ usd }) => usd)),
    inCreationBlock: count(({ snipedTransactions }) =>
      snipedTransactions.some(({ blocksAfterCreation }) => blocksAfterCreation === 0),
    ),
    ...(fastestSale && { fastestSale }),
    top: Object.freeze(profitable.sort((a, b) => b.realizedProfitUsd! - a.realizedProfitUsd!).slice(0, most)),
    unknown: wallets.filter((wallet, at) => isUnknown(wallet) || holdings[at]!.usd === null).length,
  });
}

function isUnknown({ totalSnipedUsd, totalSoldUsd, realizedProfitUsd, snipedTransactions }: Sniper): boolean {
  return (
    [totalSnipedUsd, totalSoldUsd, realizedProfitUsd].includes(null) ||
    snipedTransactions.some(({ blocksAfterCreation }) => blocksAfterCreation === null)
  );
}

function fastestOf(wallets: readonly Sniper[]): SniperSummary["fastestSale"] {
  let fastest: SniperSummary["fastestSale"];
  for (const { walletAddress, snipedTransactions, sellTransactions } of wallets) {
    const first = earliest(snipedTransactions, -Infinity);
    const ms = earliest(sellTransactions, first) - first;
    if (ms < (fastest?.ms ?? Infinity)) fastest = Object.freeze({ walletAddress, ms });
  }
  return fastest;
}

/** When the first of some transactions was made, of those at `from` or later; infinity if there is none. */
function earliest(transactions: readonly SniperTransaction[], from: number): number {
  return transactions.reduce(
    (first, { transactionTimestamp: time }) => (time >= from ? Math.min(first, time) : first),
    Infinity,
  );
}
