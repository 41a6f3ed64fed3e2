import fc from "fast-check";
import { emptyReport, type Sniper } from "pairstream";
import { describe, expect, it } from "vitest";
import {
  COLUMNS,
  type Column,
  FIRST_ORDER,
  lastSwapOf,
  ordered,
  profitPercent,
  startsDescending,
  swapsOf,
} from "../../../examples/live-chart/page/sniper-order.js";
import { orderAfter } from "../../../examples/page/sorted-headings.js";

const NOTHING = {
  ...{ totalSellTransactions: null, totalSnipedTransactions: null, totalTokensSniped: null },
  ...{ totalSnipedUsd: null, totalTokensSold: null, totalSoldUsd: null, currentBalance: null },
  ...{ currentBalanceUsdValue: null, realizedProfitPercentage: null, realizedProfitUsd: null },
} as const;
const sniper = (walletAddress: string, rest: Partial<Sniper> = {}): Sniper => {
  return { walletAddress, snipedTransactions: [], sellTransactions: [], ...NOTHING, ...rest };
};
const swap = (transactionTimestamp: number) => {
  return { transactionHash: `hash${transactionTimestamp}`, transactionTimestamp, blocksAfterCreation: 1 };
};

describe("the snipers of the page", () => {
  it("have a PnL in per cent: as served, else of what was paid, else none", () => {
    expect(profitPercent(sniper("a", { realizedProfitPercentage: -20 }))).toBe(-20);
    expect(profitPercent(sniper("a", { realizedProfitUsd: 50, totalSnipedUsd: 200 }))).toBe(25);
    expect(profitPercent(sniper("a", { realizedProfitUsd: 50, totalSnipedUsd: 0 }))).toBeNull();
    expect(profitPercent(sniper("a", { realizedProfitUsd: 50 }))).toBeNull();
  });

  it("are sorted by any column, in both directions, what is not known last", () => {
    const amount = fc.option(fc.integer({ min: -5, max: 5 }));
    const snipers = fc.uniqueArray(
      fc.tuple(fc.string({ minLength: 1 }), amount, amount, amount).map(([wallet, holds, sold, profit]) =>
        sniper(wallet, {
          ...{ currentBalance: holds && Math.abs(holds), currentBalanceUsdValue: holds && Math.abs(holds) },
          ...{ totalSoldUsd: sold, realizedProfitUsd: profit },
        }),
      ),
      { selector: ({ walletAddress }) => walletAddress },
    );
    const keys = {
      holds: (one: Sniper) => one.currentBalanceUsdValue,
      sold: (one: Sniper) => one.totalSoldUsd,
      profit: (one: Sniper) => one.realizedProfitUsd,
    };
    fc.assert(
      fc.property(
        snipers,
        fc.constantFrom("holds", "sold", "profit"),
        fc.boolean(),
        (all, column, descending) => {
          const sorted = ordered(all, { column, descending });
          expect(new Set(sorted)).toEqual(new Set(all));
          const values = sorted.map(keys[column as keyof typeof keys]);
          const known = values.filter((value) => value !== null);
          expect(values.slice(0, known.length)).toEqual(known);
          expect(known).toEqual([...known].sort((a, b) => (descending ? b - a : a - b)));
        },
      ),
    );
  });

  it("hold no token that they have sold, whatever its sign", () => {
    const sold = { totalTokensSniped: 100, totalTokensSold: -60, currentBalance: 160 };
    const most = sniper("most", { ...sold, currentBalanceUsdValue: 320 });
    const more = sniper("more", { currentBalance: 50, currentBalanceUsdValue: 100 });
    expect(ordered([most, more], { column: "holds", descending: true })).toEqual([more, most]);
  });

  it("are sorted the other way round by a second click, and numbers begin with the largest", () => {
    const next = (column: Column) => orderAfter(FIRST_ORDER, column, startsDescending);
    expect(next("last")).toEqual({ column: "last", descending: false });
    expect(next("wallet")).toEqual({ column: "wallet", descending: false });
    for (const column of COLUMNS.slice(2)) expect(next(column)).toEqual({ column, descending: true });
  });

  it("have swapped last at their last buy or sale", () => {
    expect(lastSwapOf(sniper("a"))).toBeNull();
    const one = sniper("a", { snipedTransactions: [swap(1), swap(2)], sellTransactions: [swap(9), swap(5)] });
    expect(lastSwapOf(one)).toBe(9);
  });

  it("have swaps, the newest first, each with its side", () => {
    const result = [
      sniper("a", { snipedTransactions: [swap(1)], sellTransactions: [swap(5)] }),
      sniper("b", { snipedTransactions: [swap(2)] }),
    ];
    expect(
      swapsOf({ ...emptyReport, result }).map(({ wallet, side, transaction }) => {
        return `${transaction.transactionTimestamp} ${wallet} ${side}`;
      }),
    ).toEqual(["5 a sell", "2 b buy", "1 a buy"]);
  });
});
