import { isFeedStatus } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { Mirror } from "../../../src/adapters/sse/mirror.js";
import { NetworkError } from "../../../src/errors.js";
import { walletOf } from "../../snipers/wallets.js";
import {
  candle,
  connected,
  hello,
  message,
  ready,
  settled,
  snapshot,
  taken,
  wallet,
} from "./mirror-messages.js";

describe("candles after a fresh start", () => {
  it("are not placed by a removal, which tells nothing of where the channel begins", () => {
    const mirror = new Mirror();
    const minutes = [1, 5, 9].map((minute) => candle(minute));
    connected(mirror, hello("a"), snapshot({ isSettled: true }), ...minutes, ready());
    connected(mirror, hello("b"), snapshot(undefined), ready());
    expect(taken(mirror, candle(8, { type: "removed" }))).toEqual([]);
    expect(taken(mirror, candle(3, { live: true }))).toEqual(["new 3 #0 open live"]);
    expect(taken(mirror, settled)).toEqual(["removed 5 #1 open live", "removed 9 #1 open live"]);
  });

  it("wait for the whole history of a channel that knew nothing at first", () => {
    const mirror = new Mirror();
    const minutes = [1, 2, 3, 4].map((minute) => candle(minute, { live: true }));
    expect(connected(mirror, hello("a"), snapshot(undefined), ready(), ...minutes, settled)).toHaveLength(4);
    expect(connected(mirror, hello("b"), snapshot(undefined), ready(), candle(2), candle(4))).toEqual([
      "removed 3 #1 open live",
    ]);
    expect(taken(mirror, settled)).toEqual([]);
  });

  it("are live once the history has been told, and stay so", () => {
    const mirror = new Mirror();
    const first = connected(
      mirror,
      hello("a"),
      snapshot({ isSettled: false }),
      candle(1),
      ready(),
      candle(2),
    );
    expect(first).toEqual(["new 1 #0 open", "new 2 #0 open"]);
    expect(taken(mirror, settled, candle(3, { live: true }))).toEqual(["new 3 #0 open live"]);
    expect(
      connected(
        mirror,
        hello("b"),
        snapshot({ isSettled: false }),
        candle(3),
        candle(4, { live: true }),
        ready(),
      ),
    ).toEqual(["new 4 #0 open live"]);
  });

  it("that reach further back than what is kept find room beside it", () => {
    const mirror = new Mirror();
    const kept = [10, 11, 12].map((minute) => candle(minute));
    connected(mirror, hello("a", { keep: 3 }), snapshot({ isSettled: true }), ...kept, ready());
    const back = [6, 7, 8].map((minute) => candle(minute));
    expect(
      connected(mirror, hello("b", { keep: 3 }), snapshot({ isSettled: false }), ...back, ready()),
    ).toHaveLength(3);
    expect(taken(mirror, candle(6, { status: "closed", live: true }))).toEqual(["updated 6 #1 closed live"]);
  });

  it("that the subscriber has and nobody knows any more are not told again", () => {
    const mirror = new Mirror();
    const told = [1, 2, 3].map((minute) => candle(minute));
    connected(mirror, hello("a", { keep: 1 }), snapshot({ isSettled: true }), ready(), ...told);
    const again = connected(
      mirror,
      hello("b", { keep: 5 }),
      snapshot({ isSettled: true }),
      ...told,
      candle(4, { live: true }),
      ready(),
    );
    expect(again).toEqual(["new 4 #0 open live"]);
  });

  it("that went by in two histories are gone in the order of the candles", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot({ isSettled: true }), candle(2), candle(3), ready());
    connected(mirror, hello("b"), snapshot({ isSettled: false }), candle(1), ready());
    connected(mirror, hello("c"), snapshot({ isSettled: false }), candle(0), ready());
    expect(taken(mirror, candle(2))).toEqual(["removed 1 #1 open live"]);
  });

  it("belong to the channel that has told of them last", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot({ isSettled: true }), candle(1, { status: "closed" }), ready());
    connected(
      mirror,
      hello("b"),
      snapshot({ isSettled: true }),
      candle(1, { status: "closed", life: 7 }),
      ready(),
    );
    expect(taken(mirror, candle(1, { status: "closed", life: 8, live: true }))).toEqual([
      "removed 1 #1 closed live",
      "new 1 #0 closed live",
    ]);
    expect(connected(mirror, hello("b"), snapshot({ isSettled: true }), ready())).toEqual([
      "removed 1 #1 closed live",
    ]);
  });

  it("are gone where the channel had some and has none", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot({ isSettled: true }), candle(1), ready());
    expect(connected(mirror, hello("b"), snapshot({ isSettled: false }), ready())).toEqual([]);
    expect(connected(mirror, hello("c"), snapshot({ isSettled: true }), ready())).toEqual([
      "removed 1 #1 open live",
    ]);
  });
});

