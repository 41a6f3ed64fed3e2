import { describe, expect, it } from "vitest";
import type { Sniper, SniperReport, SniperTransaction } from "../../src/contract/model.js";
import { APART, LONGEST_LAG } from "../../src/poll/apart.js";
import {
  emptySniperBook,
  readReport,
  type SniperBook,
  type SniperRead,
  snapshot,
} from "../../src/snipers/diff.js";
import { applySniperEvent, emptyReport, type SniperEvent } from "../../src/snipers/event.js";
import { walletOf } from "./wallets.js";

const PAIR = "pair";

function tx(transactionHash: string, transactionTimestamp = 0, blocksAfterCreation: number | null = 1) {
  return { transactionHash, transactionTimestamp, blocksAfterCreation };
}

const reportOf = (...result: Sniper[]): SniperReport => ({ ...emptyReport, result });

/** Feeds reports to one book, made just far enough apart for two to be two of any machines, and keeps what the last of them gave. */
class Reader {
  book: SniperBook = emptySniperBook(PAIR);
  events: readonly SniperEvent[] = [];
  doubt = false;
  private at = 0;

  read(
    result: readonly Sniper[],
    missing: { unreadable?: string[]; hasUnidentifiedRow?: boolean; isInDoubt?: boolean } = {},
    later = LONGEST_LAG,
  ): this {
    this.at += later;
    const read: SniperRead = {
      report: { ...emptyReport, result },
      unreadable: new Set(missing.unreadable),
      hasUnidentifiedRow: missing.hasUnidentifiedRow ?? false,
      isInDoubt: missing.isInDoubt ?? false,
      observedAt: this.at,
    };
    ({ book: this.book, events: this.events, doubt: this.doubt } = readReport(this.book, read));
    return this;
  }

  get types(): string[] {
    return this.events.map(line);
  }

  get present(): Sniper[] {
    return snapshot(this.book).map(
      (event) => (event as Extract<SniperEvent, { type: "wallet-added" }>).wallet,
    );
  }
}

function line(event: SniperEvent): string {
  switch (event.type) {
    case "wallet-added":
      return `${event.type} ${event.wallet.walletAddress}`;
    case "wallet-updated":
      return `${event.type} ${event.wallet.walletAddress} ${event.changed.join(",")}`;
    case "wallet-removed":
      return `${event.type} ${event.previous.walletAddress}`;
    case "transaction-removed":
      return `${event.type} ${event.walletAddress} ${event.side} ${event.transaction.transactionHash}`;
    default:
      return `${event.type} ${event.walletAddress} ${event.transaction.transactionHash}`;
  }
}

describe("first report", () => {
  it("adds each wallet with its transactions, by address, marked as initial", () => {
    const reader = new Reader().read([
      walletOf("b"),
      walletOf("a", {
        snipedTransactions: [tx("2", 5), tx("1", 5), tx("0", 9)],
        sellTransactions: [tx("3")],
      }),
    ]);
    expect(reader.events).toEqual([
      {
        type: "wallet-added",
        wallet: walletOf("a", {
          snipedTransactions: [tx("1", 5), tx("2", 5), tx("0", 9)],
          sellTransactions: [tx("3")],
        }),
        pairAddress: PAIR,
        initial: true,
        observedAt: 1 * LONGEST_LAG,
      },
      {
        type: "wallet-added",
        wallet: walletOf("b"),
        pairAddress: PAIR,
        initial: true,
        observedAt: 1 * LONGEST_LAG,
      },
    ]);
    expect(reader.doubt).toBe(false);
  });

  it("is the only initial one, even when it is empty", () => {
    const reader = new Reader().read([]).read([walletOf("a")]);
    expect(reader.events).toMatchObject([
      { type: "wallet-added", initial: false, observedAt: 2 * LONGEST_LAG },
    ]);
  });

  it("counts the last of two listings of a wallet", () => {
    const reader = new Reader().read([
      walletOf("a", { totalSoldUsd: 1 }),
      walletOf("a", { totalSoldUsd: 2 }),
    ]);
    expect(reader.events).toMatchObject([{ type: "wallet-added", wallet: { totalSoldUsd: 2 } }]);
  });

  it("takes a hash once a side, and the same hash on both sides as two", () => {
    const twice = walletOf("a", {
      snipedTransactions: [tx("1"), tx("1")],
      sellTransactions: [tx("1"), tx("1")],
    });
    const once = walletOf("a", { snipedTransactions: [tx("1")], sellTransactions: [tx("1")] });
    expect(new Reader().read([twice]).present).toEqual([once]);
    expect(new Reader().read([once]).read([twice]).events).toEqual([]);
  });

  it("takes the later place of a hash listed at two places, whatever the order", () => {
    // By time, then by block; a block that is not known is before any.
    const places = [5, 6].flatMap((time) => [null, 0, 1, 9].map((block) => tx("1", time, block)));
    for (const [at, one] of places.entries()) {
      for (const [otherAt, other] of places.entries()) {
        const reader = new Reader().read([walletOf("a", { sellTransactions: [one, other] })]);
        expect(reader.present[0]?.sellTransactions).toEqual([places[Math.max(at, otherAt)]]);
      }
    }
  });
});

