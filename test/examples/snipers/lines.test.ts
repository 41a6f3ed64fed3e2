import { summarizeSnipers } from "pairstream";
import { describe, expect, it } from "vitest";
import type { Alert } from "../../../examples/snipers/alerts.js";
import { jsonLines, textLines } from "../../../examples/snipers/lines.js";
import { walletOf } from "../../snipers/wallets.js";

const AT = Date.UTC(2025, 0, 3, 12);
const ALERT: Alert = {
  ...{ id: "sale:pair:ann:sell:1", kind: "sale", side: "sell", usd: 1234.5, trades: 1, observedAt: AT },
  ...{ pairAddress: "pair", walletAddress: "ann" },
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, "");
const lineOf = (alert: Partial<Alert>) => plain(textLines.alert({ ...ALERT, ...alert }));

function linesOf(wallets: readonly ReturnType<typeof walletOf>[], whole: boolean): string[] {
  const report = { blockNumber: null, blockTimestamp: null, transactionHash: null, result: wallets };
  const look = { pairAddress: "pair", report, events: [], trades: [], initial: true, observedAt: AT };
  return plain(textLines.summary(look, summarizeSnipers(report), whole)).split("\n");
}

describe("the lines of an alert", () => {
  it.each<[string, Partial<Alert>]>([
    ["12:00:00 pair sale       ann sold for $1,234.50", {}],
    ["12:00:00 pair sale       ann one of 3 sales for $1,234.50 together", { trades: 3 }],
    ["12:00:00 pair sale       ann sold for an amount that is not known", { usd: null, trades: null }],
    ["12:00:00 pair new wallet ann sniped for $1,234.50", { kind: "new-wallet" }],
    ["12:00:00 pair new wallet ann sniped for $1,234.50 in 2 trades", { kind: "new-wallet", trades: 2 }],
    [
      "12:00:00 pair new wallet ann sniped for an amount that is not known",
      { kind: "new-wallet", usd: null },
    ],
    ["12:00:00 pair sold out   ann holds nothing any more, made -$5.00", { kind: "sold-out", usd: -5 }],
    ["12:00:00 pair sold out   ann holds nothing any more", { kind: "sold-out", usd: null }],
  ])("%s", (line, alert) => {
    expect(lineOf(alert)).toBe(line);
  });

  it("name the block and the transaction, as far as they are known", () => {
    const transaction = { transactionHash: "hash", transactionTimestamp: 0, blocksAfterCreation: 2 };
    const alert = { kind: "new-wallet", transaction } as const;
    expect(lineOf(alert)).toMatch(/, first in block \+2, transaction hash$/);
    const unknown = { ...transaction, blocksAfterCreation: null };
    expect(lineOf({ ...alert, transaction: unknown })).toMatch(/\$1,234\.50, transaction hash$/);
  });

  it("are one object of JSON", () => {
    expect(JSON.parse(jsonLines.alert(ALERT))).toEqual({ type: "alert", ...ALERT });
  });
});

describe("the lines of a summary", () => {
  it("say that there are no snipers yet", () => {
    expect(linesOf([], true)).toEqual(["12:00:00 pair snipers    none so far"]);
  });

  it("have all figures where they are asked for, and say what the service leaves out", () => {
    const wallets = [
      walletOf("ann", {
        totalSnipedUsd: 10,
        totalTokensSniped: 5,
        currentBalance: 2,
        currentBalanceUsdValue: 4,
      }),
      walletOf("bob", { totalSnipedUsd: null, realizedProfitUsd: 3 }),
    ];
    const [first, ...rest] = linesOf(wallets, true);
    expect(first).toBe(
      "12:00:00 pair snipers    2: 1 hold $4.00, 1 sold out; sniped for $10.00, sold for $0.00, made +$3.00",
    );
    expect(rest.map((line) => line.trim())).toEqual([
      "0 in the block of the creation, 1 in profit",
      "1. bob made +$3.00, sold out",
      "2. ann made +$0.00, holds $4.00",
      "the service leaves figures of 1 out; the sums are without them",
    ]);
    expect(linesOf(wallets, false)).toEqual([first]);
  });
});
