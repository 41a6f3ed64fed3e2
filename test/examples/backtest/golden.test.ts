import { ema, rsi } from "pairstream";
import { lastValueFrom } from "rxjs";
import { describe, expect, it } from "vitest";
import { backtest } from "../../../examples/backtest/backtest.js";
import { reportOf, textOf } from "../../../examples/backtest/report.js";
import { decideOrders } from "../../../examples/backtest/strategy.js";
import { candleOf, finalEvents } from "./candles.js";

/**
 * Worked by hand. The fast line is the close, `ema(1)`; the slow one, `ema(3)`, starts at the mean of three closes and
 * then goes half of the way to each; `rsi(2)` starts at the mean of two changes and then takes half of each.
 *
 * minute  open  close  slow       gains     losses    RSI    what follows
 *  0      101   100
 *  1       98    90
 *  2       89    80    90         0         10        0
 *  3       79    70    80         0         10        0
 *  4       71    78    79         4          5        44.4
 *  5       77    84    81.5       5          2.5      66.7   up, below 70: buy
 *  6       85    90    85.75      5.5        1.25     81.5   bought at the open
 *  7       88    80    82.875     2.75       5.625    32.8   down: sell
 *  8       79    92    87.4375    7.375      2.8125   72.4   sold at the open; up, but overbought: nothing
 *  9       91    80    83.71875   3.6875     7.40625  33.2   down, but nothing is held: nothing
 * 10       81    86    84.859375  4.84375    3.703125 56.7   up, below 70: buy
 * 11       87    91                                          bought at the open, and still held
 */
const PRICES = [
  [101, 100],
  [98, 90],
  [89, 80],
  [79, 70],
  [71, 78],
  [77, 84],
  [85, 90],
  [88, 80],
  [79, 92],
  [91, 80],
  [81, 86],
  [87, 91],
] as const;
const candles = PRICES.map(([open, close], at) => candleOf(at, open, close));
const rules = { cash: 10_000, fee: 0.01, slippage: 0.02 };
const strategy = {
  title: "Worked by hand",
  indicators: { fast: ema(1), slow: ema(3), strength: rsi(2) },
  decideOrders,
};
const run = () => lastValueFrom(backtest(finalEvents(candles), strategy, rules));
const cents = (values: readonly number[]) => values.map((value) => Number(value.toFixed(2)));

describe("a dozen candles", () => {
  it("are traded to the cent", async () => {
    const { orders, fills, trades, strategy: own } = await run();
    expect(orders).toEqual([
      { side: "buy", candle: 300_000, placedAt: 360_000, price: 84 },
      { side: "sell", candle: 420_000, placedAt: 480_000, price: 80 },
      { side: "buy", candle: 600_000, placedAt: 660_000, price: 86 },
    ]);

    // Bought: 85 + 2 % = 86.70; 10,000 / (86.70 × 1.01) = 114.198271 tokens; fee 10,000 / 1.01 × 1 % = 99.01.
    // Sold: 79 − 2 % = 77.42; 114.198271 × 77.42 = 8,841.23; fee 88.41; cash 8,752.82.
    // Bought: 87 + 2 % = 88.74; 8,752.82 / (88.74 × 1.01) = 97.657835 tokens; fee 86.66.
    expect(fills.map(({ candle }) => candle)).toEqual([360_000, 480_000, 660_000]);
    expect(cents(fills.map(({ price }) => price))).toEqual([86.7, 77.42, 88.74]);
    expect(fills.map(({ quantity }) => Number(quantity.toFixed(6)))).toEqual([
      114.198271, 114.198271, 97.657835,
    ]);
    expect(cents(fills.map(({ fee }) => fee))).toEqual([99.01, 88.41, 86.66]);

    // 114.198271 × 90, × 80; after the sale cash; 97.657835 × 91.
    expect(cents(own.equity)).toEqual([
      ...[10_000, 10_000, 10_000, 10_000, 10_000, 10_000],
      ...[10_277.84, 9_135.86, 8_752.82, 8_752.82, 8_752.82, 8_886.86],
    ]);
    expect(own.exposed).toBe(3);
    expect(trades).toHaveLength(2);
    // 8,752.82 − 10,000.
    expect(cents([trades[0]!.profit!])).toEqual([-1_247.18]);
    expect(trades[1]).toMatchObject({ sold: undefined, profit: undefined });
  });

  it("are held to the cent", async () => {
    // 101 + 2 % = 103.02; 10,000 / (103.02 × 1.01) = 96.107456 tokens, times each close.
    const { buyAndHold } = await run();
    expect(cents(buyAndHold.equity)).toEqual([
      ...[9_610.75, 8_649.67, 7_688.6, 6_727.52, 7_496.38, 8_073.03],
      ...[8_649.67, 7_688.6, 8_841.89, 7_688.6, 8_265.24, 8_745.78],
    ]);
    expect(buyAndHold.exposed).toBe(12);
  });

  it("are reported", async () => {
    const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
    const report = reportOf(await run(), { title: strategy.title, series, source: "a table", rules });
    // Falls: 1 − 8,752.82 / 10,277.84 and 1 − 6,727.52 / 10,000. A year has 525,600 minutes.
    expect(textOf(report).split("\n").slice(0, 12)).toEqual([
      "Worked by hand",
      "1min candles of pair in usd, from a table",
      "12 candles from 1970-01-01 00:00:00 to 1970-01-01 00:11:00 UTC, 0.0 days; 0 without swaps",
      "",
      "                            strategy  buy and hold",
      "return                      -11.13 %      -12.54 %",
      "equity at the end           8,886.86      8,745.78",
      "max drawdown                 14.84 %       32.72 %",
      "Sharpe, annualised           -185.50        -40.29",
      "exposure                     25.00 %      100.00 %",
      "trades              1, 0 won, 1 open       1, open",
      "fees paid                     274.08         99.01",
    ]);
  });
});
