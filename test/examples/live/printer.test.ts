import type { Sniper } from "pairstream";
import { describe, expect, it } from "vitest";
import { textPrinter } from "../../../examples/live/printer.js";

describe("the snipers of the terminal", () => {
  const series = { network: "mainnet", pairAddress: "p", timeframe: "1min", currency: "usd" } as const;
  const common = { stream: "sniper", pairAddress: "p", initial: true, observedAt: 0 } as const;
  const wallet = (walletAddress: string, rest: Partial<Sniper>): Sniper => ({
    ...{ walletAddress, snipedTransactions: [], sellTransactions: [], totalSellTransactions: 1 },
    ...{ totalSnipedTransactions: 1, totalTokensSniped: 100, totalSnipedUsd: 100, totalTokensSold: 60 },
    ...{ totalSoldUsd: 90, currentBalance: 40, currentBalanceUsdValue: 80, realizedProfitUsd: 30 },
    ...{ realizedProfitPercentage: 50, ...rest },
  });

  it("hold what `holdingOf` says: nothing that was sold, whatever the sign of what the service tells", () => {
    const print = textPrinter(series, () => undefined);
    const wallets = [
      wallet("ann", {}),
      wallet("bob", { totalTokensSold: -60, currentBalance: 160, currentBalanceUsdValue: 320 }),
      wallet("cat", { totalTokensSold: -100, currentBalance: 200, currentBalanceUsdValue: 400 }),
    ];
    for (const each of wallets) print({ ...common, type: "wallet-added", wallet: each });
    const live = { stream: "status", state: "live", failures: 0, coveredUntil: 0 } as const;
    print({ ...live, of: "snipers" });
    const lines = print({ ...live, of: "candles" }).map((line) => line.trim());
    expect(lines.slice(2)).toEqual([
      "snipers 3 so far: sniped for $300.00, sold for $270.00; 2 still hold $160.00",
      "snipers ann holds $80.00, sold $90.00 in 1, realized +$30.00 (50.00 %)",
      "snipers bob holds $80.00, sold $90.00 in 1, realized +$30.00 (50.00 %)",
    ]);
  });
});
