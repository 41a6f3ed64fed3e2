import fc from "fast-check";
import type { Sniper, SniperReport } from "../../src/contract/model.js";
import { APART, emptyReport, type SniperRead } from "../../src/snipers/diff.js";

/** A swap of a wallet, early if it buys. */
export interface Trade {
  readonly wallet: string;
  readonly side: "snipe" | "sell";
  readonly hash: string;
  readonly time: number;
  readonly usd: number;
}

const WALLETS = ["ann", "bob", "cid"];

/** All trades that may ever be in the chain. Amounts are such that no two sums are alike. */
const TRADES: readonly Trade[] = WALLETS.flatMap((wallet, at) =>
  [0, 1, 2, 3, 4].map((number): Trade => {
    const place = 5 * at + number;
    const side = number < 2 ? "snipe" : "sell";
    return { wallet, side, hash: `${number}`, time: 1_000 * place, usd: 0.37 * 2 ** place };
  }),
);

/** What a service says of the trades of a chain: it lists the wallets that bought early and have sold. */
export function reportOf(chain: ReadonlySet<Trade>): SniperReport {
  const trades = TRADES.filter((trade) => chain.has(trade));
  const result = WALLETS.flatMap((walletAddress): Sniper[] => {
    const listOf = (side: Trade["side"]) =>
      trades.filter((one) => one.wallet === walletAddress && one.side === side);
    const [snipes, sales] = [listOf("snipe"), listOf("sell")];
    if (snipes.length === 0 || sales.length === 0) return [];
    const rows = (list: Trade[]) =>
      list.map(({ hash, time }) => ({
        transactionHash: hash,
        transactionTimestamp: time,
        blocksAfterCreation: 0,
      }));
    const sum = (list: Trade[]) => list.reduce((all, { usd }) => all + usd, 0);
    return [
      {
        walletAddress,
        snipedTransactions: rows(snipes),
        sellTransactions: rows(sales),
        totalSellTransactions: sales.length,
        totalSnipedTransactions: snipes.length,
        totalTokensSniped: snipes.length,
        totalSnipedUsd: sum(snipes),
        totalTokensSold: sales.length,
        totalSoldUsd: sum(sales),
        currentBalance: null,
        currentBalanceUsdValue: null,
        realizedProfitPercentage: null,
        realizedProfitUsd: sum(sales) - sum(snipes),
      },
    ];
  });
  return { ...emptyReport, blockNumber: 7, result };
}

/** One answer: what has changed in the chain since the one before, and what is wrong with it. */
export interface Step {
  /** Trades that come, or that a fork takes back. */
  readonly toggled: readonly Trade[];
  /** Wallets whose rows are cut off. */
  readonly cut: readonly string[];
  /** Wallets whose rows nobody can read. */
  readonly unreadable: readonly string[];
  readonly hasUnidentifiedRow: boolean;
  readonly isInDoubt: boolean;
  /** ms since the answer before. */
  readonly later: number;
  /** Whether the subscriber begins anew after it: with the same poll, or in another process. */
  readonly restart: "none" | "subscriber" | "process";
}

const seldom = <T>(one: fc.Arbitrary<T>, otherwise: T) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary: one });

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    toggled: fc.oneof(fc.constant([]), fc.uniqueArray(fc.constantFrom(...TRADES), { maxLength: 4 })),
    cut: seldom(fc.subarray(WALLETS), []),
    unreadable: seldom(fc.subarray(WALLETS), []),
    hasUnidentifiedRow: seldom(fc.constant(true), false),
    isInDoubt: seldom(fc.constant(true), false),
    later: fc.constantFrom(APART / 2, APART, 60_000),
    restart: seldom(fc.constantFrom("subscriber", "process"), "none"),
  }),
  { maxLength: 20 },
);

/** A chain that changes, and the answers of a service that reads it. */
export class Chain {
  readonly #trades = new Set<Trade>();
  #at = 0;

  take({ toggled, cut, unreadable, hasUnidentifiedRow, isInDoubt, later }: Step): SniperRead {
    this.#at += later;
    for (const trade of toggled) if (!this.#trades.delete(trade)) this.#trades.add(trade);
    const report = this.report();
    const hidden = new Set([...cut, ...unreadable]);
    const result = report.result.filter(({ walletAddress }) => !hidden.has(walletAddress));
    const trouble = { unreadable: new Set(unreadable), hasUnidentifiedRow, isInDoubt };
    return { ...trouble, report: { ...report, result }, observedAt: this.#at };
  }

  report(): SniperReport {
    return reportOf(this.#trades);
  }
}

export const CALM: Step = {
  toggled: [],
  cut: [],
  unreadable: [],
  hasUnidentifiedRow: false,
  isInDoubt: false,
  later: APART,
  restart: "none",
};
