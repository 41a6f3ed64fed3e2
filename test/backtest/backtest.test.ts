import * as fc from "fast-check";
import { type CandleEvent, crosses, ema, replayCandles, type Series, withIndicators } from "pairstream";
import { type BacktestResult, backtest, type Order, type Strategy } from "pairstream/backtest";
import { EMPTY, mergeMap, tap } from "rxjs";
import { map } from "rxjs/operators";
import { describe, expect, it } from "vitest";
import { cents, FREE, MINUTE, series } from "./bars.js";
import { buy, minuteFrom, scripted, ups } from "./scripted-strategies.js";

describe("a dozen candles", () => {
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
  const candles = PRICES.map(([open, close], at) => minuteFrom(at, open, close));
  // `ema(1)` is the close; `ema(3)` starts at 80 with the third one: 80, 79, 81.5, 85.75, 82.875, 87.4375, 83.71875 …
  const strategy: Strategy = (events) =>
    events.pipe(
      withIndicators({ fast: ema(1), slow: ema(3) }),
      crosses("fast", "slow"),
      map(({ direction, event }): Order => {
        return direction === "up"
          ? buy(event.series, { size: { equity: 1 } })
          : { type: "market", side: "sell", series: event.series, size: { position: 1 } };
      }),
    );
  const broker = { cash: 10_000, fees: { maker: 0.01, taker: 0.01 }, slippage: { share: 0.02 } };

  it("are traded to the cent, beside buy and hold", async () => {
    const result = await backtest({ feeds: [{ series, candles }], strategy, broker });
    // Up with 5, down with 7, up with 8, down with 9, up with 10: each filled at the next open.
    expect(result.orders.map(({ at }) => at / MINUTE)).toEqual([6, 8, 9, 10, 11]);
    expect(result.fills.map(({ candle }) => candle / MINUTE)).toEqual([6, 8, 9, 10, 11]);
    // 85 + 2 % = 86.70; 10,000 / (86.70 × 1.01) = 114.198271 tokens. 79 − 2 % = 77.42; 8,841.23 less 88.41 = 8,752.82.
    expect(cents(result.fills[0]!.price)).toBe(86.7);
    expect(result.fills[0]!.quantity).toBeCloseTo(114.198271, 6);
    expect(cents(result.equity[8]!.equity)).toBe(8_752.82);
    // 91 + 2 % = 92.82: 93.365183 tokens; 81 − 2 % = 79.38: 7,411.33 less 74.11 = 7,337.21.
    expect(cents(result.equity[10]!.equity)).toBe(7_337.21);
    // 87 + 2 % = 88.74: 81.863525 tokens, at 91.
    expect(cents(result.statistics.end)).toBe(7_449.58);
    expect(result.trades.map(({ profit }) => profit && cents(profit))).toEqual([
      -1_247.18,
      -1_415.6,
      undefined,
    ]);
    expect(result.statistics).toMatchObject({
      trades: 2,
      openTrades: 1,
      from: 0,
      to: 12 * MINUTE,
      start: 10_000,
    });
    expect(result.statistics.exposure).toBeCloseTo(4 / 12, 12);
    expect(result.statistics.sharpe.reason).toBe("0 of 30 days");
    // 101 + 2 % = 103.02; 10,000 / (103.02 × 1.01) = 96.107456 tokens, times each close.
    expect(cents(result.buyAndHold.statistics.end)).toBe(8_745.78);
    expect(cents(result.buyAndHold.equity[0]!.equity)).toBe(9_610.75);
    expect(result.rejections).toEqual([]);
  });

  it("give the same result twice, and from an async source, frozen", async () => {
    async function* later() {
      for (const candle of candles) yield await Promise.resolve(candle);
    }
    const [first, second, third] = await Promise.all(
      [candles, candles, later()].map((each) =>
        backtest({ feeds: [{ series, candles: each }], strategy, broker }),
      ),
    );
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(JSON.stringify(third)).toBe(JSON.stringify(first));
    for (const part of [
      first,
      first!.fills,
      first!.fills[0],
      first!.equity,
      first!.statistics,
      first!.trades[0],
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe("what a strategy sees", () => {
  const hour: Series = { ...series, timeframe: "1h" };
  const other: Series = { ...series, pairAddress: "other" };

  it("is what replayCandles gives", async () => {
    const seen: CandleEvent[] = [];
    const candles = ups(5);
    await backtest({
      feeds: [{ series, candles }],
      strategy: (events) =>
        events.pipe(
          tap((event) => seen.push(event)),
          mergeMap(() => EMPTY),
        ),
    });
    const replayed: CandleEvent[] = [];
    replayCandles(candles, series).subscribe((event) => replayed.push(event));
    expect(seen).toEqual(replayed);
  });

  it("comes in the order in which it was known, the shorter candle first", async () => {
    const seen: string[] = [];
    const strategy: Strategy = (events) =>
      events.pipe(
        tap(({ series: of, candle }) =>
          seen.push(`${of.pairAddress} ${of.timeframe} ${candle.timestamp / MINUTE}`),
        ),
        mergeMap(() => EMPTY),
      );
    const feeds = [
      { series: hour, candles: [minuteFrom(0, 1, 1)] },
      { series: other, candles: [minuteFrom(58, 1, 1), minuteFrom(60, 1, 1)] },
      { series, candles: [minuteFrom(58, 1, 1), minuteFrom(59, 1, 1), minuteFrom(61, 1, 1)] },
    ];
    await backtest({ feeds, strategy });
    expect(seen).toEqual([
      "other 1min 58",
      "pair 1min 58",
      "pair 1min 59",
      "pair 1h 0",
      "other 1min 60",
      "pair 1min 61",
    ]);
  });

  it("comes after the fills of its candle, and its orders are filled by a later one", async () => {
    const strategy = scripted(({ candle }) => (candle.timestamp === 2 * MINUTE ? [buy(series)] : []));
    const result = await backtest({ feeds: [{ series, candles: ups(5) }], strategy, broker: FREE });
    expect(result.fills).toMatchObject([{ candle: 3 * MINUTE, price: 103 }]);
  });

  it("is never of the future: of a beginning, the same comes as of the whole", async () => {
    const change = fc.integer({ min: -8, max: 8 });
    const shape = fc.record({
      open: change,
      close: change,
      up: fc.nat(5),
      down: fc.nat(5),
      what: fc.nat(9),
      part: fc.integer({ min: 1, max: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(shape, { minLength: 2, maxLength: 25 }), fc.nat(), async (shapes, cut) => {
        let price = 100;
        const candles = shapes.map(({ open, close, up, down }, at) => {
          const [a, b] = [Math.max(20, price + open), Math.max(20, price + open + close)];
          price = b;
          return minuteFrom(at, a, b, Math.max(a, b) + up, Math.min(a, b) - down);
        });
        const strategy = scripted(({ candle, series: of }) => {
          const { what, part } = shapes[candle.timestamp / MINUTE]!;
          const size = { equity: part / 10 };
          if (what === 0) return [buy(of, { size })];
          if (what === 1) return [buy(of, { type: "limit", limit: candle.close - part, size })];
          if (what === 2)
            return [
              buy(of, {
                side: "sell",
                type: "stop",
                stop: Math.max(1, candle.close - part),
                size: { position: 1 },
              }),
            ];
          if (what === 3)
            return [
              buy(of, {
                side: "sell",
                type: "trailing-stop",
                trail: { amount: part },
                size: { position: 1 },
              }),
            ];
          return what === 4 ? [buy(of, { side: "sell", size: { position: part / 10 } })] : [];
        });
        const whole = await backtest({ feeds: [{ series, candles }], strategy });
        const length = 1 + (cut % (candles.length - 1));
        const part = await backtest({ feeds: [{ series, candles: candles.slice(0, length) }], strategy });
        expect(whole.fills.slice(0, part.fills.length)).toEqual(part.fills);
        expect(whole.equity.slice(0, length)).toEqual(part.equity);
        expect(whole.rejections.slice(0, part.rejections.length)).toEqual(part.rejections);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a shorter series", () => {
  const hour: Series = { ...series, timeframe: "1h" };
  // Up to 115 first, then down to 85: the hours alone cannot tell.
  const minutes = [
    minuteFrom(60, 100, 104),
    minuteFrom(61, 104, 115),
    minuteFrom(62, 115, 85),
    minuteFrom(63, 85, 100),
  ];
  const hours = [minuteFrom(0, 100, 100), minuteFrom(60, 100, 100, 115, 85), minuteFrom(120, 100, 100)];
  const exits = { side: "sell", after: "in", group: "out", size: { position: 1 } };
  const strategy = scripted(({ candle, series: of }) =>
    of.timeframe === "1h" && candle.timestamp === 0
      ? [
          buy(of, { id: "in", size: { quantity: 10 } }),
          buy(of, { ...exits, type: "stop", stop: 90 }),
          buy(of, { ...exits, type: "take-profit", target: 110 }),
        ]
      : [],
  );
  const dealsOf = ({ fills }: BacktestResult) =>
    fills.map(({ side, price, candle }) => `${side} ${price} ${candle / MINUTE}`);

  it("says what happened inside a longer candle", async () => {
    const feeds = [
      { series: hour, candles: hours },
      { series, candles: minutes },
    ];
    const looked = await backtest({ feeds, strategy, broker: { ...FREE, within: "1min" } });
    expect(dealsOf(looked)).toEqual(["buy 100 60", "sell 110 61"]);
    expect(looked.fills[1]!.reportedAt).toBe(62 * MINUTE);
    const guessed = await backtest({ feeds, strategy, broker: FREE });
    expect(dealsOf(guessed)).toEqual(["buy 100 60", "sell 90 60"]);
  });

  it("leaves a longer candle to the rule where it has none", async () => {
    const feeds = [
      { series: hour, candles: hours },
      { series, candles: [minuteFrom(0, 100, 100)] },
    ];
    const result = await backtest({ feeds, strategy, broker: { ...FREE, within: "1min" } });
    expect(dealsOf(result)).toEqual(["buy 100 60", "sell 90 60"]);
  });
});

describe("two pairs", () => {
  it("share the money, and half of it is held in each", async () => {
    const other: Series = { ...series, pairAddress: "other" };
    const feeds = [
      { series, candles: [minuteFrom(0, 100, 100), minuteFrom(1, 100, 200)] },
      { series: other, candles: [minuteFrom(0, 50, 50), minuteFrom(1, 50, 25)] },
    ];
    const strategy = scripted(({ candle, series: of }) =>
      candle.timestamp === 0 ? [buy(of, { size: { equity: 0.5 } })] : [],
    );
    const result = await backtest({ feeds, strategy, broker: FREE });
    expect(result.equity.map(({ at, equity }) => [at / MINUTE, equity])).toEqual([
      [1, 10_000],
      [2, 12_500],
    ]);
    expect(result.buyAndHold.statistics.end).toBe(12_500);
    expect(result.positions.map(({ quantity }) => quantity)).toEqual([50, 100]);
  });
});
