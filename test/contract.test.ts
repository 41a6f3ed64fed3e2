import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Series } from "../src/contract/model.js";
import { ContractError } from "../src/errors.js";
import { intervalsOf } from "../src/timeframe.js";
import { readOhlcvBody, readSniperBody } from "./quoting-readers.js";

const golden = (name: string) => readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8");

const PAIR = "8sLbNZoA1cfnvMJLPfp98ZLAnFSYCFApfJKMbiXNLwxj";
const SERIES: Series = { network: "mainnet", pairAddress: PAIR, timeframe: "1h", currency: "usd" };
const { start } = intervalsOf("1h");
const readPage = (text: string) => readOhlcvBody(text, SERIES, (instant) => start(instant) === instant);

/** The good page, one field of its envelope replaced, or left out where `undefined`. */
const pageWith = (field: string, value: unknown) =>
  JSON.stringify({ ...JSON.parse(golden("ohlcv-swaps.json")), [field]: value });

function contractErrorOf(read: () => unknown): ContractError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(ContractError);
    return error as ContractError;
  }
  throw new Error("no error was thrown");
}

describe("an OHLCV body", () => {
  it("with swaps", () => {
    expect(readPage(golden("ohlcv-swaps.json"))).toEqual({
      page: {
        cursor: "eyJhbGciOiJIUzI1NiJ9.cGFnZTI.x_y-z",
        page: 1,
        pairAddress: PAIR,
        tokenAddress: "So11111111111111111111111111111111111111112",
        timeframe: "1h",
        currency: "usd",
        result: [
          {
            timestamp: Date.UTC(2024, 1, 29, 23),
            open: 101.25,
            high: 103.5,
            low: 100.75,
            close: 102,
            volume: 54321.987654321,
            swaps: 412,
          },
          {
            timestamp: Date.UTC(2024, 1, 29, 21),
            open: 1.2345e-8,
            high: 1.2345e-8,
            low: 0,
            close: 1e-9,
            volume: 0,
            swaps: 0,
          },
        ],
      },
      refused: [],
    });
  });

  it("with trades in place of swaps, an empty cursor, the page as a string, no token and an offset", () => {
    const { page, refused } = readPage(golden("ohlcv-trades.json"));
    expect(page).toStrictEqual({
      page: 2,
      pairAddress: PAIR,
      tokenAddress: null,
      timeframe: "1h",
      currency: "usd",
      result: [
        { timestamp: Date.UTC(2024, 2, 1), open: 1, high: 2, low: 0.5, close: 1.5, volume: 10, swaps: 7 },
      ],
    });
    expect(refused).toEqual([]);
  });

  it("with a null cursor, no token at all, no candles, and the address in other capitals", () => {
    const { page } = readPage(golden("ohlcv-cursor-null.json"));
    expect(page).toStrictEqual({
      page: 3,
      pairAddress: PAIR.toUpperCase(),
      tokenAddress: null,
      timeframe: "1h",
      currency: "usd",
      result: [],
    });
  });

  it("without a cursor, and with swaps that count before trades", () => {
    const { page } = readPage(golden("ohlcv-cursor-absent.json"));
    expect("cursor" in page).toBe(false);
    expect(page.result).toMatchObject([{ swaps: 3 }]);
  });

  it("gives what is frozen", () => {
    const { page } = readPage(golden("ohlcv-swaps.json"));
    expect([page, page.result, ...page.result].every(Object.isFrozen)).toBe(true);
  });

  it("sets broken rows apart, each with its path, and by its timestamp where it has one", () => {
    const { page, refused } = readPage(golden("ohlcv-bad-rows.json"));
    expect(page.result.map((candle) => candle.timestamp)).toEqual([Date.UTC(2024, 2, 1, 11)]);
    expect(refused.map(({ key, error }) => [key, ...error.path])).toEqual([
      [Date.UTC(2024, 2, 1, 0), "result", 0, "open"],
      [Date.UTC(2024, 2, 1, 1), "result", 1, "close"],
      [Date.UTC(2024, 2, 1, 2), "result", 2, "high"],
      [undefined, "result", 3, "timestamp"],
      [undefined, "result", 4, "timestamp"],
      [Date.UTC(2024, 2, 1, 4, 30), "result", 5, "timestamp"],
      [Date.UTC(2024, 2, 1, 5), "result", 6, "volume"],
      [Date.UTC(2024, 2, 1, 6), "result", 7, "swaps"],
      [Date.UTC(2024, 2, 1, 7), "result", 8, "swaps"],
      [Date.UTC(2024, 2, 1, 8), "result", 9, "high"],
      [undefined, "result", 10, "timestamp"],
      [undefined, "result", 11, "timestamp"],
      [undefined, "result", 12],
      [undefined, "result", 13],
      [Date.UTC(2024, 2, 1, 10), "result", 14, "open"],
    ]);
    expect(refused.every(({ error }) => error instanceof ContractError && error.issue !== "")).toBe(true);
    expect(refused[5]?.error.issue).toBe("not the start of a 1h interval");
  });

  it("says for weeks that their start is a choice", () => {
    const body = pageWith("timeframe", "1w");
    const { refused } = readOhlcvBody(body, { ...SERIES, timeframe: "1w" }, () => false);
    expect(refused.map(({ error }) => error.issue)).toEqual([
      "not the start of a 1w interval (see weekStart)",
      "not the start of a 1w interval (see weekStart)",
    ]);
  });

  it.each([
    ["null", "null", []],
    ["a list", "[]", []],
    ["an error message with status 200", '{"message":"try later"}', ["page"]],
    ["another pair", pageWith("pairAddress", "other"), ["pairAddress"]],
    ["another timeframe", pageWith("timeframe", "1min"), ["timeframe"]],
    ["a timeframe that there is not", pageWith("timeframe", "2h"), ["timeframe"]],
    ["another currency", pageWith("currency", "native"), ["currency"]],
    ["a cursor that is a number", pageWith("cursor", 2), ["cursor"]],
    ["a page that is no number", pageWith("page", "two"), ["page"]],
    ["no page", pageWith("page", undefined), ["page"]],
    ["no pair", pageWith("pairAddress", undefined), ["pairAddress"]],
    ["a token that is a number", pageWith("tokenAddress", 1), ["tokenAddress"]],
    ["no result", pageWith("result", undefined), ["result"]],
    ["a null result", pageWith("result", null), ["result"]],
  ])("is refused as a whole: %s", (_, text, path) => {
    expect(contractErrorOf(() => readPage(text)).path).toEqual(path);
  });

  it.each([
    ["timeframe", "1min", "1h"],
    ["timeframe", "1H", "1h"],
    ["currency", "USD", "usd"],
  ])("names what was asked and what came: %s %s", (field, came, asked) => {
    const error = contractErrorOf(() => readPage(pageWith(field, came)));
    expect(error.message).toBe(
      `The answer breaks the contract at ${field}: the answer is for ${came}, the request was for ${asked}`,
    );
  });
});

