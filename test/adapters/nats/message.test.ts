import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  candleBody,
  readCandleMessage,
  readRecord,
  readStatusMessage,
  readWalletMessage,
  statusBody,
  walletBody,
  writeMessage,
} from "../../../src/adapters/nats/message.js";
import { HttpError, NetworkError, RateLimitError, type Sniper, TimeoutError } from "../../../src/index.js";
import { withMore } from "./newer.js";

const STAMP = { epoch: 7, observedAt: 65_000, revision: 2 };
const CANDLE = { timestamp: 60_000, open: 1, high: 3, low: 0.5, close: 2, volume: 1e-7, swaps: 4 };
const WALLET: Sniper = {
  walletAddress: "wallet",
  snipedTransactions: [{ transactionHash: "a", transactionTimestamp: 1, blocksAfterCreation: null }],
  sellTransactions: [],
  totalSellTransactions: 0,
  totalSnipedTransactions: 1,
  totalTokensSniped: 5,
  totalSnipedUsd: null,
  totalTokensSold: -1,
  totalSoldUsd: 0,
  currentBalance: 5,
  currentBalanceUsdValue: 61.20289092299993,
  realizedProfitPercentage: null,
  realizedProfitUsd: -3,
};
const message = (body: string) => writeMessage({ ...STAMP, body });

describe("a message", () => {
  it("about a candle is the text that the documents show", () => {
    expect(message(candleBody({ candle: CANDLE, status: "open", isRemoved: false }))).toBe(
      '{"version":2,"epoch":7,"observedAt":65000,"revision":2,' +
        '"candle":{"timestamp":60000,"open":1,"high":3,"low":0.5,"close":2,"volume":1e-7,"swaps":4},"status":"open"}',
    );
  });

  it("about a candle is read as it was written, frozen", () => {
    const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });
    const candle = fc.record({
      timestamp: fc.nat(),
      open: price,
      high: price,
      low: price,
      close: price,
      volume: price,
      swaps: fc.nat(),
    });
    const status = fc.constantFrom(...(["open", "closed", "final"] as const));
    fc.assert(
      fc.property(candle, status, fc.boolean(), (candle, status, isRemoved) => {
        const read = readCandleMessage(message(candleBody({ candle, status, isRemoved })));
        expect(read).toEqual({ ...STAMP, candle, status, isRemoved });
        expect(Object.isFrozen(read.candle)).toBe(true);
        expect(candleBody(read)).toBe(candleBody({ candle, status, isRemoved }));
      }),
    );
  });

  it("about a wallet is read as it was written, frozen, and says no more than that", () => {
    const extended = { ...WALLET, apiKey: "secret" };
    const text = message(walletBody({ wallet: extended, isRemoved: false }));
    expect(text).not.toContain("secret");
    const read = readWalletMessage(text)!;
    expect(read).toEqual({ ...STAMP, wallet: WALLET, isRemoved: false });
    expect(
      [read.wallet, read.wallet.snipedTransactions, read.wallet.snipedTransactions[0]].map(Object.isFrozen),
    ).toEqual([true, true, true]);
    expect(readWalletMessage(message(walletBody({ wallet: WALLET, isRemoved: true })))?.isRemoved).toBe(true);
  });

  it.each([
    ["without an error", undefined],
    ["with a status", new HttpError("The service answered with status 500", 500, "")],
    ["with a hint", new RateLimitError("The service answered with status 429", "", 3_000)],
    ["with a timeout", new TimeoutError("GET /x was not answered in full within 10 ms", 10)],
  ])("about how a feed stands, %s, is read as it was written", (_, lastError) => {
    const status = {
      state: "stalled" as const,
      coveredFrom: 60_000,
      coveredUntil: 120_000,
      failures: 3,
      ...(lastError === undefined ? {} : { lastError }),
    };
    const told = { publisher: "me", takeovers: [{ epoch: 5, at: 9_000.5 }], from: 12 };
    const read = readStatusMessage(message(statusBody({ status, ...told })));
    expect(read).toEqual({ ...STAMP, ...told, status });
    expect(read.status.lastError?.constructor).toBe(lastError?.constructor);
    expect(Object.isFrozen(read.status)).toBe(true);
  });

  it("of any kind is read by its publisher as it was written", () => {
    const isRemoved = fc.boolean();
    const bodies = fc.oneof(
      fc
        .record({ isRemoved, candle: fc.constant(CANDLE), status: fc.constant("final" as const) })
        .map(candleBody),
      fc.record({ isRemoved, wallet: fc.constant(WALLET) }).map(walletBody),
      fc
        .record({ from: fc.option(fc.nat(), { nil: undefined }), failures: fc.nat() })
        .map(({ from, failures }) => {
          const status = { state: "stalled" as const, failures, lastError: new TimeoutError("slow", 10) };
          return statusBody({ status, publisher: "me", takeovers: [{ epoch: 5, at: 9_000.5 }], from });
        }),
    );
    const due = fc.option(fc.nat(), { nil: undefined });
    fc.assert(
      fc.property(bodies, due, fc.boolean(), (body, due, isLate) => {
        const isRemoval = body.endsWith('"removed":true}');
        const record = { ...STAMP, body, due, isLate };
        expect(readRecord(writeMessage(record))).toEqual({ ...record, isRemoval });
      }),
    );
  });

  it("about how a feed of nothing stands has neither coverage nor a first message", () => {
    const status = { state: "starting" as const, failures: 0 };
    const read = readStatusMessage(
      message(statusBody({ status, publisher: "me", takeovers: [], from: undefined })),
    );
    expect(read).toEqual({ ...STAMP, publisher: "me", takeovers: [], from: undefined, status });
  });

  it("keeps what a transport says of hosts to itself", () => {
    const status = {
      state: "stalled" as const,
      failures: 1,
      lastError: new NetworkError("connect ECONNREFUSED 10.0.0.7:443"),
    };
    const text = message(statusBody({ status, publisher: "me", takeovers: [], from: undefined }));
    expect(text).not.toContain("10.0.0.7");
  });

  it.each([
    ["a candle", candleBody({ candle: CANDLE, status: "open", isRemoved: false })],
    ["a removed candle", candleBody({ candle: CANDLE, status: "closed", isRemoved: true })],
    ["a wallet", walletBody({ wallet: WALLET, isRemoved: false })],
    [
      "a status",
      statusBody({
        status: { state: "stalled", failures: 1, lastError: new TimeoutError("slow", 10) },
        publisher: "me",
        takeovers: [{ epoch: 5, at: 9_000.5 }],
        from: 3,
      }),
    ],
  ])("about %s is the same for its publisher if a later version says more, in any order", (_, body) => {
    const written = writeMessage({ ...STAMP, body });
    expect(readRecord(JSON.stringify(withMore(JSON.parse(written))))).toEqual(readRecord(written));
  });
});

