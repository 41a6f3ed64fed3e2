import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Curve, type EquityPoint } from "../../src/backtest/curve.js";
import { type Figure, type Performance, statisticsOf } from "../../src/backtest/statistics.js";
import { type Trade, tradesOf } from "../../src/backtest/trades.js";
import { Desk, FREE, orderOf, type Prices, series } from "./bars.js";

const DAY = 86_400_000;
const START = Date.UTC(2024, 0, 1, 5);

const tradeOf = (profit: number | undefined): Trade => {
  const trade = { series, side: "long", from: 0, quantity: 1, entry: 100, fees: 0, borrowed: 0 } as const;
  return profit === undefined ? trade : { ...trade, to: 1, exit: 100 + profit, profit, gain: profit / 100 };
};
/** One value a day, from the end of the first one on. */
const daily = (values: readonly number[], more: Partial<Performance> = {}): Performance => ({
  from: START,
  cash: 100,
  curve: Curve.of(values.map((equity, at) => ({ at: START + (at + 1) * DAY, equity, isExposed: true }))),
  trades: [],
  fills: [],
  borrowed: 0,
  ...more,
});
const near = (value: number, digits = 9) => ({ value: expect.closeTo(value, digits) });

describe("statistics worked by hand", () => {
  it("of thirty days, ten per cent up and down by turns", () => {
    const values: number[] = [];
    for (let at = 0; at < 30; at += 1) values.push((values.at(-1) ?? 100) * (at % 2 === 0 ? 1.1 : 0.9));
    const told = statisticsOf(daily(values));
    // The mean is 0; the squares are 30 × 0.01, by 29; the losses 15 × 0.01, by 30.
    expect(told.volatility).toEqual(near(Math.sqrt(0.3 / 29) * Math.sqrt(365)));
    expect(told.sharpe).toEqual(near(0));
    expect(told.sortino).toEqual(near(0));
    // Each two days leave 0.99 of what was there.
    expect(told.totalReturn).toBeCloseTo(0.99 ** 15 - 1, 12);
    // The first peak is 110, the last low 100 × 0.99^15.
    expect(told.maxDrawdown).toBeCloseTo(1 - 0.99 ** 15 / 1.1, 12);
    expect(told.maxDrawdownLength).toBe(29 * DAY);
    expect(told.cagr).toEqual({ reason: "30 of 365 days" });
    expect(told.calmar).toEqual({ reason: "30 of 365 days" });
  });

  it("of thirty-one days, with a mean", () => {
    // Thirty returns of 1 % and one of −2 %: mean 0.28 / 31.
    const values = Array.from({ length: 30 }, (_, at) => 100 * 1.01 ** (at + 1));
    values.push(values.at(-1)! * 0.98);
    const mean = 0.28 / 31;
    const variance = (30 * (0.01 - mean) ** 2 + (-0.02 - mean) ** 2) / 30;
    const told = statisticsOf(daily(values));
    expect(told.sharpe).toEqual(near((mean / Math.sqrt(variance)) * Math.sqrt(365)));
    expect(told.sortino).toEqual(near((mean / Math.sqrt(0.0004 / 31)) * Math.sqrt(365)));
  });

  it("of two years that end at four times the start", () => {
    const values = Array.from({ length: 730 }, () => 100);
    values[364] = 50;
    values[729] = 400;
    const told = statisticsOf(daily(values));
    expect(told.cagr).toEqual(near(1));
    expect(told.maxDrawdown).toBe(0.5);
    expect(told.maxDrawdownLength).toBe(2 * DAY);
    expect(told.calmar).toEqual(near(2));
  });

  it("of trades", () => {
    const profits = [10, 20, -5, 0, 30, 10, 10, -15, -10, undefined];
    expect(statisticsOf(daily([100], { trades: profits.map(tradeOf) }))).toMatchObject({
      trades: 9,
      openTrades: 1,
      winRate: near(5 / 9),
      profitFactor: near(80 / 30),
      expectancy: near(50 / 9),
      averageWin: { value: 16 },
      averageLoss: { value: 10 },
      longestWinStreak: 3,
      longestLossStreak: 2,
    });
  });

  it("of drawdowns: the deepest one is not always the longest", () => {
    const told = statisticsOf(daily([90, 95, 99, 98, 100, 120, 60, 120, 130]));
    expect(told.maxDrawdown).toBe(0.5);
    expect(told.maxDrawdownLength).toBe(2 * DAY);
    expect(told.longestDrawdown).toBe(5 * DAY);
    // The last one lasts until the end.
    expect(statisticsOf(daily([110, 100, 105])).maxDrawdownLength).toBe(2 * DAY);
  });
});