describe("a sniper body", () => {
  it("as in the contract", () => {
    expect(readSniperBody(golden("snipers.json"))).toEqual({
      report: {
        blockNumber: 284_512_345,
        blockTimestamp: Date.UTC(2024, 7, 20, 12, 34, 56),
        transactionHash: "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
        result: [
          {
            walletAddress: "7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5",
            snipedTransactions: [
              {
                transactionHash: "5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXF",
                transactionTimestamp: Date.UTC(2024, 7, 20, 12, 34, 57),
                blocksAfterCreation: 2,
              },
            ],
            sellTransactions: [
              {
                transactionHash: "3KpwATGy1ARAXF5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG",
                transactionTimestamp: Date.UTC(2024, 7, 20, 12, 40, 0, 500),
                blocksAfterCreation: 812,
              },
            ],
            totalSellTransactions: 1,
            totalSnipedTransactions: 1,
            totalTokensSniped: 1000.5,
            totalSnipedUsd: 38.79710907700007,
            totalTokensSold: 1000.5,
            totalSoldUsd: 100,
            currentBalance: 0,
            currentBalanceUsdValue: 0,
            realizedProfitPercentage: 157.75116,
            realizedProfitUsd: 61.20289092299993,
          },
        ],
      },
      refused: [],
      hasList: true,
    });
  });

  it("with nulls, missing fields and negative totals", () => {
    const { report, refused } = readSniperBody(golden("snipers-odd.json"));
    const nothing = {
      snipedTransactions: [],
      sellTransactions: [],
      totalSellTransactions: null,
      totalSnipedTransactions: null,
      totalTokensSniped: null,
      totalSnipedUsd: null,
      totalTokensSold: null,
      totalSoldUsd: null,
      currentBalance: null,
      currentBalanceUsdValue: null,
      realizedProfitPercentage: null,
      realizedProfitUsd: null,
    };
    const sale = { transactionHash: "x", transactionTimestamp: Date.UTC(2024, 7, 20, 12, 40, 0, 500) };
    expect(report).toStrictEqual({
      blockNumber: null,
      blockTimestamp: null,
      transactionHash: null,
      result: [
        {
          ...nothing,
          walletAddress: "negative",
          totalTokensSniped: 1000,
          totalTokensSold: -1000,
          currentBalance: 2000,
          realizedProfitUsd: -1e-8,
        },
        {
          ...nothing,
          walletAddress: "a transaction without a block",
          sellTransactions: [{ ...sale, blocksAfterCreation: null }],
        },
      ],
    });
    expect(refused).toEqual([]);
  });

  it.each(['{"blockNumber":1}', '{"blockNumber":1,"result":null}', '{"result":[]}'])(
    "without snipers: %s",
    (text) => {
      expect(readSniperBody(text).report.result).toEqual([]);
    },
  );

  it("gives what is frozen", () => {
    const { report } = readSniperBody(golden("snipers.json"));
    const [sniper] = report.result;
    const lists = [sniper!.snipedTransactions, sniper!.sellTransactions];
    expect([report, report.result, sniper, ...lists, ...lists.flat()].every(Object.isFrozen)).toBe(true);
  });

  it("sets broken rows apart, each with its path, and by its wallet where it has one", () => {
    const { report, refused } = readSniperBody(golden("snipers-bad-rows.json"));
    expect(report.result.map((sniper) => sniper.walletAddress)).toEqual(["good"]);
    expect(refused.map(({ key, error }) => [key, ...error.path])).toEqual([
      ["string total", "result", 0, "totalSoldUsd"],
      ["huge total", "result", 1, "currentBalance"],
      ["no zone", "result", 2, "sellTransactions", 0, "transactionTimestamp"],
      ["no hash", "result", 3, "snipedTransactions", 1, "transactionHash"],
      ["not a list", "result", 4, "snipedTransactions"],
      [undefined, "result", 5, "walletAddress"],
      [undefined, "result", 6, "walletAddress"],
      [undefined, "result", 7],
    ]);
  });

  it.each([
    ["null", "null", []],
    ["a list", "[]", []],
    ["a result that is no list", '{"result":{}}', ["result"]],
    ["a block that is a word", '{"blockNumber":"one"}', ["blockNumber"]],
    ["a time without a zone", '{"blockTimestamp":"2024-08-20T12:34:56"}', ["blockTimestamp"]],
    ["a hash that is a number", '{"transactionHash":1}', ["transactionHash"]],
  ])("is refused as a whole: %s", (_, text, path) => {
    expect(contractErrorOf(() => readSniperBody(text)).path).toEqual(path);
  });
});

describe("a body that is not JSON", () => {
  it.each([
    [
      "HTML",
      golden("proxy-error.txt"),
      'not JSON, but "<html> <head><title>502 Bad Gateway</tit…", a web page: is the address right?',
    ],
    ["cut off", golden("cut-off.txt"), 'not JSON, but "{"cursor":null,"page":1,"pairAddress":"8…"'],
    ["empty", "", "not JSON, but empty"],
    ["a number that JSON has not", "NaN", 'not JSON, but "NaN…"'],
  ])("is refused with its beginning and the parser's error: %s", (_, text, issue) => {
    for (const read of [readPage, readSniperBody]) {
      const error = contractErrorOf(() => read(text));
      expect(error.path).toEqual([]);
      expect(error.issue).toBe(issue);
      expect(error.cause).toBeInstanceOf(SyntaxError);
    }
  });
});
