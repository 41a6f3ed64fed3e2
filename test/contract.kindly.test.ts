import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { candle as wireCandle } from "../src/adapters/wire/model.js";
import { checkWire } from "../src/adapters/wire/read.js";
import { wrongFieldOf } from "../src/contract/candle-numbers.js";
import { type Series, SNIPER_TOTALS, type Timeframe } from "../src/contract/model.js";
import { readOhlcvBody, readSniperBody } from "./quoting-readers.js";

const SERIES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1s",
  currency: "usd",
};
const ROW = {
  timestamp: "2024-01-05T12:00:00.000Z",
  open: 2,
  high: 3,
  low: 1,
  close: 2,
  volume: 9,
  swaps: 4,
};
const CANDLE = { ...ROW, timestamp: Date.UTC(2024, 0, 5, 12) };
const FIELDS = ["open", "high", "low", "close", "volume", "swaps"] as const;

function readRows(rows: readonly unknown[], page: unknown = 1) {
  const { timeframe, currency, pairAddress } = SERIES;
  const body = { page, timeframe, currency, pairAddress, result: rows };
  return readOhlcvBody(JSON.stringify(body), SERIES, (instant) => instant % 1_000 === 0);
}

const readRow = (change: object) => readRows([{ ...ROW, ...change }]);

/** A number as JSON writes it, and in other ways that its grammar allows. */
const numerals = fc
  .tuple(fc.double({ min: 0, max: 1e100, noNaN: true }), fc.constantFrom("", "e0", "E+0", "e-0"))
  .map(([value, more]) => [value, JSON.stringify(value) + (/e/.test(String(value)) ? "" : more)] as const);

