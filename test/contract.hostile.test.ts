import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { parseJson } from "../src/contract/json.js";
import { type Series, SNIPER_TOTALS } from "../src/contract/model.js";
import { mostRows } from "../src/contract/wire.js";
import { ContractError } from "../src/errors.js";
import { readOhlcvBody, readSniperBody } from "./quoting-readers.js";

const MARK = "\uFEFF";
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1h", currency: "usd" };
const ROW = {
  timestamp: "2024-01-01T00:00:00.000Z",
  open: 1,
  high: 1,
  low: 1,
  close: 1,
  volume: 1,
  swaps: 1,
};

const pageText = (fields: object) =>
  JSON.stringify({ page: 1, pairAddress: "pair", timeframe: "1h", currency: "usd", result: [], ...fields });
const readPage = (text: string, most?: number) => readOhlcvBody(text, SERIES, () => true, most);
const READERS = [readPage, readSniperBody] as const;

/** What a reader gives, or the `ContractError` that it throws; any other error fails the test. */
function outcomeOf<T>(read: () => T): T | ContractError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ContractError) return error;
    throw error;
  }
}

function refusalOf(read: () => unknown): ContractError {
  const outcome = outcomeOf(read);
  if (outcome instanceof ContractError) return outcome;
  throw new Error("it was taken");
}

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("a text that is made to break its reader", () => {
  it.each([
    ["lists in lists", "[".repeat(1_000_000)],
    ["lists in lists to their end", nested(300_000)],
    ["objects in objects", '{"a":'.repeat(200_000)],
    ["objects in objects to their end", `${'{"a":'.repeat(200_000)}0${"}".repeat(200_000)}`],
    ["a million values", `[${"0,".repeat(1_000_000)}0]`],
    ["as many names", `{"":0${',"":0'.repeat(600_000)}}`],
    ["deep rows", `{"result":[${nested(100_000)}],"walletAddress":${nested(100_000)}}`],
    ["a prototype", '{"__proto__":{"page":1,"result":[]},"constructor":{"prototype":{"result":[]}}}'],
    ["a length that is none", pageText({ cursor: { length: { toString: "" } } })],
    ["names of methods", pageText({ page: { valueOf: 1, toString: 2, toJSON: 3 }, message: { at: 1 } })],
    ["halves of characters", pageText({ pairAddress: "\ud800", message: "\udc00" })],
    ["numbers past all", pageText({}).replace('"page":1', '"page":1e999')],
  ])("is refused as any other: %s", (_, text) => {
    for (const read of READERS) {
      const outcome = outcomeOf(() => read(text));
      const isRefused = outcome instanceof ContractError || outcome.refused.length > 0;
      expect(isRefused || Object.isFrozen("report" in outcome && outcome.report)).toBe(true);
    }
    expect(refusalOf(() => readPage(text)).message.length).toBeLessThan(600);
  });

  it("is taken where only what nobody reads is deep", () => {
    const text = `{"extra":${nested(300_000)},${pageText({ result: [ROW] }).slice(1)}`;
    expect(readPage(text).page).toEqual(readPage(pageText({ result: [ROW] })).page);
  });

  it("gives no value that its prototype would have", () => {
    const wallet = '{"__proto__":{"walletAddress":"w"},"walletAddress":"v","totalSoldUsd":1}';
    const { result } = readSniperBody(`{"result":[${wallet}]}`).report;
    expect(result).toMatchObject([{ walletAddress: "v", totalSoldUsd: 1, totalTokensSold: null }]);
    expect(Object.getPrototypeOf(result[0])).toBe(Object.prototype);
  });
});

describe("a byte order mark", () => {
  it("is passed over at the beginning, and nowhere else", () => {
    expect(readPage(MARK + pageText({})).page.page).toBe(1);
    expect(readSniperBody(`${MARK}{"result":[]}`).report.result).toEqual([]);
    expect(parseJson(`${MARK}["${MARK}"]`)).toEqual([MARK]);
    for (const text of [`${MARK}${MARK}[]`, `[${MARK}]`, MARK]) {
      expect(refusalOf(() => parseJson(text)).issue).toMatch(/^not JSON, but /);
    }
  });
});

