import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StatusRecord } from "../../../src/adapters/nats/message.js";
import { type PlacedWallet, SniperTable } from "../../../src/adapters/nats/sniper-table.js";
import { applySniperEvent, emptyReport, type Sniper, type SniperEvent } from "../../../src/index.js";
import { walletOf } from "./wallets.js";

function placed(time: number, of: Sniper, more: Partial<PlacedWallet> = {}): PlacedWallet {
  return { epoch: 0, observedAt: time, revision: 0, isRemoved: false, wallet: of, time, ...more };
}

function status(time: number, epoch: number, takeovers: StatusRecord["takeovers"] = []) {
  const told = {
    publisher: "me",
    takeovers,
    from: undefined,
    status: { state: "live" as const, failures: 0 },
  };
  return { epoch, observedAt: time, revision: 0, time, ...told };
}

const short = (event: SniperEvent) => {
  const address =
    "walletAddress" in event
      ? event.walletAddress
      : "wallet" in event
        ? event.wallet.walletAddress
        : event.previous.walletAddress;
  return `${event.type} ${address}${event.initial ? " initially" : ""} at ${event.observedAt}`;
};

describe("the table of published snipers", () => {
  it("begins with the wallets that are stored, then tells what changes of each", () => {
    const table = new SniperTable("pair");
    table.wallet(placed(3, walletOf("b", 1)));
    table.wallet(placed(4, walletOf("a")));
    table.wallet(placed(5, walletOf("gone"), { isRemoved: true }));
    expect(table.caughtUp().map(short)).toEqual([
      "wallet-added a initially at 5",
      "wallet-added b initially at 5",
    ]);
    expect(table.wallet(placed(6, walletOf("a", 2))).map(short)).toEqual([
      "sold a at 6",
      "sold a at 6",
      "wallet-updated a at 6",
    ]);
    expect(table.wallet(placed(7, walletOf("b", 0))).map(short)).toEqual([
      "transaction-removed b at 7",
      "wallet-updated b at 7",
    ]);
    expect(table.wallet(placed(8, walletOf("b"), { isRemoved: true })).map(short)).toEqual([
      "wallet-removed b at 8",
    ]);
    expect(table.wallet(placed(9, walletOf("b"), { isRemoved: true }))).toEqual([]);
    expect(table.wallet(placed(10, walletOf("c"))).map(short)).toEqual(["wallet-added c at 10"]);
    expect(table.wallet(placed(11, walletOf("c")))).toEqual([]);
  });

  it("takes a message of an older lease that came after the newer one for never sent, or takes it back", () => {
    const table = new SniperTable("pair");
    table.caughtUp();
    table.wallet(placed(9_000, walletOf("a"), { epoch: 5 }));
    table.wallet(placed(12_000, walletOf("b"), { epoch: 5 }));
    const told = table.status(status(20_000, 7, [{ epoch: 7, at: 10_000 }]));
    expect(told.map(short)).toEqual(["wallet-removed b at 20000"]);
    expect(table.wallet(placed(21_000, walletOf("b"), { epoch: 5 }))).toEqual([]);
    expect(table.wallet(placed(22_000, walletOf("b"), { epoch: 7 })).map(short)).toEqual([
      "wallet-added b at 22000",
    ]);
  });

  it("takes the first message of a lease for its beginning", () => {
    const table = new SniperTable("pair");
    table.caughtUp();
    table.status(status(10_000, 7));
    expect(table.wallet(placed(12_000, walletOf("a"), { epoch: 5 }))).toEqual([]);
  });

  it("gives events that fold to what is stored, whatever a slow reader misses", () => {
    const step = fc.record({
      address: fc.constantFrom("a", "b", "c"),
      sales: fc.nat({ max: 3 }),
      isRemoved: fc.boolean(),
      isRead: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat({ max: 30 }), (steps, joinedAfter) => {
        const messages = steps.map(({ address, sales, isRemoved, isRead }, at) => {
          return { ...placed(at + 1, walletOf(address, sales), { isRemoved }), isRead };
        });
        const isKept = (message: PlacedWallet, by: readonly PlacedWallet[]) =>
          by.findLast((one) => one.wallet.walletAddress === message.wallet.walletAddress) === message;
        const before = messages.slice(0, joinedAfter);
        const table = new SniperTable("pair");
        for (const message of before) if (isKept(message, before)) table.wallet(message);
        const events = [...table.caughtUp()];
        for (const message of messages.slice(joinedAfter)) {
          if (message.isRead || isKept(message, messages)) events.push(...table.wallet(message));
        }
        const { result } = events.reduce(applySniperEvent, emptyReport);
        const truth = messages
          .filter((message) => isKept(message, messages) && !message.isRemoved)
          .map(({ wallet: one }) => one)
          .sort((a, b) => (a.walletAddress < b.walletAddress ? -1 : 1));
        expect(result).toEqual(truth);
      }),
    );
  });
});
