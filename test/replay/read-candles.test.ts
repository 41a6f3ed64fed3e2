import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { readCandles } from "../../src/replay/read-candles.js";
import { candleOf } from "../candles/market.js";
import { marketOf } from "../indicators/market.js";

async function read(lines: Iterable<string> | AsyncIterable<string>): Promise<Candle[]> {
  const candles: Candle[] = [];
  for await (const candle of readCandles(lines)) candles.push(candle);
  return candles;
}

/** The candles that come before reading fails, and what it fails with. */
async function readUntilFailure(lines: Iterable<string>): Promise<{ candles: Candle[]; error: unknown }> {
  const candles: Candle[] = [];
  try {
    for await (const candle of readCandles(lines)) candles.push(candle);
  } catch (error) {
    return { candles, error };
  }
  throw new Error("reading has not failed");
}

const lineOf = (at: number, fields: object = {}) => JSON.stringify({ ...candleOf(at), ...fields });

describe("readCandles", () => {
  it("gives back what JSON.stringify has written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.nat(20), async (seed, length) => {
        const candles = marketOf(seed, length);
        const lines = candles.map((candle) => JSON.stringify(candle));
        expect(await read(lines)).toEqual(candles);
      }),
      { numRuns: 30 },
    );
  });

  it("reads async lines, and again where they can be iterated again", async () => {
    const lines = {
      async *[Symbol.asyncIterator]() {
        yield lineOf(1);
        yield lineOf(2);
      },
    };
    const candles = readCandles(lines);
    for (const _ of [1, 2]) {
      const times: number[] = [];
      for await (const { timestamp } of candles) times.push(timestamp);
      expect(times).toEqual([60_000, 120_000]);
    }
  });

  it("passes over blank lines, ends of lines, a byte order mark and fields of others", async () => {
    const lines = ["", `\uFEFF${lineOf(1, { exchange: "x" })}\r`, "  ", lineOf(2), "\r", ""];
    const candles = await read(lines);
    expect(candles).toEqual([candleOf(1), candleOf(2)]);
    expect(candles.every(Object.isFrozen)).toBe(true);
  });

  it("keeps the smallest and the largest numbers", async () => {
    const extremes = {
      open: Number.MIN_VALUE,
      high: 1e100,
      low: 0,
      close: 0,
      volume: 0,
      swaps: 0,
    };
    expect(await read([lineOf(0, extremes)])).toEqual([{ ...candleOf(0), ...extremes }]);
  });

  it("reads one line at a time, and closes the lines when it is left", async () => {
    let pulled = 0;
    let closed = 0;
    function* lines() {
      try {
        for (; ; pulled += 1) yield lineOf(pulled);
      } finally {
        closed += 1;
      }
    }
    for await (const { timestamp } of readCandles(lines())) if (timestamp === 120_000) break;
    expect([pulled, closed]).toEqual([2, 1]);
  });

  it.each([
    ["no JSON", "{", "line 3", "is not JSON"],
    ["lists in lists", "[".repeat(100_000), "line 3", "is not JSON"],
    ["two on a line", `${lineOf(5)}${lineOf(6)}`, "line 3", "is not JSON"],
    ["null", "null", "line 3", "is null"],
    ["a number", "7", "line 3", "is 7"],
    ["a list", "[]", "timestamp of line 3", "is missing"],
    ["a missing field", lineOf(5, { swaps: undefined }), "swaps of line 3", "is missing"],
    ["NaN, as JSON writes it", lineOf(5, { close: Number.NaN }), "close of line 3", "is null"],
    ["infinity", lineOf(5).replace('"volume":1', '"volume":1e999'), "volume of line 3", "is Infinity"],
    ["a price past 1e100", lineOf(5, { high: 1.1e100 }), "high of line 3", "is 1.1e+100"],
    ["a volume past 1e100", lineOf(5, { volume: 1e308 }), "volume of line 3", "is 1e+308"],
    ["a negative price", lineOf(5, { low: -1 }), "low of line 3", "is -1"],
    ["a number as text", lineOf(5, { open: "1" }), "open of line 3", 'is "1"'],
    ["half a swap", lineOf(5, { swaps: 0.5 }), "swaps of line 3", "is 0.5"],
    [
      "an instant as text",
      lineOf(5, { timestamp: "2024-01-01T00:00:00Z" }),
      "timestamp of line 3",
      'is "2024-01-01T00:00:00Z"',
    ],
    ["high below low", lineOf(5, { high: 0.5 }), "high of line 3", "is 0.5, with a low of 1"],
    ["a duplicate", lineOf(1), "timestamp of line 3", "(60000) repeats the candle before"],
    ["a descending one", lineOf(0), "timestamp of line 3", "(0) comes after 60000, which is newer"],
  ])("names the line of %s, after the candles before it", async (_, line, parameter, problem) => {
    const { candles, error } = await readUntilFailure([lineOf(1), "", line, lineOf(9)]);
    expect(candles).toEqual([candleOf(1)]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter, message: expect.stringContaining(problem) });
  });

  it("tells of a stream that is not split into lines", async () => {
    const pieces = [new Uint8Array(3)] as unknown as string[];
    expect((await readUntilFailure(pieces)).error).toMatchObject({ parameter: "line 1" });
  });

  it("fails with what its lines fail with", async () => {
    const broken = new Error("disk");
    function* lines() {
      yield lineOf(1);
      throw broken;
    }
    expect((await readUntilFailure(lines())).error).toBe(broken);
  });

  it.each([[lineOf(1)], [undefined], [null], [{}], [5]])("refuses %s for lines at the call", (lines) => {
    expect(() => readCandles(lines as unknown as string[])).toThrow(InvalidInputError);
  });
});
