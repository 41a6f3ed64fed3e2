import { type Candle, InvalidInputError, type Series } from "pairstream";
import { backtest, type Strategy } from "pairstream/backtest";
import { finalize, merge, NEVER, of, throwError } from "rxjs";
import { map } from "rxjs/operators";
import { describe, expect, it } from "vitest";
import { FREE, series } from "./bars.js";
import { buy, idle, minuteFrom, scripted, ups } from "./scripted-strategies.js";

describe("trouble", () => {
  const feeds = [{ series, candles: ups(3) }];
  const failing = async (given: object) => {
    const error = await backtest({ feeds, strategy: idle, ...given } as never).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(InvalidInputError);
    return (error as InvalidInputError).parameter;
  };

  it("with options is named", async () => {
    expect(await failing({ feeds: [] })).toBe("feeds");
    expect(await failing({ feeds: [{ series, candles: [] }] })).toBe("feeds");
    expect(await failing({ feeds: [...feeds, ...feeds] })).toBe("feeds[1].series");
    expect(await failing({ feeds: [{ series, candles: 5 }] })).toBe("feeds[0].candles");
    expect(await failing({ feeds: [{ series, candels: [] }] })).toBe("feeds[0].candels");
    const native = { series: { ...series, pairAddress: "b", currency: "native" }, candles: ups(1) };
    expect(await failing({ feeds: [...feeds, native] })).toBe("feeds[1].series.currency");
    expect(await failing({ strategy: undefined })).toBe("strategy");
    expect(await failing({ strategy: () => 5 })).toBe("strategy");
    expect(await failing({ broker: { cash: -1 } })).toBe("broker.cash");
    expect(await failing({ weekStart: "sunday" })).toBe("weekStart");
    expect(await failing({ brokers: {} })).toBe("brokers");
  });

  it("with a candle names the feed and the candle, and lets go of the other sources", async () => {
    const bad = [minuteFrom(0, 1, 1), { ...minuteFrom(1, 1, 1), close: Number.NaN }];
    let closed = 0;
    function* other() {
      try {
        yield* ups(5);
      } finally {
        closed += 1;
      }
    }
    const both = [
      { series, candles: other() },
      { series: { ...series, pairAddress: "b" }, candles: bad },
    ];
    expect(await failing({ feeds: both })).toBe("close of feeds[1].candles[1]");
    expect(closed).toBe(1);
  });

  it("of a strategy is the caller's", async () => {
    const own = new Error("own");
    const run = (strategy: Strategy) => backtest({ feeds, strategy });
    await expect(run(() => throwError(() => own))).rejects.toBe(own);
    await expect(
      run((events) =>
        events.pipe(
          map(() => {
            throw own;
          }),
        ),
      ),
    ).rejects.toBe(own);
    await expect(
      run(() => {
        throw own;
      }),
    ).rejects.toBe(own);
  });

  it("is none where a strategy completes early, never, or orders before the first candle", async () => {
    expect((await backtest({ feeds, strategy: () => NEVER })).fills).toEqual([]);
    const result = await backtest({ feeds, strategy: () => of(buy(series)), broker: FREE });
    expect(result.fills).toMatchObject([{ candle: 0, price: 100 }]);
    expect(result.orders).toMatchObject([{ at: 0 }]);
  });

  it.each<[string, readonly Candle[] | (() => Iterable<Candle>), boolean]>([
    ["at the end", ups(3), false],
    ["where the strategy fails", ups(3), true],
    ["where a candle is refused", [minuteFrom(0, 1, 1), { ...minuteFrom(1, 1, 1), close: -1 }], false],
    [
      "where a source fails",
      function* () {
        yield minuteFrom(0, 1, 1);
        throw new Error("source");
      },
      false,
    ],
  ])("leaves no strategy subscribed %s", async (_, given, fails) => {
    let running = 0;
    const strategy: Strategy = (events) => {
      running += 1;
      const trades = events.pipe(
        map(() => {
          if (fails) throw new Error("own");
          return buy(series);
        }),
      );
      // A strategy with a timer of its own, which nothing else would end.
      return merge(trades, NEVER).pipe(finalize(() => (running -= 1)));
    };
    const candles = typeof given === "function" ? given() : given;
    await backtest({ feeds: [{ series, candles }], strategy }).catch(() => {});
    expect(running).toBe(0);
  });

  it("with an order is told", async () => {
    const unknown: Series = { ...series, timeframe: "1h" };
    const strategy = scripted(({ candle }) =>
      candle.timestamp === 0 ? [buy(unknown), buy(series, { size: {} })] : [],
    );
    const result = await backtest({ feeds, strategy });
    expect(result.rejections.map(({ reason }) => reason)).toEqual(["unknown-series", "invalid"]);
    expect(result.orders).toHaveLength(2);
  });

  it("leaves what waits among the open orders", async () => {
    const order = buy(series, { type: "limit", limit: 1 });
    const result = await backtest({ feeds, strategy: () => of(order) });
    expect(result.openOrders).toEqual([order]);
  });
});