describe("wallets after a fresh start", () => {
  const first = [hello("a"), snapshot(undefined, [{ isSettled: true }]), wallet("x"), wallet("y"), ready()];
  const added = (address: string) =>
    message("sniper", {
      type: "wallet-added",
      wallet: walletOf(address),
      pairAddress: "pair",
      initial: true,
      observedAt: 10,
    });

  it("wait for the first report to be told to its end", () => {
    const mirror = new Mirror();
    expect(connected(mirror, ...first)).toEqual(["wallet-added x initial", "wallet-added y initial"]);
    expect(
      connected(mirror, hello("b"), snapshot(undefined, [{ isSettled: false }]), wallet("x"), ready()),
    ).toEqual([]);
    expect(taken(mirror, message("settled", { pairAddress: "pair", observedAt: 9 }))).toEqual([
      "wallet-removed y",
    ]);
  });

  it("that have come meanwhile are news, whatever report they come in", () => {
    const mirror = new Mirror();
    connected(mirror, ...first);
    expect(connected(mirror, hello("b"), snapshot(undefined), ready(), added("x"), added("z"))).toEqual([
      "wallet-added z",
    ]);
  });
});

describe("what comes twice, as the rest of a batch that was cut off", () => {
  it("is told once", () => {
    const mirror = new Mirror();
    const common = { pairAddress: "pair", initial: false, observedAt: 10 };
    const transaction = (hash: string) => ({
      transactionHash: hash,
      transactionTimestamp: 1,
      blocksAfterCreation: 0,
    });
    const [snipe, sale] = [transaction("1"), transaction("2")];
    const previous = { ...walletOf("x"), snipedTransactions: [snipe], sellTransactions: [sale] };
    const changed = { ...previous, currentBalance: 5 };
    const of = { ...common, walletAddress: "x" };
    const messages = [
      { ...common, type: "wallet-added", wallet: walletOf("x") },
      { ...of, type: "sniped", transaction: snipe },
      { ...of, type: "sold", transaction: sale },
      { ...common, type: "wallet-updated", wallet: changed, previous, changed: ["currentBalance"] },
      { ...of, type: "transaction-removed", side: "sell", transaction: sale },
      { ...common, type: "wallet-removed", previous: changed },
    ].map((event) => message("sniper", event));
    connected(mirror, hello("a"), snapshot(undefined), ready());
    for (const one of messages) {
      expect(taken(mirror, one)).toHaveLength(1);
      expect(taken(mirror, one)).toEqual([]);
    }
    expect(taken(mirror, candle(1), candle(1))).toHaveLength(1);
    const removed = candle(1, { type: "removed" });
    expect(taken(mirror, removed, removed)).toEqual(["removed 1 #1 open"]);
  });
});

describe("a connection", () => {
  it("goes on after the last id, not after what came of the next batch", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot({ isSettled: true }), ready("a-1"));
    expect(mirror.lastEventId).toBe("a-1");
    taken(mirror, candle(1), candle(2));
    expect(mirror.lastEventId).toBe("a-1");
    expect(
      connected(
        mirror,
        hello("a", { isResumed: true }),
        candle(1),
        candle(2),
        candle(3, { live: true }),
        ready("a-4"),
      ),
    ).toEqual(["new 3 #0 open live"]);
    expect(mirror.lastEventId).toBe("a-4");
  });

  it("leaves nothing of a snapshot that was cut off", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot({ isSettled: true }), candle(1), ready("a-1"));
    expect(connected(mirror, hello("b"), snapshot({ isSettled: true }), candle(2))).toEqual([]);
    expect(connected(mirror, hello("a", { isResumed: true }), ready("a-1"))).toEqual([]);
    expect(taken(mirror, candle(1, { price: 2, live: true }))).toEqual(["updated 1 #1 open live"]);
  });

  it("tells its status when it is ready, and one that it had before not at all", () => {
    const mirror = new Mirror();
    const status = (state: string) => message("status", { state, failures: 0 });
    const opening = [hello("a", { hasStatus: true }), snapshot(undefined)];
    expect(connected(mirror, ...opening, status("live"))).toEqual([]);
    expect(taken(mirror, ready("a-1"), status("live"), status("starting"))).toEqual(["live", "starting"]);
    expect(taken(mirror, snapshot(undefined), status("live"))).toEqual([]);
    expect(taken(mirror, ready("a-2"))).toEqual(["live"]);
    expect(isFeedStatus(mirror.lose(new NetworkError("lost"), 1))).toBe(true);
    expect(connected(mirror, hello("b", { hasStatus: true }), snapshot(undefined), ready("b-1"))).toEqual([
      "starting",
    ]);
    mirror.lose(new NetworkError("lost"), 1);
    expect(connected(mirror, hello("c"), snapshot(undefined), ready("c-1"))).toEqual(["live"]);
    expect(connected(mirror, hello("c", { isResumed: true }), ready("c-1"))).toEqual([]);
  });

  it("tells of every difference between two statuses, and of no other", () => {
    const mirror = new Mirror();
    connected(mirror, hello("a"), snapshot(undefined), ready());
    const lastError = { name: "HttpError", message: "no", status: 500 };
    const statuses = [
      { state: "live", failures: 0 },
      { state: "live", failures: 0, coveredFrom: 1 },
      { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 2 },
      { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 3 },
      { state: "stalled", failures: 1, coveredFrom: 1, coveredUntil: 3, lastError },
      { state: "stalled", failures: 2, coveredFrom: 1, coveredUntil: 3, lastError },
      {
        state: "stalled",
        failures: 2,
        coveredFrom: 1,
        coveredUntil: 3,
        lastError: { ...lastError, message: "yes" },
      },
      { state: "stalled", failures: 2, lastError: { name: "TimeoutError", message: "yes", timeout: 5 } },
    ];
    const twice = statuses.flatMap((status) => [message("status", status), message("status", status)]);
    expect(taken(mirror, ...twice)).toEqual(statuses.map(({ state }) => state));
  });
});
