import { type Candle, type CandleEvent, InvalidInputError, replayCandles, type Series } from "pairstream";
import {
  backtest,
  type Fill,
  type Order,
  type PaperEvent,
  type Position,
  type Strategy,
  tradeOnPaper,
} from "pairstream/backtest";
import { concatMap, filter, lastValueFrom, map, merge, of, tap, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { checkBroker } from "../../src/backtest/rules.js";
import { runRanges } from "../../src/backtest/sweep-run.js";
import { MINUTE } from "./bars.js";
import { buy, minuteFrom, scripted, ups } from "./scripted-strategies.js";

const series: Series = Object.freeze({
  network: "mainnet",
  pairAddress: "pair1",
  timeframe: "1min",
  currency: "usd",
});
const feeds = (candles: readonly Candle[], fillGaps = false) => [{ series, candles, fillGaps }];
const DAY = 86_400_000;

describe("the account that a strategy sees", () => {
  const seen = (candles: readonly Candle[]) => {
    const positions: (Position | undefined)[] = [];
    const told: (Fill | number)[] = [];
    const strategy: Strategy = (events, { position, fills }) => {
      fills.subscribe((fill) => told.push(fill));
      return events.pipe(
        tap(({ candle }) => told.push(candle.timestamp / MINUTE)),
        tap(() => positions.push(position(series))),
        filter(({ candle }) => candle.timestamp === MINUTE),
        map(() => buy(series)),
      );
    };
    return { strategy, positions, told, candles };
  };

  it("has the position after the fills of a candle before the event of that candle", async () => {
    const { strategy, positions, told, candles } = seen(ups(5));
    const result = await backtest({ feeds: feeds(candles), strategy });
    expect(positions.map((position) => position?.quantity)).toEqual([undefined, undefined, 1, 1, 1]);
    expect(positions.at(-1)).toEqual(result.positions[0]);
    expect(told).toEqual([0, 1, result.fills[0], 2, 3, 4]);
  });

  it("is the same live", async () => {
    const { strategy, positions, told, candles } = seen(ups(5));
    const past = seen(ups(5));
    await backtest({ feeds: feeds(past.candles), strategy: past.strategy });
    const events: PaperEvent[] = [];
    replayCandles(candles, series)
      .pipe(tradeOnPaper({ series: [series], strategy }))
      .subscribe((event) => events.push(event));
    expect(positions).toEqual(past.positions);
    expect(told).toEqual(past.told);
    expect(events.map(({ type }) => type)).toEqual(["order", "fill"]);
  });

  it("lets a strategy act on its fills, live after each of them is told", async () => {
    const protectedBy: Strategy = (events, { fills }) =>
      merge(
        events.pipe(
          filter(({ candle }) => candle.timestamp === 0),
          map((): Order => buy(series)),
        ),
        fills.pipe(
          filter(({ side }) => side === "buy"),
          map(({ quote }): Order => {
            return { type: "take-profit", side: "sell", series, size: { position: 1 }, target: quote + 2 };
          }),
        ),
      );
    const result = await backtest({ feeds: feeds(ups(8)), strategy: protectedBy });
    expect(result.fills.map(({ side, quote }) => [side, quote])).toEqual([
      ["buy", 101],
      ["sell", 103],
    ]);
    const live = await lastValueFrom(
      replayCandles(ups(8), series).pipe(
        tradeOnPaper({ series: [series], strategy: protectedBy }),
        toArray(),
      ),
    );
    expect(live.map(({ type }) => type)).toEqual(["order", "fill", "order", "fill"]);
    expect(live.flatMap((event) => (event.type === "fill" ? [event.fill] : []))).toEqual(result.fills);
  });

  it("refuses what is no series", async () => {
    const wrong: Strategy = (events, { position }) =>
      events.pipe(
        filter(() => position({} as Series) !== undefined),
        map(() => buy(series)),
      );
    await expect(backtest({ feeds: feeds(ups(2)), strategy: wrong })).rejects.toThrow(InvalidInputError);
  });

  it("cannot be looked at in a sweep, where there are several", () => {
    const looks: Strategy = (events, { position }) =>
      events.pipe(
        filter((event) => position(event.series) === undefined),
        map(() => buy(series)),
      );
    const listens: Strategy = (_, { fills }) => fills.pipe(map(() => buy(series)));
    const events = ups(3).map((candle, at): CandleEvent => {
      const observedAt = (at + 1) * MINUTE;
      return { type: "new", candle, status: "final", revision: 0, live: true, lateBy: 0, observedAt, series };
    });
    const market = { events, series: [series], rules: checkBroker({}), weekStart: "monday" } as const;
    for (const strategy of [looks, listens])
      expect(() => runRanges(market, strategy, [{ from: 0, to: 3 * MINUTE }])).toThrow(
        "looks at its account",
      );
  });
});

describe("an order that is onlyIfFlat", () => {
  const each = (more: object) => scripted(() => [buy(series, more)]);

  it("is refused while there is a position, and filled again after it", async () => {
    const strategy: Strategy = (events) =>
      events.pipe(
        concatMap(({ candle }: CandleEvent) => {
          const at = candle.timestamp / MINUTE;
          const sell: Order = { type: "market", side: "sell", series, size: { position: 1 } };
          return at === 3 ? of(sell) : of(buy(series, { onlyIfFlat: true }));
        }),
      );
    const { fills, rejections } = await backtest({ feeds: feeds(ups(7)), strategy });
    expect(fills.map(({ side, candle }) => [side, candle / MINUTE])).toEqual([
      ["buy", 1],
      ["sell", 4],
      ["buy", 5],
    ]);
    expect(new Set(rejections.map(({ reason }) => reason))).toEqual(new Set(["not-flat"]));
    expect(rejections[0]!.message).toBe("the position is 1 tokens");
  });

  it("holds one position where another one would hold many, also of two orders at one time", async () => {
    const held = async (more: object) =>
      (await backtest({ feeds: feeds(ups(6)), strategy: each(more) })).positions[0]?.quantity;
    expect(await held({ onlyIfFlat: true })).toBe(1);
    expect(await held({ onlyIfFlat: false })).toBe(5);
    const twice = scripted(() => [buy(series, { onlyIfFlat: true }), buy(series, { onlyIfFlat: true })]);
    expect((await backtest({ feeds: feeds(ups(3)), strategy: twice })).positions[0]?.quantity).toBe(1);
  });

  it("is filled to its end part by part", async () => {
    const strategy = scripted(({ candle }) =>
      candle.timestamp === 0 ? [buy(series, { onlyIfFlat: true, size: { quantity: 3 } })] : [],
    );
    // 1,000 a candle, of which it may take about one token.
    const { fills, positions } = await backtest({
      feeds: feeds(ups(8)),
      strategy,
      broker: { maxVolumeShare: 0.11 },
    });
    expect(fills.length).toBeGreaterThan(2);
    expect(positions[0]!.quantity).toBeCloseTo(3, 9);
  });

  it.each([
    [{ onlyIfFlat: "yes" }, "onlyIfFlat is"],
    [{ onlyIfFlat: true, reduceOnly: true }, "nothing to reduce"],
    [{ onlyIfFlat: true, size: { position: 1 } }, "nothing to reduce"],
  ])("is refused as invalid: %j", async (more, message) => {
    const { rejections } = await backtest({ feeds: feeds(ups(2)), strategy: each(more) });
    expect(rejections[0]).toMatchObject({ reason: "invalid", message: expect.stringContaining(message) });
  });
});

describe("a feed with fillGaps", () => {
  const sparse = [0, 1, 5, 6, 7, 60].map((at) => minuteFrom(at, 100 + at, 101 + at));

  it("gives what the same candles give whose gaps are filled", async () => {
    const strategy = scripted(({ candle }) => (candle.timestamp === 2 * MINUTE ? [buy(series)] : []));
    const whole = await lastValueFrom(
      replayCandles(sparse, { ...series, fillGaps: true }).pipe(
        map(({ candle }) => candle),
        toArray(),
      ),
    );
    async function* later() {
      for (const candle of sparse) yield await Promise.resolve(candle);
    }
    const filled = await backtest({ feeds: feeds(whole), strategy });
    expect(filled.fills[0]!.candle).toBe(3 * MINUTE);
    expect(await backtest({ feeds: feeds(sparse, true), strategy })).toEqual(filled);
    expect(await backtest({ feeds: [{ series, candles: later(), fillGaps: true }], strategy })).toEqual(
      filled,
    );
    expect((await backtest({ feeds: feeds(sparse), strategy })).fills).toEqual([]);
  });

  it("counts candles as they are given in an error, and refuses what is no boolean", async () => {
    const wrong = [...sparse.slice(0, 3), { ...sparse[3]!, close: Number.NaN }];
    await expect(backtest({ feeds: feeds(wrong, true), strategy: scripted(() => []) })).rejects.toThrow(
      "feeds[0].candles[3]",
    );
    const feed = { series, candles: sparse, fillGaps: "yes" as never };
    await expect(backtest({ feeds: [feed], strategy: scripted(() => []) })).rejects.toMatchObject({
      parameter: "feeds[0].fillGaps",
    });
  });
});

describe("the days of a whole month", () => {
  it("are thirty, although nobody trades in its first and last minutes", async () => {
    const hours = Array.from({ length: 30 * 24 }, (_, at) => at).filter((at) => at % 7 !== 0 && at < 717);
    const candles = hours.map((at) => ({
      ...minuteFrom(0, 100 + (at % 5), 101 + (at % 3)),
      timestamp: at * 60 * MINUTE,
    }));
    const hourly: Series = { ...series, timeframe: "1h" };
    const strategy = scripted(({ candle, series: of }) =>
      candle.timestamp === 60 * MINUTE ? [buy(of, { size: { equity: 1 } })] : [],
    );
    const { statistics } = await backtest({ feeds: [{ series: hourly, candles }], strategy });
    expect((statistics.to - statistics.from) / DAY).toBeLessThan(30);
    expect(statistics.sharpe.reason).toBeUndefined();
    expect(statistics.cagr.reason).toBe("30 of 365 days");
  });
});
