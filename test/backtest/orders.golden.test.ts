import { describe, expect, it } from "vitest";
import { barOf, cents, Desk, FREE, MINUTE, orderOf, type Prices, series } from "./bars.js";

/** Open, high, low, close. */
const CALM: Prices = [100, 101, 99, 100];

const holding = (options = FREE) =>
  new Desk(options)
    .place(orderOf("buy", { id: "entry", type: "market", size: { quantity: 10 } }))
    .trade(CALM);

const SHORTS = { ...FREE, short: { borrow: 0 } };

const all = { size: { position: 1 } };

describe("a market order", () => {
  it("is filled at the next open, gaps included", () => {
    const desk = new Desk()
      .trade(CALM)
      .place(orderOf("buy", { type: "market" }))
      .trade([130, 131, 129, 130]);
    expect(desk.deals).toEqual(["buy 1 at 130 in 1"]);
    expect(desk.broker.cash).toBe(9_870);
    expect(desk.fills[0]).toMatchObject({ reportedAt: 2 * MINUTE, quote: 130, liquidity: "taker", fee: 0 });
  });

  it("pays slippage and the taker's fee, to the cent", () => {
    const options = { cash: 10_000, fees: { taker: 0.01, fixed: 2 }, slippage: { share: 0.02 } };
    const desk = new Desk(options)
      .place(orderOf("buy", { type: "market", size: { quantity: 10 } }))
      .trade(CALM);
    // 100 + 2 % = 102; 1,020 and 1 % of it = 10.20, and 2.
    expect(desk.fills[0]).toMatchObject({ quote: 100, price: 102, quantity: 10, liquidity: "taker" });
    expect(cents(desk.fills[0]!.fee)).toBe(12.2);
    expect(cents(desk.fills[0]!.slippage)).toBe(20);
    expect(cents(desk.broker.cash)).toBe(8_967.8);
    desk.place(orderOf("sell", { type: "market", ...all })).trade([110, 110, 110, 110]);
    // 110 − 2 % = 107.80; 1,078 less 10.78 and 2.
    expect(cents(desk.broker.cash)).toBe(10_033.02);
  });

  it("is not filled by a candle that began before it was known", () => {
    const desk = new Desk({ ...FREE, latency: 1 }).trade(CALM).place(orderOf("buy", { type: "market" }));
    expect(desk.trade([90, 90, 90, 90]).deals).toEqual([]);
    expect(desk.trade([80, 80, 80, 80]).deals).toEqual(["buy 1 at 80 in 2"]);
  });
});

describe("a limit order", () => {
  it("is filled at its price where that is reached, as a maker, without slippage", () => {
    const desk = new Desk({ ...FREE, fees: { maker: 0.001, taker: 0.5 }, slippage: { share: 0.1 } });
    desk.place(orderOf("buy", { type: "limit", limit: 95 })).trade(CALM, [99, 100, 95, 98]);
    expect(desk.deals).toEqual(["buy 1 at 95 in 1"]);
    expect(desk.fills[0]).toMatchObject({ liquidity: "maker", fee: 0.095, slippage: 0 });
  });

  it("is filled at the open where that is better", () => {
    expect(
      new Desk().place(orderOf("buy", { type: "limit", limit: 95 })).trade(CALM, [90, 92, 89, 91]).deals,
    ).toEqual(["buy 1 at 90 in 1"]);
    expect(
      holding()
        .place(orderOf("sell", { type: "limit", limit: 105 }))
        .trade([120, 121, 119, 120]).deals,
    ).toEqual(["buy 10 at 100 in 0", "sell 1 at 120 in 1"]);
  });

  it("takes where it is better than the first open, and slips no further than its limit", () => {
    const desk = new Desk({ ...FREE, fees: { maker: 0, taker: 0.01 }, slippage: { share: 0.1 } });
    desk.place(orderOf("buy", { type: "limit", limit: 104 })).trade(CALM);
    expect(desk.fills[0]).toMatchObject({
      quote: 100,
      price: 104,
      liquidity: "taker",
      fee: 1.04,
      slippage: 4,
    });
  });

  it("waits where its price is not reached", () => {
    expect(new Desk().place(orderOf("buy", { type: "limit", limit: 98.99 })).trade(CALM, CALM).deals).toEqual(
      [],
    );
  });
});