describe("a figure that says nothing", () => {
  const reasons = (told: object) =>
    Object.fromEntries(
      Object.entries(told).flatMap(([name, figure]) => (figure?.reason ? [[name, figure.reason]] : [])),
    );

  it("is absent, with the reason", () => {
    expect(reasons(statisticsOf(daily([])))).toEqual({
      cagr: "0 of 365 days",
      volatility: "0 of 30 days",
      sharpe: "0 of 30 days",
      sortino: "0 of 30 days",
      calmar: "0 of 365 days",
      turnover: "the account was worth nothing",
      winRate: "no closed trade",
      profitFactor: "no closed trade",
      expectancy: "no closed trade",
      averageWin: "no closed trade",
      averageLoss: "no closed trade",
    });
    expect(reasons(statisticsOf(daily(Array.from({ length: 400 }, () => 100))))).toMatchObject({
      sharpe: "nothing moved",
      sortino: "no day of loss",
      calmar: "no drawdown",
    });
    expect(reasons(statisticsOf(daily([100], { trades: [tradeOf(1)] })))).toMatchObject({
      profitFactor: "no trade with a loss",
      averageLoss: "no trade with a loss",
    });
    expect(statisticsOf(daily(Array.from({ length: 29 }, (_, at) => 100 + at))).sharpe.reason).toBe(
      "29 of 30 days",
    );
    expect(
      statisticsOf(daily(Array.from({ length: 30 }, (_, at) => 100 + at))).sharpe.reason,
    ).toBeUndefined();
  });

  it("is finite wherever it is there, even where all is lost", () => {
    const values = Array.from({ length: 400 }, (_, at) => (at < 100 ? 100 - at : -5));
    const told = statisticsOf(daily(values));
    expect(told.cagr).toEqual({ value: -1 });
    expect(told.maxDrawdown).toBeCloseTo(1.05, 12);
    for (const figure of Object.values(told)) {
      const value = typeof figure === "number" ? figure : (figure as Figure).value;
      if (value !== undefined) expect(Number.isFinite(value)).toBe(true);
    }
  });
});

/** The same by the plainest means: whole lists, looked at as often as it takes. */
function plain({ from, cash, curve, trades }: Performance) {
  const all = [{ at: from, equity: cash, isExposed: false }, ...curve.points()];
  const to = all.at(-1)!.at;
  const valueAt = (instant: number) => all.filter(({ at }) => at <= instant).at(-1)!.equity;
  const count = Math.round((to - from) / DAY);
  const days = Array.from(
    { length: count },
    (_, at) => valueAt(from + (at + 1) * DAY) / valueAt(from + at * DAY) - 1,
  );
  const total = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const mean = total(days) / count;
  const spread = Math.sqrt(total(days.map((day) => (day - mean) * (day - mean))) / (count - 1));
  const below = Math.sqrt(total(days.map((day) => (day < 0 ? day * day : 0))) / count);
  const falls = all.map(
    ({ equity }, at) => 1 - equity / Math.max(...all.slice(0, at + 1).map((one) => one.equity)),
  );
  // For each instant the last one at which the value was the highest so far.
  const below0 = all.map(({ at }, index) => {
    const highest = Math.max(...all.slice(0, index + 1).map(({ equity }) => equity));
    const peak = all.slice(0, index + 1).findLast(({ equity }) => equity === highest)!;
    return at - peak.at;
  });
  const recovery = all.map(({ at }, index) =>
    falls[index] === 0 && (falls[index - 1] ?? 0) > 0 ? at - all[index - 1]!.at + below0[index - 1]! : 0,
  );
  const profits = trades.flatMap(({ profit }) => (profit === undefined ? [] : [profit]));
  const runs = (sign: number) =>
    Math.max(
      0,
      ...profits.map((_, at) => {
        const rest = profits.slice(at).findIndex((profit) => profit * sign <= 0);
        return rest < 0 ? profits.length - at : rest;
      }),
    );
  return {
    days: count,
    volatility: spread * Math.sqrt(365),
    sharpe: (mean / spread) * Math.sqrt(365),
    sortino: (mean / below) * Math.sqrt(365),
    maxDrawdown: Math.max(...falls),
    longestDrawdown: Math.max(...below0, ...recovery),
    exposure:
      total(all.slice(1).map(({ at, isExposed }, index) => (isExposed ? at - all[index]!.at : 0))) /
      (to - from),
    longestWinStreak: runs(1),
    longestLossStreak: runs(-1),
    winRate: profits.filter((profit) => profit > 0).length / profits.length,
    expectancy: total(profits) / profits.length,
  };
}