describe("rows", () => {
  it("are counted before any is looked at", () => {
    const isStart = vi.fn(() => true);
    for (const rows of [new Array(9).fill(ROW), new Array(9).fill(0)]) {
      const error = refusalOf(() => readOhlcvBody(pageText({ result: rows }), SERIES, isStart, 8));
      expect(error).toMatchObject({ path: ["result"], issue: "9 rows, at most 8 are read" });
    }
    expect(isStart).not.toHaveBeenCalled();
    expect(readPage(pageText({ result: new Array(8).fill(ROW) }), 8).page.result).toHaveLength(8);
  });

  it("may be each there twice, and some more, for what was asked; 20,000 at most", () => {
    expect(mostRows(1)).toBe(10);
    expect(mostRows(1_000)).toBe(2_008);
    expect(mostRows(1e9)).toBe(20_000);
    const text = pageText({ result: new Array(100_000).fill(0) });
    expect(refusalOf(() => readPage(text)).issue).toBe("100000 rows, at most 20000 are read");
  });

  it("that are refused hold no error until one is asked for", () => {
    const wallets = new Array(50).fill({ walletAddress: "w", totalSoldUsd: "one" });
    const reads = [
      readPage(pageText({ result: new Array(50).fill({ ...ROW, swaps: -1 }) })),
      readSniperBody(JSON.stringify({ result: wallets })),
    ];
    for (const { refused } of reads) {
      expect(refused).toHaveLength(50);
      expect(refused.flatMap((row) => Object.values(row)).some((held) => held instanceof Error)).toBe(false);
      expect(refused[7]!.error.path.slice(0, 2)).toEqual(["result", 7]);
    }
  });
});

describe("snipers", () => {
  it("are 10,000 at most, with 50,000 transactions in all, counted before any is looked at", () => {
    const many = new Array(10_001).fill({ walletAddress: "w" });
    expect(refusalOf(() => readSniperBody(JSON.stringify({ result: many })))).toMatchObject({
      path: ["result"],
      issue: "10001 wallets, at most 10000 are read",
    });
    const half = { walletAddress: "w", snipedTransactions: new Array(20_000).fill(0) };
    const both = { ...half, sellTransactions: new Array(5_001).fill(0) };
    const text = JSON.stringify({
      result: [half, both, null, { snipedTransactions: new Array(5_000).fill(0) }],
    });
    expect(refusalOf(() => readSniperBody(text)).issue).toBe("50001 transactions, at most 50000 are read");
  });

  it("with as many bad transactions as may be are refused like any other", () => {
    for (const bad of [0, {}, null]) {
      const sniper = { walletAddress: "w", sellTransactions: new Array(50_000).fill(bad) };
      const { refused } = readSniperBody(JSON.stringify({ result: [sniper, { walletAddress: "v" }] }));
      expect(refused.map(({ key }) => key)).toEqual(["w"]);
      expect(refused[0]!.error.path.slice(0, 4)).toEqual(["result", 0, "sellTransactions", 0]);
    }
  });

  it("are refused for each field by its name, the first one wrong", () => {
    const time = "2024-08-20T12:40:00Z";
    const good = { transactionHash: "x", transactionTimestamp: time, blocksAfterCreation: 3 };
    const issueOf = (fields: object) => {
      const { refused } = readSniperBody(JSON.stringify({ result: [{ walletAddress: "w", ...fields }] }));
      return refused.map(({ error }) => [...error.path.slice(2), error.issue]);
    };
    for (const total of SNIPER_TOTALS) {
      expect(issueOf({ [total]: "one" })).toEqual([[total, "not a number"]]);
      expect(issueOf({ [total]: -1e300 })).toEqual([]);
    }
    const list = (transaction: unknown) => issueOf({ snipedTransactions: [good, transaction] });
    expect(list(good)).toEqual([]);
    expect(list([])).toEqual([["snipedTransactions", 1, "not an object"]]);
    expect(list({ ...good, transactionHash: "" })).toEqual([
      ["snipedTransactions", 1, "transactionHash", "empty"],
    ]);
    expect(list({ ...good, transactionTimestamp: -5 })).toEqual([
      [
        "snipedTransactions",
        1,
        "transactionTimestamp",
        "not an instant: ISO 8601 with a zone, or seconds or ms since the epoch",
      ],
    ]);
    expect(list({ ...good, blocksAfterCreation: "three" })).toEqual([
      ["snipedTransactions", 1, "blocksAfterCreation", "not a number"],
    ]);
    expect(issueOf({ walletAddress: 5, totalSoldUsd: "1" })).toEqual([["walletAddress", "not a string"]]);
  });
});