describe("a stop", () => {
  it("is filled at its price, and at the open where that is worse", () => {
    const stop = orderOf("sell", { type: "stop", stop: 95, ...all });
    expect(holding().place(stop).trade([99, 100, 90, 97]).deals[1]).toBe("sell 10 at 95 in 1");
    expect(holding().place(stop).trade([80, 99, 70, 97]).deals[1]).toBe("sell 10 at 80 in 1");
  });

  it("slips, as the market order that it becomes", () => {
    const desk = holding({ ...FREE, slippage: { amount: 0.5 } });
    desk.place(orderOf("sell", { type: "stop", stop: 95, ...all })).trade([99, 100, 90, 97]);
    expect(desk.fills[1]).toMatchObject({ quote: 95, price: 94.5, slippage: 5, liquidity: "taker" });
  });

  it("buys above", () => {
    const breakout = orderOf("buy", { type: "stop", stop: 105 });
    expect(new Desk().place(breakout).trade(CALM, [104, 106, 103, 104]).deals).toEqual(["buy 1 at 105 in 1"]);
    expect(new Desk().place(breakout).trade(CALM, [111, 112, 110, 111]).deals).toEqual(["buy 1 at 111 in 1"]);
  });

  it("is filled in a market without a way out only where that opens again", () => {
    // Limit-down: three candles of one price below the stop, the first of which is the next to trade.
    const down: Prices = [60, 60, 60, 60];
    const desk = holding()
      .place(orderOf("sell", { type: "stop", stop: 95, ...all }))
      .trade(down, down);
    expect(desk.deals[1]).toBe("sell 10 at 60 in 1");
    // Limit-up, without any value traded: a cap by volume leaves nothing to fill.
    const up = holding({ ...FREE, maxVolumeShare: 1 }).place(
      orderOf("sell", { type: "stop", stop: 95, ...all }),
    );
    expect(up.trade([60, 60, 60, 60, 0], [50, 55, 50, 52, 10_000]).deals[1]).toBe("sell 10 at 50 in 2");
  });
});

describe("a stop-limit order", () => {
  const order = orderOf("sell", { type: "stop-limit", stop: 95, limit: 93, ...all });

  it("sells at its stop, no lower than its limit", () => {
    expect(holding().place(order).trade([99, 100, 90, 97]).deals[1]).toBe("sell 10 at 95 in 1");
  });

  it("waits where a gap has gone past its limit, and sells there later", () => {
    const desk = holding().place(order).trade([80, 92, 75, 90]);
    expect(desk.deals).toHaveLength(1);
    expect(desk.trade([90, 94, 90, 92]).deals[1]).toBe("sell 10 at 93 in 2");
    expect(desk.fills[1]!.liquidity).toBe("maker");
  });
});

