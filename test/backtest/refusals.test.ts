import { InvalidInputError } from "pairstream";
import { describe, expect, it } from "vitest";
import type { Order } from "../../src/backtest/order.js";
import { checkBroker } from "../../src/backtest/rules.js";
import { Desk, FREE, orderOf, type Prices, series } from "./bars.js";

const CALM: Prices = [100, 101, 99, 100];
const market = orderOf("buy", { type: "market" });

describe("an order that cannot be", () => {
  it.each<[string, object, RegExp]>([
    ["a limit of NaN", { type: "limit", limit: Number.NaN }, /limit is NaN, not a finite price/],
    ["a limit of infinity", { type: "limit", limit: Number.POSITIVE_INFINITY }, /limit is Infinity/],
    ["a stop of 0", { type: "stop", stop: 0 }, /stop is 0/],
    ["a stop-limit without a limit", { type: "stop-limit", stop: 1 }, /limit is undefined/],
    ["a target that is text", { type: "take-profit", target: "1" }, /target is "1"/],
    ["a trail of nothing", { type: "trailing-stop", trail: {} }, /trail/],
    ["a trail of all", { type: "trailing-stop", trail: { share: 1 } }, /trail/],
    ["a trail of both", { type: "trailing-stop", trail: { share: 0.1, amount: 1 } }, /trail/],
    ["no type", { type: "buy" }, /type is "buy"/],
    ["a name of every object", { type: "toString" }, /type/],
    ["no side", { type: "market", side: "long" }, /side is "long"/],
    ["no size", { type: "market", size: undefined }, /size/],
    ["two sizes", { type: "market", size: { quantity: 1, amount: 1 } }, /size/],
    ["a size below 0", { type: "market", size: { quantity: -1 } }, /size.quantity is -1/],
    ["more than all", { type: "market", size: { equity: 1.1 } }, /size.equity is 1.1/],
    ["a risk without a stop", { type: "market", size: { risk: 0.1 } }, /size/],
    [
      "a risk with a stop of NaN",
      { type: "market", size: { risk: 0.1, stop: Number.NaN } },
      /size.stop is NaN/,
    ],
    ["a size of nothing known", { type: "market", size: { lots: 1 } }, /size/],
    ["an empty id", { type: "market", id: "" }, /id is ""/],
    ["a group that is no text", { type: "market", group: 1 }, /group is 1/],
    ["a flag that is none", { type: "market", reduceOnly: "yes" }, /reduceOnly is "yes"/],
    ["a stop that is immediate", { type: "stop", stop: 1, timeInForce: "ioc" }, /a stop order cannot be ioc/],
    ["a time of NaN", { type: "market", timeInForce: { until: Number.NaN } }, /timeInForce/],
    ["no series", { type: "market", series: undefined }, /series/],
    ["a misspelt field", { type: "market", onlyIfFlatt: true }, /did you mean onlyIfFlat\?/],
    ["a price that its type does not have", { type: "market", limit: 1 }, /limit is not/],
    ["a trail of another type", { type: "stop", stop: 1, trail: { share: 0.1 } }, /trail is not/],
  ])("is refused: %s", (_, wrong, message) => {
    const desk = new Desk().place({ ...market, ...wrong } as Order).trade(CALM);
    expect(desk.refused).toEqual(["invalid"]);
    expect(desk.rejections[0]!.message).toMatch(message);
    expect(desk.fills).toEqual([]);
  });

  it.each([undefined, null, "buy", 1])("is refused, even if it is %j", (value) => {
    expect(new Desk().place(value as never).refused).toEqual(["invalid"]);
  });

  it("is refused for what it names", () => {
    const desk = new Desk().place(
      { ...market, series: { ...series, timeframe: "1h" } },
      { type: "cancel", id: "a" },
    );
    desk.place({ ...market, after: "a" }, { ...market, id: "a" }, { ...market, id: "a" });
    expect(desk.refused).toEqual(["unknown-series", "unknown-order", "unknown-order", "duplicate-id"]);
  });

  it("is refused as it should be filled", () => {
    const sell = orderOf("sell", { type: "market" });
    expect(new Desk().place(sell).trade(CALM).refused).toEqual(["no-position"]);
    expect(new Desk().place({ ...market, size: { quantity: 1_000 } }).trade(CALM).refused).toEqual([
      "insufficient-funds",
    ]);
    expect(new Desk().place({ ...market, size: { position: 1 } }).trade(CALM).refused).toEqual([
      "no-position",
    ]);
    const costly = new Desk({ ...FREE, fees: { fixed: 10 } }).place({ ...market, size: { amount: 10 } });
    expect(costly.trade(CALM).refused).toEqual(["insufficient-funds"]);
    expect(new Desk().place(market).trade([0, 1, 0, 1]).refused).toEqual(["no-price"]);
    const tiny = new Desk().place({ ...market, size: { equity: 1 } }).trade([5e-324, 1, 0, 1]);
    expect(tiny.refused).toEqual(["no-price"]);
    const short = new Desk({ ...FREE, short: { borrow: 0 } });
    expect(
      short.place(orderOf("sell", { type: "market", size: { quantity: 101 } })).trade(CALM).refused,
    ).toEqual(["insufficient-funds"]);
  });

  it("is refused where it was decided on what came late", () => {
    const { broker } = new Desk();
    expect(broker.place(market, 0, true)).toMatchObject([{ rejection: { reason: "late", order: market } }]);
    expect(broker.place({ type: "cancel", id: "a" }, 0, true)).toMatchObject([
      { rejection: { reason: "late" } },
    ]);
    expect(broker.orders).toEqual([]);
  });
});

describe("a broker's options", () => {
  it.each<[object, string]>([
    [{ cash: 0 }, "broker.cash"],
    [{ cash: Number.NaN }, "broker.cash"],
    [{ fees: { taker: 1 } }, "broker.fees.taker"],
    [{ fees: { maker: -0.1 } }, "broker.fees.maker"],
    [{ fees: { fixed: Number.POSITIVE_INFINITY } }, "broker.fees.fixed"],
    [{ fees: { taken: 1 } }, "broker.fees.taken"],
    [{ slippage: {} }, "broker.slippage"],
    [{ slippage: { share: 1 } }, "broker.slippage.share"],
    [{ slippage: { share: 0.1, amount: 1 } }, "broker.slippage"],
    [{ slippage: { impact: 0.1 } }, "broker.slippage.impact"],
    [{ maxVolumeShare: 0 }, "broker.maxVolumeShare"],
    [{ maxVolumeShare: 1.5 }, "broker.maxVolumeShare"],
    [{ latency: -1 }, "broker.latency"],
    [{ insideBar: "best" }, "broker.insideBar"],
    [{ within: "7min" }, "broker.within"],
    [{ short: {} }, "broker.short.borrow"],
    [{ short: { borrow: 0, lend: 1 } }, "broker.short.lend"],
    [{ comission: 1 }, "broker.comission"],
  ])("%j is refused by name", (options, parameter) => {
    expect(() => checkBroker(options)).toThrow(InvalidInputError);
    expect(() => checkBroker(options)).toThrow(expect.objectContaining({ parameter }));
  });
});