describe("statistics", () => {
  it("are those of a plain implementation, for any curve", () => {
    const point = fc.record({
      hours: fc.integer({ min: 1, max: 60 }),
      equity: fc.integer({ min: 50, max: 150 }),
      isExposed: fc.boolean(),
    });
    const profits = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 120 }), profits, (points, gains) => {
        let at = START;
        const curve = points.map(({ hours, ...rest }): EquityPoint => {
          at += (hours * DAY) / 24;
          return { at, ...rest };
        });
        const performance = { ...daily([]), curve: Curve.of(curve), trades: gains.map(tradeOf) };
        const [told, own] = [statisticsOf(performance), plain(performance)];
        for (const name of [
          "maxDrawdown",
          "longestDrawdown",
          "exposure",
          "longestWinStreak",
          "longestLossStreak",
        ] as const) {
          expect(told[name], name).toBeCloseTo(own[name], 9);
        }
        for (const name of ["volatility", "sharpe", "sortino"] as const) {
          if (own.days < 30) expect(told[name].reason).toBe(`${own.days} of 30 days`);
          else if (told[name].value !== undefined) expect(told[name].value, name).toBeCloseTo(own[name], 6);
        }
        for (const name of ["winRate", "expectancy"] as const) {
          if (gains.length > 0) expect(told[name].value, name).toBeCloseTo(own[name], 9);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("trades", () => {
  const CALM: Prices = [100, 101, 99, 100];
  const all = { size: { position: 1 } };

  it("go from the first fill until nothing is left, costs included", () => {
    const desk = new Desk({ ...FREE, fees: { taker: 0.01 } });
    desk.place(orderOf("buy", { type: "market", size: { quantity: 10 } })).trade(CALM);
    desk.place(orderOf("buy", { type: "market", size: { quantity: 30 } })).trade([104, 104, 104, 104]);
    desk.place(orderOf("sell", { type: "market", size: { quantity: 20 } })).trade([110, 110, 110, 110]);
    desk.place(orderOf("sell", { type: "market", ...all })).trade([120, 120, 120, 120]);
    // 1,000 + 3,120; 2,200 + 2,400; 1 % of each.
    expect(tradesOf(desk.reports)).toEqual([
      {
        series,
        side: "long",
        from: 0,
        to: 180_000,
        quantity: 40,
        entry: 103,
        exit: 115,
        fees: expect.closeTo(87.2, 9),
        borrowed: 0,
        profit: expect.closeTo(480 - 87.2, 9),
        gain: expect.closeTo(392.8 / 4_120, 9),
      },
    ]);
  });

  it("end and begin in one fill that turns a position round, and pay for what is owed", () => {
    const desk = new Desk({ ...FREE, short: { borrow: 525.6 }, fees: { fixed: 3, taker: 0 } });
    desk.place(orderOf("buy", { type: "market", size: { quantity: 10 } })).trade(CALM);
    desk.place(orderOf("sell", { type: "market", size: { quantity: 30 } })).trade([90, 90, 90, 90]);
    // Of 30 tokens 10 end the long: a third of the fee. A tenth of a per cent a minute of 20 × 90, and of 20 × 80.
    desk.place(orderOf("buy", { type: "market", ...all })).trade([80, 80, 80, 80]);
    expect(tradesOf(desk.reports)).toMatchObject([
      { side: "long", profit: -100 - 3 - 1, borrowed: 0 },
      { side: "short", quantity: 20, entry: 90, exit: 80, borrowed: expect.closeTo(1.8 + 1.6, 9), fees: 5 },
    ]);
  });

  it("sum up to what the account has gained, once all is closed", () => {
    const desk = new Desk({ cash: 10_000, short: { borrow: 50 } });
    const turn = fc.sample(fc.integer({ min: 1, max: 40 }), { numRuns: 40, seed: 7 });
    for (const [at, quantity] of turn.entries()) {
      const price = 100 + ((at * 7) % 23);
      desk.place(orderOf(at % 3 === 0 ? "sell" : "buy", { type: "market", size: { quantity } }));
      desk.trade([price, price + 2, price - 2, price + 1]);
    }
    desk.place(orderOf("sell", { type: "market", ...all })).trade(CALM);
    desk.place(orderOf("buy", { type: "market", ...all })).trade(CALM);
    expect(desk.broker.positions).toEqual([]);
    const trades = tradesOf(desk.reports);
    expect(trades.length).toBeGreaterThan(1);
    expect(trades.reduce((sum, { profit }) => sum + profit!, 0)).toBeCloseTo(desk.broker.cash - 10_000, 6);
  });

  it("are still open at the end", () => {
    const desk = new Desk().place(orderOf("buy", { type: "market" })).trade(CALM);
    expect(tradesOf(desk.reports)).toEqual([
      { series, side: "long", from: 0, quantity: 1, entry: 100, fees: 0, borrowed: 0 },
    ]);
  });
});