describe("changes", () => {
  it("come by wallet, and within one: removals, sniped, sold, totals", () => {
    const before = walletOf("b", {
      snipedTransactions: [tx("1", 1), tx("2", 2)],
      sellTransactions: [tx("3", 3)],
    });
    const after = walletOf("b", {
      snipedTransactions: [tx("2", 7), tx("1", 1), tx("5", 5), tx("4", 5)],
      sellTransactions: [tx("6", 6), tx("3", 4)],
      totalSoldUsd: 9,
      totalSellTransactions: 2,
    });
    const reader = new Reader().read([before]).read([walletOf("c"), after, walletOf("a")]);
    expect(reader.types).toEqual([
      "wallet-added a",
      "transaction-removed b snipe 2",
      "transaction-removed b sell 3",
      "sniped b 4",
      "sniped b 5",
      "sniped b 2",
      "sold b 3",
      "sold b 6",
      "wallet-updated b totalSellTransactions,totalSoldUsd",
      "wallet-added c",
    ]);
    expect(reader.events.every((event) => !event.initial && event.observedAt === 2 * LONGEST_LAG)).toBe(true);
    expect(reader.events.at(1)).toMatchObject({ transaction: tx("2", 2) });
    expect(reader.events.at(5)).toMatchObject({ transaction: tx("2", 7) });
    expect(reader.events.at(8)).toMatchObject({
      previous: before,
      wallet: { snipedTransactions: [tx("1", 1), tx("4", 5), tx("5", 5), tx("2", 7)] },
    });
    expect(reader.doubt).toBe(false);
  });

  it("of a block alone put a transaction elsewhere too", () => {
    const reader = new Reader()
      .read([walletOf("a", { sellTransactions: [tx("1", 1, null)] })])
      .read([walletOf("a", { sellTransactions: [tx("1", 1, 0)] })]);
    expect(reader.types).toEqual(["transaction-removed a sell 1", "sold a 1"]);
  });

  it("of totals are seen from and to null, and not between 0 and -0", () => {
    const totals = { totalSoldUsd: null, totalTokensSold: -1, currentBalance: 0, realizedProfitUsd: null };
    const reader = new Reader().read([walletOf("a", totals)]);
    reader.read([walletOf("a", { ...totals, currentBalance: -0 })]);
    expect(reader.events).toEqual([]);
    reader.read([walletOf("a", { ...totals, totalSoldUsd: 0, totalTokensSold: null })]);
    expect(reader.types).toEqual(["wallet-updated a totalTokensSold,totalSoldUsd"]);
  });

  it("of transactions alone leave the totals unannounced", () => {
    const reader = new Reader().read([walletOf("a")]).read([walletOf("a", { sellTransactions: [tx("1")] })]);
    expect(reader.types).toEqual(["sold a 1"]);
  });
});