describe("a number that the service writes as a text", () => {
  it("is read as JSON reads it, in every field of a candle", () => {
    fc.assert(
      fc.property(numerals, fc.integer({ min: 0, max: 1e9 }), ([value, text], count) => {
        const texts = { open: text, high: text, low: text, close: text, volume: text };
        const numbers = { open: value, high: value, low: value, close: value, volume: value };
        const { page, refused } = readRow({ ...texts, swaps: String(count) });
        expect(refused).toEqual([]);
        expect(page.result).toEqual([{ ...CANDLE, ...numbers, swaps: count }]);
        expect(Object.isFrozen(page.result[0])).toBe(true);
      }),
    );
  });

  it("is read in one field of a candle, the others being numbers", () => {
    for (const field of FIELDS) {
      expect(readRow({ [field]: String(ROW[field]) }).page.result).toEqual([CANDLE]);
    }
    const { swaps, ...rest } = ROW;
    expect(readRows([{ ...rest, trades: String(swaps) }]).page.result).toEqual([CANDLE]);
    expect(readRow({ trades: "7" }).page.result).toEqual([CANDLE]);
  });

  it("is read as the number of a page", () => {
    expect(readRows([], "12").page.page).toBe(12);
    expect(() => readRows([], "twelve")).toThrow("at page: not a number");
    expect(() => readRows([], " 12")).toThrow("at page: not a number");
  });

  const notNumbers = [
    "",
    " 1",
    "1 ",
    "+1",
    "01",
    "1.",
    ".5",
    "0x10",
    "1_000",
    "1,5",
    "1e",
    "Infinity",
    "NaN",
    "١",
    "1n",
    "--1",
    "1\n",
  ];
  it.each(notNumbers)("is not %j, which is no number of JSON's grammar", (text) => {
    expect(readRow({ open: text }).refused.map(({ error }) => error.path)).toEqual([["result", 0, "open"]]);
    expect(readRow({ trades: text }).refused.map(({ error }) => error.path)).toEqual([
      ["result", 0, "trades"],
    ]);
    expect(() => readSniperBody(JSON.stringify({ blockNumber: text, result: [] }))).toThrow("not a number");
  });

  it("is any text that JSON reads as a number, and no other", () => {
    const texts = fc.oneof(
      fc.string({ unit: fc.constantFrom(..."0123456789.eE+- "), maxLength: 8 }),
      fc.string(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {}
        const isNumber = typeof value === "number" && text === text.trim();
        const read = () => readSniperBody(JSON.stringify({ blockNumber: text })).report.blockNumber;
        if (isNumber && Number.isFinite(value)) expect(read()).toBe(value);
        else expect(read).toThrow("at blockNumber");
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps to the bounds of its field", () => {
    for (const [field, text] of [
      ["open", "1e101"],
      ["low", "-1"],
      ["volume", "1e999"],
      ["swaps", "1.5"],
      ["swaps", "-1"],
    ]) {
      expect(readRow({ [field!]: text }).refused.map(({ error }) => error.path[2])).toEqual([field]);
    }
    // As texts "9" would be above "10".
    expect(readRow({ high: "10", low: "9", open: "9", close: "9" }).refused).toEqual([]);
    expect(readRow({ high: "9", low: "10" }).refused.map(({ error }) => error.issue)).toEqual(["below low"]);
  });

  it("is read in every field of a sniper report", () => {
    const transaction = {
      transactionHash: "t",
      transactionTimestamp: 1_704_456_000,
      blocksAfterCreation: "2",
    };
    const totals = Object.fromEntries(SNIPER_TOTALS.map((name, at) => [name, `-${at}.5`]));
    const row = { walletAddress: "w", snipedTransactions: [transaction], sellTransactions: null, ...totals };
    const { report, refused } = readSniperBody(JSON.stringify({ blockNumber: "284512345", result: [row] }));
    expect(refused).toEqual([]);
    expect(report.blockNumber).toBe(284_512_345);
    expect(report.result[0]).toMatchObject({
      snipedTransactions: [{ transactionTimestamp: CANDLE.timestamp, blocksAfterCreation: 2 }],
      ...Object.fromEntries(SNIPER_TOTALS.map((name, at) => [name, -at - 0.5])),
    });
  });
});

describe("an instant that the service writes as a number", () => {
  const read = (timestamp: unknown) => readRow({ timestamp });

  it.each([
    [1_704_456_000, "2024-01-05T12:00:00.000Z"],
    [1_704_456_000_000, "2024-01-05T12:00:00.000Z"],
    ["1704456000", "2024-01-05T12:00:00.000Z"],
    ["1704456000000", "2024-01-05T12:00:00.000Z"],
    [1.704456e9, "2024-01-05T12:00:00.000Z"],
    [60, "1970-01-01T00:01:00.000Z"],
    [99_999_999_999, "5138-11-16T09:46:39.000Z"],
    [100_000_000_000, "1973-03-03T09:46:40.000Z"],
  ])("is seconds below 1e11, and ms from there: %j", (value, instant) => {
    expect(read(value).page.result).toEqual([{ ...CANDLE, timestamp: Date.parse(instant) }]);
  });

  it("has no fraction of a ms", () => {
    const at = (blockTimestamp: unknown) =>
      readSniperBody(JSON.stringify({ blockTimestamp })).report.blockTimestamp;
    expect(at(1_704_456_000.123)).toBe(1_704_456_000_123);
    expect(at(1_704_456_000_123.4)).toBe(1_704_456_000_123);
    expect(Object.is(at(0), 0)).toBe(true);
  });

  it("is the same as a text and in both units", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1e8, max: 4e9 }), (seconds) => {
        const texts = [
          seconds,
          seconds * 1_000,
          String(seconds),
          `${seconds}000`,
          new Date(seconds * 1_000).toISOString(),
        ];
        const { page, refused } = readRows(texts.map((timestamp) => ({ ...ROW, timestamp })));
        expect(refused).toEqual([]);
        expect(new Set(page.result.map(({ timestamp }) => timestamp))).toEqual(new Set([seconds * 1_000]));
      }),
    );
  });

  it.each([
    0,
    "0",
    -1,
    1_704_456_000_000_000,
    "1704456000000000",
    "-1",
    "20240105T1200",
    "12:00",
    true,
    [],
    {},
  ])("is not %j, in a row", (value) => {
    const { page, refused } = read(value);
    expect(page.result).toEqual([]);
    expect(refused.map(({ key, error }) => [key, error.path.at(-1), error.issue])).toEqual([
      [undefined, "timestamp", "not an instant: ISO 8601 with a zone, or seconds or ms since the epoch"],
    ]);
  });

  it("tells which candle a broken row is", () => {
    const { refused } = readRow({ timestamp: 1_704_456_000, open: "cheap" });
    expect(refused.map(({ key }) => key)).toEqual([CANDLE.timestamp]);
  });
});

describe("what is read from elsewhere than the service", () => {
  it("stays strict: wires and stores hold numbers", () => {
    for (const field of FIELDS) {
      const written = { ...CANDLE, [field]: String(CANDLE[field]) };
      expect(() => checkWire(wireCandle, written)).toThrow("not a number");
      expect(wrongFieldOf(written)).toBe(field);
    }
    expect(() => checkWire(wireCandle, ROW)).toThrow("not a number");
  });
});
