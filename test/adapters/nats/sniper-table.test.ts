import { describe, expect, it } from "vitest";
import type { FeedSignal } from "../../../src/adapters/nats/feed-reader.js";
import type { StatusRecord, WalletRecord } from "../../../src/adapters/nats/message.js";
import { SniperTable } from "../../../src/adapters/nats/sniper-table.js";
import { emptyReport } from "../../../src/index.js";
import { addressOf } from "../../../src/snipers/event.js";
import { walletOf } from "./wallets.js";

const { result: _, ...head } = { ...emptyReport, pairAddress: "pair" };

/** A message about a wallet, of a run and its place in it. */
function wallet(epoch: number, number: number, address: string, sells: number | null = 0) {
  const record: WalletRecord = {
    ...{ epoch, number, observedAt: number, revision: 0, walletAddress: address },
    wallet: sells === null ? null : walletOf(address, sells),
  };
  return { type: "message", record } as const;
}

function status(epoch: number, number: number, more: Partial<StatusRecord> = {}, isWhole = true) {
  const record: StatusRecord = {
    ...{ epoch, number, observedAt: 0, revision: 0, publisher: "me", rules: { every: 60_000 } },
    ...{ told: true, look: { head, observedAt: number } },
    status: { state: "live", failures: 0 },
    ...more,
  };
  return { type: "status", record, isWhole, isFresh: true } as const;
}

/** What a table tells of signals, look by look. */
function told(
  signals: readonly FeedSignal<WalletRecord>[],
  table = new SniperTable({ pairAddress: "pair" }),
) {
  return signals.flatMap((signal) =>
    table
      .take(signal)
      .map(({ events, initial }) =>
        [initial ? "initial" : "then", ...events.map((event) => `${event.type} ${addressOf(event)}`)].join(
          " ",
        ),
      ),
  );
}
const READ = { type: "read" } as const;

describe("the table of published snipers", () => {
  it("tells a look once all of it has come, and nothing before", () => {
    const half = status(1, 3, { look: undefined });
    expect(told([wallet(1, 1, "b"), wallet(1, 2, "a"), half, READ])).toEqual([]);
    expect(told([wallet(1, 1, "b"), wallet(1, 2, "a"), status(1, 3)])).toEqual([
      "initial wallet-added a wallet-added b",
    ]);
  });

  it("does not take a look for whole of which messages may be missing", () => {
    const signals = [wallet(1, 1, "a"), status(1, 2), status(1, 5, {}, false)];
    expect(told([...signals, wallet(1, 3, "b"), wallet(1, 4, "c"), READ])).toEqual([
      "initial wallet-added a",
      "then wallet-added b wallet-added c",
    ]);
  });

  it("tells what changes of each wallet, and of one that is gone", () => {
    const table = new SniperTable({ pairAddress: "pair" });
    expect(told([wallet(1, 1, "a"), wallet(1, 2, "b"), status(1, 3)], table)).toHaveLength(1);
    expect(told([wallet(1, 4, "a", 1), wallet(1, 5, "b", null), status(1, 6)], table)).toEqual([
      expect.stringMatching(/^then .*sold a.*wallet-removed b/),
    ]);
    expect(told([status(1, 7)], table)).toEqual([]);
  });

  it("passes over what is older than what is known, of an earlier run, too", () => {
    const table = new SniperTable({ pairAddress: "pair" });
    told([wallet(2, 5, "a", 1), status(2, 6)], table);
    expect(told([wallet(2, 4, "a", 0), wallet(1, 9, "a", 3), status(2, 7)], table)).toEqual([]);
  });

  it("takes for gone what a later run has not told again, once that has told all", () => {
    const table = new SniperTable({ pairAddress: "pair" });
    told([wallet(1, 1, "a"), wallet(1, 2, "b"), status(1, 3)], table);
    expect(told([status(2, 1, { told: undefined }), wallet(2, 2, "a")], table)).toEqual([]);
    expect(told([status(2, 3)], table)).toEqual(["then wallet-removed b"]);
  });
});
