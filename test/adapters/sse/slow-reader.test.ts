import { NetworkError } from "pairstream";
import { describe, expect, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { walletOf } from "../../snipers/wallets.js";
import { Gateway, messagesIn, names, open } from "./gateway.js";
import { eventOf } from "./told-market.js";

describe("a receiver that does not read", () => {
  it("has no more of a large state waiting for it than of anything", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5_000; minute += 1) gateway.candles.next(eventOf("new", minute));
    const reading = open(gateway);
    gateway.channel.close();
    await reading.until("end");
    expect(reading.text.length).toBeGreaterThan(64 * 1_024);
    expect(reading.text.length).toBeLessThan(90 * 1_024);
  });

  it("is sent little, and then the state as it is by then", async () => {
    const gateway = new Gateway({ buffer: 10 });
    gateway.candles.next(eventOf("new", 1));
    const reading = open(gateway);
    for (let revision = 1; revision <= 20_000; revision += 1) {
      gateway.candles.next(eventOf("updated", 1, { price: revision + 1, revision }));
    }
    gateway.candles.next(eventOf("new", 2));
    const messages: ReturnType<typeof messagesIn> = [];
    while (messages.at(-1)?.data.candle?.timestamp !== 2 * 60_000 && messages.at(-1)?.name !== "end") {
      messages.push(...messagesIn(await reading.next()));
      if (names(messages).filter((name) => name === "ready").length === 2) break;
    }
    expect(reading.text.length).toBeLessThan(100_000);
    expect(names(messages.slice(-4))).toEqual(["snapshot", "candle", "candle", "ready"]);
    expect(messages.at(-3)!.data.candle).toEqual(minuteCandle(1, 20_001));
    gateway.candles.next(eventOf("updated", 2, { price: 3, revision: 1 }));
    expect(messagesIn(await reading.next())).toMatchObject([
      { name: "candle", data: { candle: minuteCandle(2, 3) } },
    ]);
  });

  it("gets one change a candle and a wallet where the log reaches back to what it has", async () => {
    const gateway = new Gateway();
    const reading = open(gateway);
    await reading.until("ready");
    const blob = "x".repeat(70_000);
    gateway.status.next({ state: "stalled", failures: 1, lastError: new NetworkError("lost") });
    // The first fills what may wait; the rest gathers.
    const event = { pairAddress: "pair", initial: false, observedAt: 1 };
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf(blob) });
    const transaction = { transactionHash: "1", transactionTimestamp: 1, blocksAfterCreation: 0 };
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf("a") });
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf("b") });
    gateway.snipers.next({ ...event, type: "sniped", walletAddress: "b", transaction });
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    gateway.candles.next(eventOf("updated", 2, { status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 2, { status: "final", revision: 2 }));
    gateway.candles.next(eventOf("removed", 3, { revision: 1 }));
    gateway.status.next({ state: "live", failures: 0 });
    await reading.until("sniper");
    const rest = await reading.until("status");
    expect(rest.map(({ name, data }) => [name, data.type ?? data.wallet?.walletAddress ?? ""])).toEqual([
      ["candle", "new"],
      ["candle", "updated"],
      ["candle", "removed"],
      ["sniper", "wallet-added"],
      ["wallet", "b"],
      ["settled", ""],
      ["settled", ""],
      ["status", ""],
    ]);
    expect(rest[1]!.data).toMatchObject({ status: "final", revision: 2 });
    expect(rest[4]!.data.wallet.snipedTransactions).toEqual([transaction]);
    expect(rest.map(({ id }) => id !== undefined)).toEqual([...Array(7).fill(false), true]);
  });

  it("holds up nobody else", async () => {
    const gateway = new Gateway();
    const [idle, busy] = [open(gateway), open(gateway)];
    await busy.until("ready");
    for (let revision = 0; revision < 1_000; revision += 1) {
      gateway.candles.next(eventOf(revision === 0 ? "new" : "updated", 1, { price: revision + 1, revision }));
      const messages = await busy.until("candle");
      expect(messages.find(({ name }) => name === "candle")!.data).toMatchObject({ revision });
    }
    await idle.cancel();
  });
});