describe("amounts", () => {
  it.each(["open", "high", "low", "close", "volume"])("past 1e100 are refused: %s", (field) => {
    const row = { ...ROW, open: 1e100, high: 1e100, low: 1e100, close: 1e100, volume: 1e100 };
    expect(readPage(pageText({ result: [row] })).page.result).toHaveLength(1);
    for (const amount of [1.1e100, 1e308]) {
      const [refused] = readPage(pageText({ result: [{ ...row, [field]: amount }] })).refused;
      expect(refused!.error).toMatchObject({
        path: ["result", 0, field],
        issue: "not a number from 0 to 1e+100",
      });
    }
  });
});

describe("an answer with no field of the contract", () => {
  it.each([
    "{}",
    '{"message":"upstream timed out"}',
    '{"message":["upstream timed out","x"]}',
    '{"Result":[]}',
    '{"jsonrpc":"2.0","result":null}',
    '{"message":"upstream timed out","statusCode":504,"result":null,"blockNumber":null}',
  ])("is none: %s", (text) => {
    const said = text.includes("upstream") ? "upstream timed out" : undefined;
    const page = refusalOf(() => readPage(text));
    expect(page).toMatchObject({ path: ["page"], issue: "not a number" });
    const report = refusalOf(() => readSniperBody(text));
    expect(report).toMatchObject({
      path: [],
      issue: "has none of blockNumber, blockTimestamp, transactionHash, result",
    });
    for (const error of [page, report]) {
      expect(error.said).toBe(said);
      // What the service says stands first.
      expect(error.message).toMatch(said ? /^“upstream timed out”: the answer breaks/ : /^The answer breaks/);
    }
  });

  it("is not quoted at length", () => {
    for (const message of ["x".repeat(1e6), `${"y z\n".repeat(1e5)}`, [["x"]], { x: 1 }, 5, ""]) {
      for (const read of READERS) {
        expect(refusalOf(() => read(JSON.stringify({ message }))).message.length).toBeLessThan(400);
      }
    }
  });
});

describe("a cursor", () => {
  it("has 4,096 characters at most", () => {
    expect(readPage(pageText({ cursor: "c".repeat(4_096) })).page.cursor).toHaveLength(4_096);
    const error = refusalOf(() => readPage(pageText({ cursor: "c".repeat(4_097) })));
    expect(error).toMatchObject({ path: ["cursor"], issue: "longer than 4096 characters" });
  });
});

describe("whatever the text", () => {
  const scalar = fc.oneof(
    fc.constantFrom<unknown>(null, true, -1, 0, 1e308, 1e100, "", "pair", "1h", "usd", ROW.timestamp, MARK),
    fc.double(),
    fc.string(),
  );
  const field = fc.constantFrom(
    ...Object.keys(ROW),
    ...[
      "page",
      "pairAddress",
      "timeframe",
      "currency",
      "result",
      "cursor",
      "tokenAddress",
      "message",
      "trades",
    ],
    ...["walletAddress", "snipedTransactions", "sellTransactions", "transactionHash", "transactionTimestamp"],
    ...["blockNumber", "blockTimestamp", "totalSoldUsd", "__proto__", "toString", "issue", "length"],
  );
  const anything = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 5 }, scalar, fc.array(tie("node")), fc.dictionary(field, tie("node"))),
  })).node;
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    anything.map((value) => JSON.stringify(value) ?? ""),
    fc.record({ result: anything, cursor: anything, message: anything }).map(pageText),
    fc.array(fc.constantFrom(...'[]{}",:\\ \n0tn', MARK, "é")).map((parts) => parts.join("")),
    fc.tuple(fc.array(anything), fc.nat()).map(([rows, cut]) => pageText({ result: rows }).slice(0, cut)),
  );

  it("nothing is thrown but a `ContractError`, short, and what comes out is frozen", () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const read of READERS) {
          const outcome = outcomeOf(() => read(text));
          if (outcome instanceof ContractError) {
            expect(outcome.message.length).toBeLessThan(1_000);
            continue;
          }
          const whole = "page" in outcome ? outcome.page : outcome.report;
          expect([whole, whole.result, ...whole.result].every(Object.isFrozen)).toBe(true);
          for (const { error } of outcome.refused) expect(error).toBeInstanceOf(ContractError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