describe("a trailing stop", () => {
  it("follows the best price, and no way back", () => {
    const desk = holding().place(orderOf("sell", { type: "trailing-stop", trail: { amount: 5 }, ...all }));
    desk.trade([101, 104, 100, 103], [104, 110, 106, 108], [107, 108, 106, 107]);
    expect(desk.deals).toHaveLength(1);
    // The best was 110, so that it stands at 105.
    expect(desk.trade([106, 106.5, 104, 104]).deals[1]).toBe("sell 10 at 105 in 4");
  });

  it("takes a share of the best price", () => {
    const desk = holding().place(orderOf("sell", { type: "trailing-stop", trail: { share: 0.1 }, ...all }));
    expect(desk.trade([100, 120, 112, 118], [115, 115, 100, 102]).deals[1]).toBe("sell 10 at 108 in 2");
    const gap = holding().place(orderOf("sell", { type: "trailing-stop", trail: { share: 0.1 }, ...all }));
    expect(gap.trade([100, 120, 112, 118], [95, 99, 90, 92]).deals[1]).toBe("sell 10 at 95 in 2");
  });

  it("is pessimistic: the low comes before the high that would have raised it, or after, whichever is worse", () => {
    const trail = orderOf("sell", { type: "trailing-stop", trail: { amount: 5 }, ...all });
    // Low first: sold at 95. High first: the stop is raised to 115, and sold there.
    const bar: Prices = [100, 120, 94, 118];
    expect(holding().place(trail).trade(bar).deals[1]).toBe("sell 10 at 95 in 1");
    expect(
      holding({ ...FREE, insideBar: "high-first" })
        .place(trail)
        .trade(bar).deals[1],
    ).toBe("sell 10 at 115 in 1");
  });

  it("buys back above the lowest", () => {
    const desk = new Desk(SHORTS)
      .place(orderOf("sell", { type: "market", size: { quantity: 10 } }))
      .trade(CALM);
    desk.place(orderOf("buy", { type: "trailing-stop", trail: { amount: 5 }, ...all }));
    expect(desk.trade([94, 94.5, 90, 91], [92, 97, 91, 96]).deals[1]).toBe("buy 10 at 95 in 2");
  });
});

describe("a take-profit", () => {
  it("sells at its target, and at the open where that is better", () => {
    const target = orderOf("sell", { type: "take-profit", target: 110, ...all });
    expect(holding().place(target).trade([105, 111, 104, 106]).deals[1]).toBe("sell 10 at 110 in 1");
    expect(holding().place(target).trade([115, 116, 114, 115]).deals[1]).toBe("sell 10 at 115 in 1");
  });
});

describe("a size", () => {
  const options = { cash: 10_000, fees: { taker: 0.01, fixed: 0 }, slippage: { share: 0 } };
  const bought = (size: object, more = options) => {
    const desk = new Desk(more).place(orderOf("buy", { type: "market", size: size as { quantity: number } }));
    return desk.trade(CALM);
  };

  it("of an amount holds the costs", () => {
    // 1,010 / (100 × 1.01).
    expect(bought({ amount: 1_010 }).deals).toEqual(["buy 10 at 100 in 0"]);
    expect(cents(bought({ amount: 1_010 }).broker.cash)).toBe(8_990);
    expect(bought({ amount: 1_012 }, { ...options, fees: { taker: 0.01, fixed: 2 } }).deals).toEqual([
      "buy 10 at 100 in 0",
    ]);
  });

  it("of all equity leaves nothing, long or short", () => {
    expect(cents(bought({ equity: 1 }).broker.cash)).toBe(0);
    const desk = new Desk({ ...options, short: { borrow: 0 } });
    desk.place(orderOf("sell", { type: "market", size: { equity: 1 } })).trade(CALM);
    // 10,000 / 101 tokens: worth, without a sign, what is left after the fee.
    expect(desk.fills[0]!.quantity).toBeCloseTo(10_000 / 101, 9);
    expect(desk.broker.equity).toBeCloseTo((10_000 / 101) * 100, 6);
    expect(desk.rejections).toEqual([]);
  });

  it("by risk loses that share at its stop", () => {
    // 1 % of 10,000 over 5 a token.
    expect(bought({ risk: 0.01, stop: 95 }).deals).toEqual(["buy 20 at 100 in 0"]);
    // A stop so near asks for 1,000 tokens: it gets what the account can pay.
    expect(cents(bought({ risk: 0.01, stop: 99.9 }).fills[0]!.quantity)).toBe(99.01);
    expect(bought({ risk: 0.01, stop: 100 }).refused).toEqual(["wrong-stop"]);
    expect(bought({ risk: 0.01, stop: 105 }).refused).toEqual(["wrong-stop"]);
  });

  it("of a position closes that share of it", () => {
    const desk = holding()
      .place(orderOf("sell", { type: "market", size: { position: 0.25 } }))
      .trade(CALM);
    expect(desk.deals[1]).toBe("sell 2.5 at 100 in 1");
  });

  it("is cut to the position where an order only reduces", () => {
    const desk = holding().place(
      orderOf("sell", { type: "market", size: { quantity: 99 }, reduceOnly: true }),
    );
    expect(desk.trade(CALM).deals[1]).toBe("sell 10 at 100 in 1");
  });
});

