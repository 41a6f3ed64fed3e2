import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Candle } from "pairstream";
import { describe, expect, it } from "vitest";
import { makeCandles } from "../../../examples/backtest/market.js";
import type { PastOptions } from "../../../examples/backtest/options.js";
import { openPast } from "../../../examples/backtest/past.js";
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