describe("absence", () => {
  const full = walletOf("a", { snipedTransactions: [tx("1"), tx("2")], sellTransactions: [tx("3")] });
  const without2 = walletOf("a", { snipedTransactions: [tx("1")], sellTransactions: [tx("3")] });
  const other = walletOf("b", { sellTransactions: [tx("5")] });
  const newer = walletOf("z", { sellTransactions: [tx("9", 9)] });

  it("of a wallet is doubted once, then believed, and its removal stands alone", () => {
    const reader = new Reader().read([full]).read([]);
    expect([reader.types, reader.doubt, reader.present]).toEqual([[], true, [full]]);
    reader.read([]);
    expect([reader.types, reader.doubt, reader.present]).toEqual([["wallet-removed a"], false, []]);
    expect(reader.events).toMatchObject([{ previous: full }]);
    expect(reader.read([full]).types).toEqual(["wallet-added a"]);
  });

  it("is one in copies of one report, and in reports made within a second", () => {
    const reader = new Reader().read([full, other, newer]).read([without2, newer]);
    for (const later of [0, 1, APART - 2]) {
      reader.read([without2, newer], {}, later);
      expect([reader.types, reader.doubt]).toEqual([[], true]);
    }
    reader.read([without2, newer], {}, 1);
    expect(reader.types).toEqual(["transaction-removed a snipe 2", "wallet-removed b"]);
  });

  it("is two in reports that were made a second apart, although what is certain of the service's clock fades meanwhile", () => {
    const reader = new Reader().read([full, other, newer]).read([without2, newer]);
    reader.read([without2, newer], {}, APART - 0.2);
    expect(reader.types).toEqual(["transaction-removed a snipe 2", "wallet-removed b"]);
  });

  it.each<[string, Sniper[], Sniper[], string]>([
    ["a sale", [other, newer], [other], "wallet-removed z"],
    ["a wallet", [other, { ...newer, snipedTransactions: [tx("0", -5)] }], [other], "wallet-removed z"],
    ["an early buy", [full, other], [without2, other], "transaction-removed a snipe 2"],
    ["all", [other], [], "wallet-removed b"],
    ["what has no time", [walletOf("a"), newer], [newer], "wallet-removed a"],
  ])(
    "of what nothing that is newer follows is one for as long as a machine may lag: %s",
    (_, before, after, gone) => {
      const reader = new Reader().read(before).read(after);
      const seen: boolean[] = [];
      for (let waited = 500; waited < LONGEST_LAG; waited += 500) {
        expect(reader.read(after, {}, 500).types).toEqual([]);
        seen.push(reader.doubt);
      }
      // It is asked for again as long as candles are.
      expect(seen).toEqual(seen.map((__, at) => 500 * (at + 1) < 2 * APART));
      expect(reader.read(after, {}, 500).types).toEqual([gone]);
      const shown = new Reader().read(before);
      for (let round = 0; round < 3; round += 1) {
        for (const rows of [after, after, before]) expect(shown.read(rows, {}, 2_000).types).toEqual([]);
      }
    },
  );

  it("is none in a report of which nobody knows when it was made", () => {
    const reader = new Reader().read([full]).read([]);
    for (let more = 0; more < 3; more += 1) {
      reader.read([], { isInDoubt: true });
      expect([reader.types, reader.present]).toEqual([[], [full]]);
    }
    expect(reader.read([]).types).toEqual([]);
    expect(reader.read([]).types).toEqual(["wallet-removed a"]);
  });

  it("of a wallet without transactions is doubted too", () => {
    expect(new Reader().read([walletOf("a")]).read([]).doubt).toBe(true);
  });

  it("of a transaction is doubted once, then believed", () => {
    const reader = new Reader().read([full]).read([without2]);
    expect([reader.types, reader.doubt, reader.present]).toEqual([[], true, [full]]);
    reader.read([without2]);
    expect([reader.types, reader.doubt]).toEqual([["transaction-removed a snipe 2"], false]);
    expect(reader.present).toEqual([without2]);
    expect(reader.read([full]).types).toEqual(["sniped a 2"]);
  });

  it("is forgotten when the doubtful one is there again", () => {
    const reader = new Reader()
      .read([full, walletOf("b")])
      .read([without2])
      .read([full, walletOf("b")]);
    expect([reader.types, reader.doubt]).toEqual([[], false]);
    reader.read([without2]);
    expect([reader.types, reader.doubt, reader.present]).toEqual([[], true, [full, walletOf("b")]]);
  });

  it("does not hold back what else the answer tells, and events still carry what is missing", () => {
    const changed = walletOf("a", { ...without2, sellTransactions: [tx("3"), tx("4")], totalSoldUsd: 1 });
    const reader = new Reader().read([full, walletOf("c")]).read([changed, walletOf("b")]);
    expect(reader.types).toEqual(["sold a 4", "wallet-updated a totalSoldUsd", "wallet-added b"]);
    expect(reader.doubt).toBe(true);
    expect(reader.events[1]).toMatchObject({ wallet: { snipedTransactions: [tx("1"), tx("2")] } });
  });

  it("of a wallet is absence of its transactions", () => {
    const reader = new Reader().read([full]).read([]).read([without2]);
    expect([reader.types, reader.doubt]).toEqual([["transaction-removed a snipe 2"], false]);
    const other = new Reader().read([full]).read([without2]).read([]);
    expect([other.types, other.doubt, other.present]).toEqual([
      ["transaction-removed a snipe 2"],
      true,
      [without2],
    ]);
  });

  it("is not told by an unreadable row, which changes nothing and ends a doubt", () => {
    const unreadable = { unreadable: ["a"] };
    const reader = new Reader().read([full]).read([], unreadable).read([], unreadable);
    expect([reader.types, reader.doubt, reader.present]).toEqual([[], false, [full]]);
    expect(reader.read([walletOf("a", { totalSoldUsd: 5 })], unreadable).types).toEqual([]);
    reader.read([]).read([], unreadable).read([]);
    expect([reader.types, reader.doubt]).toEqual([[], true]);
    expect(reader.read([]).types).toEqual(["wallet-removed a"]);
  });

  it("is not told by a report with an unplaced row, whose other news count", () => {
    const unplaced = { hasUnidentifiedRow: true };
    const moved = walletOf("a", { ...without2, sellTransactions: [tx("3", 8)] });
    const reader = new Reader().read([full, walletOf("b")]).read([moved], unplaced);
    expect(reader.types).toEqual(["transaction-removed a sell 3", "sold a 3"]);
    expect([reader.doubt, reader.read([moved], unplaced).types, reader.doubt]).toEqual([false, [], false]);
    reader.read([moved]);
    expect([reader.types, reader.doubt]).toEqual([[], true]);
    reader.read([moved], unplaced).read([moved]);
    expect([reader.types, reader.doubt]).toEqual([[], true]);
    expect(reader.read([moved]).types).toEqual(["transaction-removed a snipe 2", "wallet-removed b"]);
  });

  it("of a wallet never seen is none: an unreadable newcomer comes when it can be read", () => {
    const reader = new Reader().read([], { unreadable: ["a"] });
    expect([reader.types, reader.doubt]).toEqual([[], false]);
    expect(reader.read([full]).types).toEqual(["wallet-added a"]);
  });
});

