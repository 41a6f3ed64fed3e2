import { ContractError } from "pairstream";
import { describe, expect, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { Gateway, messagesIn, names, open } from "./gateway.js";
import { eventOf } from "./told-market.js";

describe("a receiver that does not read", () => {
  it("has no more of a large state waiting for it than of anything", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 1_000; minute += 1) gateway.candles.next(eventOf("new", minute));
    const reading = open(gateway);
    gateway.channel.close();
    await reading.until("end");
    expect(reading.text.length).toBeGreaterThan(64 * 1_024);
    expect(reading.text.length).toBeLessThan(90 * 1_024);
  });

  it("is sent little, and then the state as it is by then", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 1));
    const reading = open(gateway);
    for (let revision = 1; revision <= 20_000; revision += 1) {
      gateway.candles.next(eventOf("updated", 1, { price: revision + 1, revision }));
    }
    gateway.candles.next(eventOf("new", 2));
    const messages: ReturnType<typeof messagesIn> = [];
    while (messages.at(-1)?.data.candle?.timestamp !== 2 * 60_000) {
      messages.push(...messagesIn(await reading.next()));
    }
    expect(reading.text.length).toBeLessThan(100_000);
    expect(names(messages.slice(-2))).toEqual(["candle", "candle"]);
    expect(messages.at(-2)!.data.candle).toEqual(minuteCandle(1, 20_001));
    gateway.candles.next(eventOf("updated", 2, { price: 3, revision: 1 }));
    expect(messagesIn(await reading.next())).toMatchObject([
      { name: "candle", data: { candle: minuteCandle(2, 3) } },
    ]);
  });

  it("gets one change a candle, and the end of its last life before it", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 0));
    const reading = open(gateway);
    await reading.until("ready");
    // The first fills what may wait; the rest gathers.
    const blob = new ContractError([], "x".repeat(70_000));
    gateway.status.next({ state: "stalled", failures: 1, lastError: blob });
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    gateway.candles.next(eventOf("updated", 2, { status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 2, { status: "final", revision: 2 }));
    gateway.candles.next(eventOf("removed", 3, { revision: 1 }));
    gateway.candles.next(eventOf("removed", 0, { revision: 1 }));
    gateway.candles.next(eventOf("new", 0, { price: 9 }));
    gateway.status.next({ state: "live", failures: 0 });
    await reading.until("status");
    const rest = await reading.until("status");
    expect(rest.map(({ data }) => [(data.candle?.timestamp ?? 0) / 60_000, data.isRemoved ?? false])).toEqual(
      [
        [0, true],
        [0, false],
        [1, false],
        [2, false],
        [3, true],
        [0, false],
      ],
    );
    expect(rest[3]!.data).toMatchObject({ status: "final", revision: 2 });
    expect(rest.map(({ id }) => id !== undefined)).toEqual([...Array(5).fill(false), true]);
  });

  it("holds up nobody else", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 0));
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
