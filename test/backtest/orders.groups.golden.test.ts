import { describe, expect, it } from "vitest";
import { cents, Desk, FREE, MINUTE, orderOf, type Prices } from "./bars.js";

/** Open, high, low, close. */
const CALM: Prices = [100, 101, 99, 100];

const all = { size: { position: 1 } };

describe("a bracket", () => {
  const bracket = [
    orderOf("buy", { id: "entry", type: "limit", limit: 98, size: { quantity: 10 } }),
    orderOf("sell", { id: "stop", type: "stop", stop: 95, after: "entry", group: "exit", ...all }),
    orderOf("sell", {
      id: "target",
      type: "take-profit",
      target: 105,
      after: "entry",
      group: "exit",
      ...all,
    }),
  ];

  it("waits for its entry, and ends with one of its exits", () => {
    const desk = new Desk().place(...bracket).trade([100, 106, 99, 100]);
    expect(desk.deals).toEqual([]);
    desk.trade([100, 101, 97, 99], [99, 106, 98, 104]);
    expect(desk.deals).toEqual(["buy 10 at 98 in 1", "sell 10 at 105 in 2"]);
    expect(desk.gone).toEqual(["stop: group"]);
    expect(desk.broker.cash).toBe(10_070);
    expect(desk.broker.orders).toEqual([]);
  });

  it("is stopped where a candle holds both stop and target", () => {
    const desk = new Desk().place(...bracket).trade([100, 101, 97, 99], [99, 110, 90, 108]);
    expect(desk.deals).toEqual(["buy 10 at 98 in 0", "sell 10 at 95 in 1"]);
    expect(desk.gone).toEqual(["target: group"]);
    const bright = new Desk({ ...FREE, insideBar: "optimistic" }).place(...bracket);
    expect(bright.trade([100, 101, 97, 99], [99, 110, 90, 108]).deals[1]).toBe("sell 10 at 105 in 1");
  });

  it("is entered and stopped inside one candle", () => {
    const desk = new Desk().place(...bracket).trade([100, 110, 90, 108]);
    expect(desk.deals).toEqual(["buy 10 at 98 in 0", "sell 10 at 95 in 0"]);
  });

  it("takes no target that came before its entry", () => {
    // Both ways reach 98; that the price was at 106 after it, nobody knows.
    const desk = new Desk().place(...bracket).trade([100, 106, 97, 99]);
    expect(desk.deals).toEqual(["buy 10 at 98 in 0"]);
  });

  it("turns at its entry: a breakout is stopped before the high where the candle has such a low", () => {
    const desk = new Desk().place(
      orderOf("buy", { id: "entry", type: "stop", stop: 103, size: { quantity: 10 } }),
      orderOf("sell", { type: "stop", stop: 97, after: "entry", group: "exit", ...all }),
      orderOf("sell", { type: "take-profit", target: 104, after: "entry", group: "exit", ...all }),
    );
    expect(desk.trade([100, 105, 95, 102]).deals).toEqual(["buy 10 at 103 in 0", "sell 10 at 97 in 0"]);
  });

  it("goes with its entry", () => {
    const desk = new Desk().place(...bracket, { type: "cancel", id: "entry" }).trade(CALM);
    expect(desk.gone).toEqual(["entry: asked", "stop: after", "target: after"]);
    const refused = new Desk().place(
      orderOf("buy", { id: "entry", type: "market", size: { quantity: 1_000 } }),
      ...bracket.slice(1),
    );
    refused.trade(CALM);
    expect(refused.refused).toEqual(["insufficient-funds"]);
    expect(refused.gone).toEqual(["stop: after", "target: after"]);
  });

  it("leaves no exit behind for the next position", () => {
    const desk = new Desk().place(...bracket).trade([100, 101, 97, 99]);
    desk.place(orderOf("sell", { type: "market", ...all })).trade(CALM);
    expect(desk.gone).toEqual(["stop: position", "target: position"]);
  });

  it("protects a part of its entry, and calls off the rest with it", () => {
    const desk = new Desk({ ...FREE, maxVolumeShare: 0.1 }).place(...bracket);
    // A tenth of 4,900 buys 5 at 98; then the stop sells them, and the rest is not bought.
    desk.trade([100, 101, 97, 99, 4_900], [98.5, 99, 94, 94, 100_000], CALM, CALM);
    expect(desk.deals).toEqual(["buy 5 at 98 in 0", "buy 5 at 98 in 1", "sell 10 at 95 in 1"]);
    const early = new Desk({ ...FREE, maxVolumeShare: 0.1 }).place(...bracket);
    early.trade([100, 101, 97, 99, 4_900], [94, 94.5, 93, 94, 4_700], CALM);
    // At the open of 94 the entry takes all that the candle has; the stop takes what the next one has.
    expect(early.deals).toEqual(["buy 5 at 98 in 0", "buy 5 at 94 in 1", "sell 10 at 100 in 2"]);
  });
});