describe("what is handed out", () => {
  it("is frozen, and what came in is not touched", () => {
    const sell: SniperTransaction[] = [tx("2", 2), tx("1", 1)];
    const first = walletOf("a", { sellTransactions: sell });
    const reader = new Reader()
      .read([first])
      .read([walletOf("a", { sellTransactions: sell, totalSoldUsd: 1 })]);
    expect(Object.isFrozen(first)).toBe(false);
    expect(sell.map((transaction) => Object.isFrozen(transaction))).toEqual([false, false]);
    expect(sell[0]).toEqual(tx("2", 2));
    const event = reader.events[0] as Extract<SniperEvent, { type: "wallet-updated" }>;
    const { wallet: kept, previous, changed } = event;
    for (const value of [
      reader.events,
      event,
      changed,
      kept,
      kept.sellTransactions,
      kept.sellTransactions[0],
    ]) {
      expect(Object.isFrozen(value)).toBe(true);
    }
    expect(Object.isFrozen(previous)).toBe(true);
  });

  it("is the same object for as long as nothing in it changes", () => {
    const row = () => walletOf("a", { snipedTransactions: [tx("1", 1)], sellTransactions: [tx("2", 2)] });
    const reader = new Reader().read([row()]);
    const [before] = reader.present;
    expect(reader.read([row()]).present[0]).toBe(before);
    const [after] = reader.read([{ ...row(), totalSoldUsd: 1 }]).present;
    expect(after).not.toBe(before);
    expect(after!.snipedTransactions[0]).toBe(before!.snipedTransactions[0]);
    expect(after!.sellTransactions[0]).toBe(before!.sellTransactions[0]);
  });

  it("leaves an earlier book as it was", () => {
    const reader = new Reader().read([walletOf("a")]);
    const earlier = reader.book;
    reader.read([]).read([walletOf("b")]);
    expect(snapshot(earlier)).toMatchObject([
      { wallet: { walletAddress: "a" }, observedAt: 1 * LONGEST_LAG },
    ]);
  });

  it("to a late subscriber is the present state, of the last report's instant", () => {
    expect(snapshot(emptySniperBook(PAIR))).toEqual([]);
    const reader = new Reader()
      .read([walletOf("b")])
      .read([walletOf("a"), walletOf("b", { totalSoldUsd: 4 })]);
    const common = { type: "wallet-added", pairAddress: PAIR, initial: true, observedAt: 2 * LONGEST_LAG };
    expect(snapshot(reader.book)).toEqual([
      { ...common, wallet: walletOf("a") },
      { ...common, wallet: walletOf("b", { totalSoldUsd: 4 }) },
    ]);
    expect(Object.isFrozen(snapshot(reader.book)[0])).toBe(true);
  });
});

