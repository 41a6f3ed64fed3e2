import type { SniperLook, SniperTrade } from "pairstream";
import { describe, expect, it } from "vitest";
import { type Alert, alertsOf } from "../../../examples/snipers/alerts.js";
import { walletOf } from "../../snipers/wallets.js";

const NOW = 5_000;
const COMMON = { pairAddress: "pair", initial: false, observedAt: NOW };
const swap = (transactionHash: string, transactionTimestamp = 0) => ({
  ...{ transactionHash, transactionTimestamp },
  blocksAfterCreation: 0,
});

const trade = (parts: Partial<SniperTrade> = {}): SniperTrade => ({
  ...COMMON,
  kind: "made",
  walletAddress: "ann",
  side: "sell",
  transaction: swap("sale"),
  lookUsd: 500,
  lookTrades: 1,
  isNewWallet: false,
  ...parts,
});

const look = (parts: Partial<SniperLook>): SniperLook => ({
  ...COMMON,
  report: { blockNumber: null, blockTimestamp: null, transactionHash: null, result: [] },
  events: [],
  trades: [],
  ...parts,
});

const brief = ({ id, usd, trades }: Alert) => [id, usd, trades];
const briefs = (parts: Partial<SniperLook>, alertUsd = 500) => alertsOf(look(parts), alertUsd).map(brief);

const holding = walletOf("ann", {
  snipedTransactions: [swap("snipe")],
  totalSnipedUsd: 40,
  sellTransactions: [swap("first"), swap("last", 1)],
  totalTokensSniped: 10,
  currentBalance: 4,
  realizedProfitUsd: 7,
});
const soldOut = { ...holding, currentBalance: 0 };

describe("the alerts of a look", () => {
  it("tell of a new wallet, of its sales, and that it has sold out, each under a name of its own", () => {
    const alerts = alertsOf(
      look({
        events: [{ ...COMMON, type: "wallet-added", wallet: soldOut }],
        trades: [
          trade({ side: "snipe", transaction: swap("snipe"), lookUsd: 40 }),
          trade({ transaction: swap("first"), lookUsd: 900, lookTrades: 2 }),
          trade({ transaction: swap("last", 1), lookUsd: 900, lookTrades: 2 }),
        ],
      }),
      500,
    );
    expect(alerts.map(brief)).toEqual([
      ["new-wallet:pair:ann:snipe:snipe", 40, 1],
      ["sale:pair:ann:sell:first", 900, 2],
      ["sale:pair:ann:sell:last", 900, 2],
      ["sold-out:pair:ann:sell:last", 7, 2],
    ]);
    expect(alerts[1]).toEqual({
      ...{ id: "sale:pair:ann:sell:first", kind: "sale", side: "sell" },
      ...{ pairAddress: "pair", walletAddress: "ann", transaction: swap("first") },
      ...{ usd: 900, trades: 2, observedAt: NOW },
    });
  });

  it("are none of a first look, of which nothing is news", () => {
    const events = [{ ...COMMON, type: "wallet-added" as const, wallet: soldOut }];
    expect(briefs({ initial: true, events, trades: [trade()] })).toEqual([]);
  });

  it("tell of sales of at least so many dollars, and of all where that is 0", () => {
    const trades = [trade({ lookUsd: 499.99 })];
    expect(briefs({ trades })).toEqual([]);
    expect(briefs({ trades }, 0)).toHaveLength(1);
    expect(briefs({ trades: [trade()] })).toHaveLength(1);
  });

  it("tell of a sale of which the amount is not known, or unclear as a fork took another one back", () => {
    const unknown = [["sale:pair:ann:sell:sale", null, null]];
    expect(briefs({ trades: [trade({ lookUsd: null })] })).toEqual(unknown);
    const undone = trade({ kind: "taken-back", transaction: swap("undone"), lookUsd: -400, lookTrades: 2 });
    expect(briefs({ trades: [undone, trade({ lookUsd: -400, lookTrades: 2 })] })).toEqual(unknown);
    expect(briefs({ trades: [{ ...undone, walletAddress: "bob" }, trade({ lookUsd: 100 })] })).toEqual([]);
  });

  it("tell of no snipe of a wallet that was there, and of nothing that was taken back", () => {
    expect(briefs({ trades: [trade({ side: "snipe" }), trade({ kind: "taken-back" })] })).toEqual([]);
  });

  it("tell once that a wallet has sold out, and again after it held tokens", () => {
    const update = (previous: typeof holding, wallet: typeof holding) =>
      briefs({
        events: [{ ...COMMON, type: "wallet-updated", wallet, previous, changed: ["currentBalance"] }],
      });
    expect(update(holding, soldOut)).toEqual([["sold-out:pair:ann:sell:last", 7, 2]]);
    expect(update(soldOut, { ...soldOut, realizedProfitUsd: 8 })).toEqual([]);
    expect(update(soldOut, holding)).toEqual([]);
    expect(update(holding, { ...holding, currentBalance: 3 })).toEqual([]);
  });

  it("have names that are safe in a header, whatever a service calls a wallet", () => {
    const [alert] = alertsOf(look({ trades: [trade({ walletAddress: "a:b\n\ud800é" })] }), 0);
    expect(alert!.id).toBe("sale:pair:a%3Ab%0A%EF%BF%BD%C3%A9:sell:sale");
    expect(() => new Headers({ "idempotency-key": alert!.id })).not.toThrow();
  });

  it("tell of a wallet of which no transaction is known", () => {
    const unknown = { totalSnipedUsd: null, currentBalance: null };
    const events = [{ ...COMMON, type: "wallet-added" as const, wallet: walletOf("ann", unknown) }];
    expect(alertsOf(look({ events }), 0)).toEqual([
      expect.objectContaining({ id: "new-wallet:pair:ann:snipe:", usd: null }),
    ]);
  });
});