describe("what is no message of this version", () => {
  const good = message(candleBody({ candle: CANDLE, status: "open", isRemoved: false }));

  it.each([
    ["not JSON", "{", []],
    ["deep", "[".repeat(100_000), []],
    ["of too many values", `[${"0,".repeat(600_000)}0]`, []],
    ["of another version", good.replace('"version":2', '"version":1'), ["version"]],
    ["without an epoch", good.replace('"epoch":7,', ""), ["epoch"]],
    ["with a price that is a text", good.replace('"open":1', '"open":"1"'), ["candle", "open"]],
    ["with another status", good.replace('"open"}', '"half"}'), ["status"]],
    ["about a wallet", message(walletBody({ wallet: WALLET, isRemoved: false })), ["candle"]],
  ])("is refused: %s", (_, text, path) => {
    expect(() => readCandleMessage(text)).toThrow(expect.objectContaining({ name: "ContractError", path }));
  });

  it("is refused by its publisher, too", () => {
    const other = good.replace('"version":2', '"version":1');
    expect(() => readRecord(other)).toThrow(
      expect.objectContaining({ name: "ContractError", path: ["version"] }),
    );
  });

  it("is refused for the first of a hundred thousand bad transactions", () => {
    const wallet = { ...WALLET, sellTransactions: new Array(100_000).fill({}) };
    const text = JSON.stringify({ version: 2, epoch: 1, observedAt: 1, revision: 0, wallet });
    expect(() => readWalletMessage(text)).toThrow(
      expect.objectContaining({ path: ["wallet", "sellTransactions", 0, "transactionHash"] }),
    );
  });
});