describe("applySniperEvent", () => {
  const common = { pairAddress: PAIR, initial: false, observedAt: 1 * LONGEST_LAG };

  it("keeps block, time and hash, freezes the new report and leaves the old one", () => {
    const before = { ...reportOf(walletOf("b")), blockNumber: 1, blockTimestamp: 2, transactionHash: "h" };
    const after = applySniperEvent(before, { ...common, type: "wallet-added", wallet: walletOf("a") });
    expect(after).toEqual({ ...before, result: [walletOf("a"), walletOf("b")] });
    expect(before.result).toEqual([walletOf("b")]);
    expect(Object.isFrozen(after) && Object.isFrozen(after.result)).toBe(true);
  });

  it("gives the same whether an event is folded once or twice", () => {
    const report = reportOf(walletOf("a", { sellTransactions: [tx("2", 2)] }));
    const events: SniperEvent[] = [
      { ...common, type: "sold", walletAddress: "a", transaction: tx("1", 1) },
      { ...common, type: "wallet-added", wallet: walletOf("b") },
      { ...common, type: "transaction-removed", walletAddress: "a", side: "sell", transaction: tx("2", 2) },
      { ...common, type: "wallet-removed", previous: walletOf("a") },
    ];
    for (const event of events) {
      const once = applySniperEvent(report, event);
      expect(once).not.toEqual(report);
      expect(applySniperEvent(once, event)).toEqual(once);
    }
  });

  it("passes over a transaction of a wallet that is not there", () => {
    const event: SniperEvent = { ...common, type: "sniped", walletAddress: "z", transaction: tx("1") };
    expect(applySniperEvent(emptyReport, event)).toEqual(emptyReport);
  });
});
