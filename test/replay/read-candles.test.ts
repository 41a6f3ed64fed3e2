import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { readCandles } from "../../src/replay/read-candles.js";
import { minuteCandle } from "../candles/minute-candles.js";
import { marketOf } from "../indicators/random-candles.js";

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

const lineOf = (at: number, fields: object = {}) => JSON.stringify({ ...minuteCandle(at), ...fields });

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
    expect(candles).toEqual([minuteCandle(1), minuteCandle(2)]);
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
    expect(await read([lineOf(0, extremes)])).toEqual([{ ...minuteCandle(0), ...extremes }]);
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
    ["a line cut off", lineOf(5).slice(0, -8), "line 3", "is cut off, as if what wrote it was stopped"],
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
    ["a duplicate", lineOf(1), "timestamp of line 3", "(60000) repeats that of the candle before"],
    [
      "a descending one",
      lineOf(0),
      "timestamp of line 3",
      "(0) is older than 60000, that of the candle before",
    ],
  ])("names the line of %s, after the candles before it", async (_, line, parameter, problem) => {
    const { candles, error } = await readUntilFailure([lineOf(1), "", line, lineOf(9)]);
    expect(candles).toEqual([minuteCandle(1)]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter, message: expect.stringContaining(problem) });
  });

  it.each([
    ["JSON", [lineOf(0, { timestamp: 1_735_689_600 })], "timestamp of line 1"],
    ["CSV", ["timestamp,open,high,low,close,volume,swaps", "1735689600,2,3,1,2,1,1"], "timestamp of line 2"],
  ])("refuses a file of unix seconds: %s", async (_, lines, parameter) => {
    const { error } = await readUntilFailure(lines);
    expect(error).toMatchObject({ parameter, message: expect.stringContaining("looks like unix seconds") });
    // A year after 1970 that a file comes to is none.
    expect(await read([lineOf(1), lineOf(20_000)])).toHaveLength(2);
  });

  it("gives back what is written as CSV, whatever the order of its columns", async () => {
    const names = ["timestamp", "open", "high", "low", "close", "volume", "swaps", "exchange"] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.nat(20),
        fc.shuffledSubarray([...names], { minLength: 8 }),
        fc.boolean(),
        async (seed, length, columns, isIso) => {
          const candles = marketOf(seed, length);
          const rows = candles.map((candle) =>
            columns
              .map((name) => {
                if (name === "exchange") return "x";
                return isIso && name === "timestamp" ? new Date(candle[name]).toISOString() : candle[name];
              })
              .join(),
          );
          const header = columns.map((name) => (isIso && name === "timestamp" ? "date" : name));
          expect(await read([header.join(), ...rows])).toEqual(candles);
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([
    [
      "as pandas writes it",
      ",date,open,high,low,close,volume,swaps",
      "0,1970-01-01 00:01:00+00:00,2,3,1,2,1,1",
    ],
    ["with names in capitals", "Date, Open, High, Low, Close, Volume, Swaps", "60000, 2, 3, 1, 2, 1, 1"],
    ["after a byte order mark", "\uFEFFdate,open,high,low,close,volume,swaps\r", "60000,2,3,1,2e0,1.0,1\r"],
    ["with both names for time", "date,timestamp,open,high,low,close,volume,swaps", "x,60000,2,3,1,2,1,1"],
  ])("reads CSV %s", async (_, header, row) => {
    const candle = { timestamp: 60_000, open: 2, high: 3, low: 1, close: 2, volume: 1, swaps: 1 };
    const candles = await read(["", header, "", row, ""]);
    expect(candles).toEqual([candle]);
    expect(candles.every(Object.isFrozen)).toBe(true);
  });

  it.each([
    ["no column for time", "open,high,low,close,volume,swaps", "line 1", "has no date"],
    ["no swaps", "date,open,high,low,close,volume", "line 1", "has no swaps"],
    ["a column twice", "date,open,open,high,low,close,volume,swaps", "line 1", "has open twice"],
    ["other separators", "date;open;high;low;close;volume;swaps", "line 1", "parted by commas"],
    ["no names", "60000,2,3,1,2,1,1", "line 1", "is not JSON"],
  ])("names what a header lacks: %s", async (_, header, parameter, problem) => {
    const { error } = await readUntilFailure([header, "60000,2,3,1,2,1,1"]);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter, message: expect.stringContaining(problem) });
  });

  it.each([
    ["too few values", "120000,2,3,1,2,1", "line 4", "has 6"],
    ["too many values", "120000,2,3,1,2,1,1,", "line 4", "has 8"],
    ["an empty value", "120000,2,3,1,,1,1", "close of line 4", "is missing"],
    ["a gap of pandas", "120000,2,3,1,nan,1,1", "close of line 4", 'is "nan"'],
    ["infinity", "120000,2,3,1,2,Infinity,1", "volume of line 4", "is Infinity"],
    ["a negative price", "120000,2,3,-1,2,1,1", "low of line 4", "is -1"],
    ["half a swap", "120000,2,3,1,2,1,0.5", "swaps of line 4", "is 0.5"],
    ["quotes", '120000,"2",3,1,2,1,1', "open of line 4", 'is "\\"2\\""'],
    [
      "an instant without a zone",
      "1970-01-01 00:02:00,2,3,1,2,1,1",
      "date of line 4",
      'is "1970-01-01 00:02',
    ],
    ["30 February", "2024-02-30T00:00:00Z,2,3,1,2,1,1", "date of line 4", 'is "2024-02-30'],
    ["no time", ",2,3,1,2,1,1", "timestamp of line 4", "is missing"],
    ["a time before 1970", "1969-12-31T23:59:00Z,2,3,1,2,1,1", "timestamp of line 4", "is -60000"],
    ["a duplicate", "60000,2,3,1,2,1,1", "timestamp of line 4", "(60000) repeats that of the candle before"],
    ["a second header", "date,open,high,low,close,volume,swaps", "date of line 4", 'is "date"'],
    ["JSON", lineOf(5), "date of line 4", 'is "{\\"timestamp'],
  ])("names line and column of CSV with %s", async (_, row, parameter, problem) => {
    const header = "date,open,high,low,close,volume,swaps";
    const { candles, error } = await readUntilFailure([header, "60000,2,3,1,2,1,1", "", row]);
    expect(candles).toHaveLength(1);
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