describe("a short", () => {
  it("gains as the price falls, and pays to borrow", () => {
    // A year has 525,600 minutes: a minute of 525.6 a year (a share of 52,560 %) costs a tenth of a per cent.
    const desk = new Desk({ ...FREE, short: { borrow: 525.6 } });
    desk.place(orderOf("sell", { type: "market", size: { quantity: 10 } })).trade([100, 101, 99, 100]);
    // 10 × 100 × 0.1 % = 1.
    expect(cents(desk.broker.equity)).toBe(9_999);
    desk.trade([100, 100, 80, 80]);
    // 10 × 80 × 0.1 % = 0.80; 200 gained.
    expect(cents(desk.broker.equity)).toBe(10_198.2);
    desk.place(orderOf("buy", { type: "market", ...all })).trade([80, 80, 80, 80]);
    expect(desk.broker.positions).toEqual([]);
    expect(cents(desk.broker.cash)).toBe(10_197.4);
    expect(cents(desk.broker.borrowed)).toBe(2.6);
    expect(cents(desk.trade(CALM).broker.cash)).toBe(10_197.4);
  });

  it("turns into a long in one order", () => {
    const desk = new Desk(SHORTS)
      .place(orderOf("sell", { type: "market", size: { quantity: 10 } }))
      .trade(CALM);
    desk.place(orderOf("buy", { type: "market", size: { quantity: 30 } })).trade(CALM);
    expect(desk.broker.positions).toMatchObject([{ quantity: 20 }]);
  });

  it("that has eaten the account is closed, and nothing follows", () => {
    const desk = new Desk(SHORTS).place(orderOf("sell", { type: "market", size: { equity: 1 } })).trade(CALM);
    desk.place(orderOf("buy", { id: "take", type: "limit", limit: 50, ...all })).trade([100, 210, 100, 205]);
    expect(desk.fills.at(-1)).toMatchObject({ id: "liquidation", side: "buy", price: 205, quantity: 100 });
    expect(desk.gone).toEqual(["take: ruined"]);
    expect(desk.broker.equity).toBe(-500);
    expect(desk.place(orderOf("buy", { type: "market" })).refused).toEqual(["ruined"]);
  });
});

describe("two pairs", () => {
  it("share one account", () => {
    const other = { ...series, pairAddress: "other" };
    const desk = new Desk(FREE, [series, other]);
    desk.place(orderOf("buy", { type: "market", size: { equity: 0.6 } })).trade(CALM);
    desk.place(orderOf("buy", { type: "market", series: other, size: { equity: 0.5 } }));
    desk.reports.push(...desk.broker.close(barOf(1, [50, 50, 50, 50], other)));
    expect(desk.refused).toEqual(["insufficient-funds"]);
    desk.place(orderOf("buy", { type: "market", series: other, size: { equity: 0.4 } }));
    desk.reports.push(...desk.broker.close(barOf(2, [50, 60, 50, 60], other)));
    expect(desk.broker.cash).toBe(0);
    expect(desk.broker.positions.map(({ quantity }) => quantity)).toEqual([60, 80]);
    expect(desk.broker.equity).toBe(6_000 + 4_800);
  });
});