describe("one cancels the other", () => {
  it("with the first fill of an entry", () => {
    const desk = new Desk().place(
      orderOf("buy", { id: "low", type: "limit", limit: 95, group: "entry" }),
      orderOf("buy", { id: "high", type: "stop", stop: 105, group: "entry" }),
    );
    desk.trade([100, 106, 99, 104]);
    expect(desk.deals).toEqual(["buy 1 at 105 in 0"]);
    expect(desk.gone).toEqual(["low: group"]);
    desk.trade([100, 100, 90, 91]);
    expect(desk.fills).toHaveLength(1);
  });
});

describe("time in force", () => {
  it("ends at an instant, whole candles only", () => {
    const order = orderOf("buy", {
      id: "it",
      type: "limit",
      limit: 95,
      timeInForce: { until: 2 * MINUTE + 1 },
    });
    expect(new Desk().place(order).trade(CALM, [99, 99, 94, 95]).deals).toEqual(["buy 1 at 95 in 1"]);
    const late = new Desk().place(order).trade(CALM, CALM, [99, 99, 94, 95]);
    expect(late.deals).toEqual([]);
    expect(late.gone).toEqual(["it: expired"]);
  });

  it("ends at once", () => {
    const ioc = orderOf("buy", { id: "it", type: "limit", limit: 99.5, timeInForce: "ioc" });
    const desk = new Desk().place(ioc).trade(CALM);
    expect(desk.deals).toEqual([]);
    expect(desk.gone).toEqual(["it: immediate"]);
  });

  it("fills all or nothing, or what there is", () => {
    const size = { quantity: 10 };
    const capped = { ...FREE, maxVolumeShare: 0.5 };
    const thin: Prices = [100, 101, 99, 100, 1_000];
    const ioc = new Desk(capped).place(
      orderOf("buy", { id: "it", type: "market", timeInForce: "ioc", size }),
    );
    expect(ioc.trade(thin, thin).deals).toEqual(["buy 5 at 100 in 0"]);
    expect(ioc.gone).toEqual(["it: immediate"]);
    const fok = new Desk(capped).place(
      orderOf("buy", { id: "it", type: "market", timeInForce: "fok", size }),
    );
    expect(fok.trade(thin, thin).deals).toEqual([]);
    expect(fok.gone).toEqual(["it: immediate"]);
  });

  it("lets a candle fill that has begun when an order is taken back", () => {
    const desk = new Desk({ ...FREE, latency: 1_000 }).place(
      orderOf("buy", { id: "it", type: "limit", limit: 95 }),
    );
    desk.trade(CALM).place({ type: "cancel", id: "it" });
    expect(desk.trade([99, 99, 94, 95]).deals).toEqual(["buy 1 at 95 in 1"]);
  });
});

describe("a cap by volume", () => {
  it("spreads an order over candles, and slips by its share of them", () => {
    const options = { ...FREE, maxVolumeShare: 0.5, slippage: { impact: 0.1 } };
    const desk = new Desk(options).place(orderOf("buy", { type: "market", size: { quantity: 8 } }));
    desk.trade([100, 100, 100, 100, 1_000], [100, 100, 100, 100, 3_000]);
    // Half of 1,000 is 5 tokens: 0.1 × 0.5² = 2.5 %. Then 3 of 30: 0.1 × 0.1² = 0.1 %.
    expect(desk.deals).toEqual(["buy 5 at 102.5 in 0", "buy 3 at 100.1 in 1"]);
    expect(cents(desk.broker.cash)).toBe(10_000 - 512.5 - 300.3);
  });

  it("is shared by all orders of a candle", () => {
    const desk = new Desk({ ...FREE, maxVolumeShare: 1 }).place(
      orderOf("buy", { type: "market", size: { quantity: 6 } }),
      orderOf("buy", { type: "market", size: { quantity: 6 } }),
    );
    desk.trade([100, 100, 100, 100, 1_000]);
    expect(desk.deals).toEqual(["buy 6 at 100 in 0", "buy 4 at 100 in 0"]);
  });
});
