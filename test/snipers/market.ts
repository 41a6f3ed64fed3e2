import fc from "fast-check";
import type { Sniper, SniperReport } from "../../src/contract/model.js";
import { APART, LONGEST_LAG } from "../../src/poll/apart.js";
import type { SniperRead } from "../../src/snipers/diff.js";
import { emptyReport } from "../../src/snipers/event.js";

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

/** How many ms a trade has moved that a fork has put into another block. */
const MOVED = 500;

/**
 * What a service says of the trades of a chain: it lists the wallets that bought early and have sold. `mute`: the wallets
 * of which it does not say what they paid and got.
 */
function reportOf(chain: ReadonlyMap<Trade, number>, mute: readonly string[] = []): SniperReport {
  const trades = TRADES.filter((trade) => chain.has(trade));
  const result = WALLETS.flatMap((walletAddress): Sniper[] => {
    const listOf = (side: Trade["side"]) =>
      trades.filter((one) => one.wallet === walletAddress && one.side === side);
    const [snipes, sales] = [listOf("snipe"), listOf("sell")];
    if (snipes.length === 0 || sales.length === 0) return [];
    const rows = (list: Trade[]) =>
      list.map((trade) => ({
        transactionHash: trade.hash,
        transactionTimestamp: chain.get(trade)!,
        blocksAfterCreation: 0,
      }));
    const total = (list: Trade[]) => list.reduce((all, { usd }) => all + usd, 0);
    const sum = (list: Trade[]) => (mute.includes(walletAddress) ? null : total(list));
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
        realizedProfitUsd: total(sales) - total(snipes),
      },
    ];
  });
  return { ...emptyReport, blockNumber: 7, result };
}

/** One answer: what has changed in the chain since the one before, and what is wrong with it. */
export interface Step {
  /** Trades that come, or that a fork takes back. */
  readonly toggled: readonly Trade[];
  /** Trades that a fork puts into another block, with the same hash. */
  readonly moved: readonly Trade[];
  /** Wallets of which it does not say what they paid and got. */
  readonly mute: readonly string[];
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
    moved: seldom(fc.uniqueArray(fc.constantFrom(...TRADES), { maxLength: 3 }), []),
    mute: seldom(fc.subarray(WALLETS), []),
    cut: seldom(fc.subarray(WALLETS), []),
    unreadable: seldom(fc.subarray(WALLETS), []),
    hasUnidentifiedRow: seldom(fc.constant(true), false),
    isInDoubt: seldom(fc.constant(true), false),
    later: fc.constantFrom(APART / 2, APART, LONGEST_LAG, 60_000),
    restart: seldom(fc.constantFrom("subscriber", "process"), "none"),
  }),
  { maxLength: 20 },
);

/** A chain that changes, and the answers of a service that reads it. */
export class Chain {
  /** The trades, and when they were made. */
  readonly #trades = new Map<Trade, number>();
  #at = 0;

  take({ toggled, moved, mute, cut, unreadable, hasUnidentifiedRow, isInDoubt, later }: Step): SniperRead {
    this.#at += later;
    for (const trade of toggled) if (!this.#trades.delete(trade)) this.#trades.set(trade, trade.time);
    for (const trade of moved) {
      const time = this.#trades.get(trade);
      if (time !== undefined) this.#trades.set(trade, time === trade.time ? time + MOVED : trade.time);
    }
    const report = reportOf(this.#trades, mute);
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
  moved: [],
  mute: [],
  cut: [],
  unreadable: [],
  hasUnidentifiedRow: false,
  isInDoubt: false,
  later: LONGEST_LAG,
  restart: "none",
};
