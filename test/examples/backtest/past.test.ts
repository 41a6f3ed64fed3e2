import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Candle, crosses, ema, withIndicators } from "pairstream";
import { backtest, type Order, type Strategy } from "pairstream/backtest";
import { map } from "rxjs";
import { describe, expect, it } from "vitest";
import { makeCandles } from "../../../examples/backtest/market.js";
import type { PastOptions } from "../../../examples/backtest/options.js";
import { jsonOf } from "../../../examples/backtest/outputs.js";
import { openPast } from "../../../examples/backtest/past.js";
import { reportOf } from "../../../examples/backtest/report.js";
import { tradePast } from "../../../examples/backtest/trade-past.js";
import { flatCandle, MINUTE } from "../../candles/minute-candles.js";
import { temporaryFolder } from "../files.js";

const HOUR = 60 * MINUTE;

async function fileOf(candles: readonly Candle[], name = "candles.ndjson"): Promise<string> {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, candles.map((candle) => `${JSON.stringify(candle)}\n`).join(""));
  return file;
}

const optionsOf = (file: string, more: Partial<PastOptions> = {}): PastOptions => ({
  ...{ place: { kind: "candles", files: [file] }, pairs: [], network: "mainnet", currency: "usd" },
  ...{ timeframe: undefined, within: undefined, from: undefined, to: undefined },
  ...more,
});
const open = (file: string, more: Partial<PastOptions> = {}) => openPast(optionsOf(file, more), () => {});

describe("the candles of a file", () => {
  it("are as long as their shortest distance says, and have no gaps", async () => {
    const file = await fileOf([flatCandle(0, 5), flatCandle(5 * MINUTE, 6), flatCandle(25 * MINUTE, 7)]);
    const { pairs, within, title } = await open(file);
    expect(title).toBe("candles.ndjson");
    expect(within).toBeUndefined();
    const [{ series, candles }] = pairs as [(typeof pairs)[0]];
    expect(series).toMatchObject({ pairAddress: "candles", timeframe: "5min" });
    expect(candles.map(({ timestamp, close, swaps }) => [timestamp / MINUTE, close, swaps])).toEqual([
      ...[
        [0, 5, 1],
        [5, 6, 1],
        [10, 6, 0],
        [15, 6, 0],
        [20, 6, 0],
        [25, 7, 1],
      ],
    ]);
  });

  it("make longer ones, whole ones alone, and fill orders within those", async () => {
    const minutes = Array.from({ length: 150 }, (_, at) => flatCandle((at + 30) * MINUTE, at + 1));
    const { pairs, within } = await open(await fileOf(minutes), { timeframe: "1h" });
    const [{ series, candles, feeds }] = pairs as [(typeof pairs)[0]];
    expect(within).toBe("1min");
    expect(series.timeframe).toBe("1h");
    expect(candles.map(({ timestamp, open, close }) => [timestamp / HOUR, open, close])).toEqual([
      [1, 31, 90],
      [2, 91, 150],
    ]);
    expect(feeds.map((feed) => [feed.series.timeframe, [...(feed.candles as Candle[])].length])).toEqual([
      ["1min", 120],
      ["1h", 2],
    ]);
  });

  it("are those of the range", async () => {
    const file = await fileOf(Array.from({ length: 10 }, (_, at) => flatCandle(at * MINUTE, 1)));
    const { pairs } = await open(file, { from: 2 * MINUTE, to: 5 * MINUTE });
    expect(pairs[0]!.candles.map(({ timestamp }) => timestamp / MINUTE)).toEqual([2, 3, 4]);
  });

  it.each<[string, readonly Candle[], Partial<PastOptions>, RegExp]>([
    ["one candle does not tell its length", [flatCandle(0, 1)], {}, /set --within$/],
    ["a file without candles", [], {}, /set --within$/],
    ["names for other files", [flatCandle(0, 1)], { pairs: ["a", "b"] }, /--pair names 2 pairs for 1 file/],
    [
      "too few for a longer one",
      [flatCandle(0, 1), flatCandle(MINUTE, 1)],
      { timeframe: "1d" },
      /do not fill one whole candle of 1d/,
    ],
    ["a line that is no candle", [{ timestamp: 1 } as Candle], {}, /candles\.ndjson: open of line 1/],
  ])("are refused: %s", async (_, candles, more, message) => {
    await expect(open(await fileOf(candles), more)).rejects.toThrow(message);
  });
});

describe("sparse candles", () => {
  const sparse = Array.from({ length: 3_000 }, (_, at) => at)
    .filter((at) => (at * 7_919) % 11 < 3)
    .map((at) => flatCandle(at * MINUTE, 100 + 10 * Math.sin(at / 90)));
  const strategy: Strategy = (events) =>
    events.pipe(
      withIndicators({ fast: ema(5), slow: ema(20) }),
      crosses("fast", "slow"),
      map(({ direction, event: { series } }): Order => {
        const size = direction === "up" ? { equity: 0.5 } : { position: 1 };
        return { type: "market", side: direction === "up" ? "buy" : "sell", series, size };
      }),
    );

  it("give the same figures in the package with fillGaps, and others without", async () => {
    const past = await open(await fileOf(sparse));
    const loaded = { strategy, title: "crossing", parameters: {} };
    const { result } = await tradePast(past, loaded, {});
    const [{ series }] = past.pairs as [(typeof past.pairs)[0]];
    const own = (fillGaps: boolean) => backtest({ feeds: [{ series, candles: sparse, fillGaps }], strategy });
    expect(result.trades.length).toBeGreaterThan(3);
    expect(await own(true)).toEqual(result);
    expect((await own(false)).statistics).not.toEqual(result.statistics);
  });

  it("show their fills and equity in --json", async () => {
    const past = await open(await fileOf(sparse));
    const run = await tradePast(past, { strategy, title: "crossing", parameters: {} }, {});
    const { fills, equity } = JSON.parse(jsonOf(run, reportOf(run)));
    expect(fills).toHaveLength(run.result.fills.length);
    expect(fills[0]).toMatchObject({ pair: "candles", side: "buy", reportedAt: expect.any(Number) });
    expect(equity).toHaveLength(run.result.equity.length);
    const last = run.result.equity.at(-1)!;
    expect(equity.at(-1).slice(0, 2)).toEqual([last.at, last.equity]);
  });
});

describe("the simulated market", () => {
  const DAY = 24 * HOUR;
  const from = Date.UTC(2025, 0, 1);

  it("is the same whatever part of it is asked for", () => {
    const whole = makeCandles({ seed: 7, from, to: from + 4 * DAY });
    expect(makeCandles({ seed: 7, from: from + DAY, to: from + 2 * DAY })).toEqual(
      whole.slice(1_440, 2 * 1_440),
    );
    expect(makeCandles({ seed: 8, from, to: from + DAY })).not.toEqual(whole.slice(0, 1_440));
    for (const { open, high, low, close } of whole) {
      expect(high >= Math.max(open, close) && low <= Math.min(open, close) && low > 0).toBe(true);
    }
  });
});
