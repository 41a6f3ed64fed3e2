import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  candleBody,
  readCandleMessage,
  readPulse,
  readStatusMessage,
  readWalletMessage,
  statusBody,
  writeMessage,
} from "../../../src/adapters/nats/message.js";
import { walletText } from "../../../src/adapters/wire/model.js";
import { HttpError, NetworkError, RateLimitError, TimeoutError } from "../../../src/index.js";
import { walletOf } from "./wallets.js";

const STAMP = { epoch: 7, number: 3, observedAt: 65_000, revision: 2 };
const CANDLE = { timestamp: 60_000, open: 1, high: 3, low: 0.5, close: 2, volume: 1e-7, swaps: 4 };
const WALLET = walletOf("wallet", 2);
const message = (body: string, more?: object) => writeMessage(STAMP, body, more);
const candleText = message(candleBody({ candle: CANDLE, status: "open" }), { due: 66_000 });
const STATUS = {
  publisher: "abc",
  told: true,
  from: 60_000,
  rules: { every: 60_000, settle: 100, revisionWindow: 2, weekStart: "monday" },
} as const;
const live = { state: "live", coveredFrom: 1, coveredUntil: 2, failures: 0 } as const;

/** What a later version may say: the same value with its fields in another order, and another field in each object. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, of]) => [key, withMore(of)]);
  return Object.fromEntries([["more", { note: 1 }], ...entries.reverse()]);
}

describe("a message", () => {
  it("about a candle is the text that the documents show", () => {
    expect(candleText).toBe(
      '{"version":3,"epoch":7,"number":3,"observedAt":65000,"revision":2,"due":66000,' +
        '"candle":{"timestamp":60000,"open":1,"high":3,"low":0.5,"close":2,"volume":1e-7,"swaps":4},"status":"open"}',
    );
  });

  it("about a candle is read as it was written, frozen", () => {
    const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });
    const prices = { open: price, high: price, low: price, close: price, volume: price };
    const candle = fc.record({ timestamp: fc.nat(), ...prices, swaps: fc.nat() });
    const status = fc.constantFrom(...(["open", "closed", "final"] as const));
    const flag = fc.constantFrom(undefined, true as const);
    fc.assert(
      fc.property(candle, status, flag, flag, (candle, status, removed, late) => {
        const body = candleBody({ candle, status, removed });
        const read = readCandleMessage(message(body, { due: 1, late }));
        expect(read).toEqual({ ...STAMP, candle, status, removed, late, due: 1 });
        expect(Object.isFrozen(read.candle)).toBe(true);
        expect(candleBody(read)).toBe(body);
      }),
    );
  });

  it.each([
    ["a wallet", WALLET],
    ["a wallet that is gone", null],
  ])("about %s is read as it was written", (_, wallet) => {
    const body = walletText("wallet", wallet);
    expect(readWalletMessage(message(body))).toMatchObject({ ...STAMP, walletAddress: "wallet", wallet });
  });

  it("about a wallet holds nothing but its fields", () => {
    const more = { ...WALLET, note: "more" };
    expect(walletText("wallet", more)).toBe(walletText("wallet", WALLET));
  });

  it.each([
    new NetworkError("host"),
    new HttpError("said", 500, "body"),
    new RateLimitError("said", "", 3_000),
    new TimeoutError("slow", 10),
  ])("about a status keeps the class of its error: %s", (lastError) => {
    const status = { ...live, state: "stalled", failures: 3, lastError } as const;
    const look = { head: { blockNumber: 1, blockTimestamp: 2, transactionHash: "a" }, observedAt: 5 };
    const read = readStatusMessage(message(statusBody({ ...STATUS, look, status })));
    expect(read).toMatchObject({ ...STAMP, ...STATUS, look });
    expect(read.status.lastError).toBeInstanceOf(lastError.constructor);
    expect(JSON.stringify(read.status)).not.toContain("host");
  });

  it("is read where a later version says more, in any order", () => {
    const texts = [
      [readCandleMessage, candleText],
      [readWalletMessage, message(walletText("wallet", WALLET))],
      [readStatusMessage, message(statusBody({ ...STATUS, status: live }))],
      [readPulse, '{"epoch":1,"number":2}'],
    ] as const;
    for (const [read, text] of texts) {
      expect(read(JSON.stringify(withMore(JSON.parse(text))))).toEqual(read(text));
    }
  });
});

describe("what is no message of this version", () => {
  it.each([
    ["not JSON", "{", []],
    ["deep", "[".repeat(100_000), []],
    ["of another version", candleText.replace('"version":3', '"version":2'), ["version"]],
    ["without an epoch", candleText.replace('"epoch":7,', ""), ["epoch"]],
    ["with a price that is a text", candleText.replace('"open":1', '"open":"1"'), ["candle", "open"]],
    ["with another status", candleText.replace('"open"}', '"half"}'), ["status"]],
  ])("is refused: %s", (_, text, path) => {
    expect(() => readCandleMessage(text)).toThrow(expect.objectContaining({ name: "ContractError", path }));
  });

  it("is refused for the first of a hundred thousand bad transactions", () => {
    const wallet = { ...WALLET, sellTransactions: new Array(100_000).fill({}) };
    const text = JSON.stringify({ version: 3, ...STAMP, walletAddress: "wallet", wallet });
    expect(() => readWalletMessage(text)).toThrow(
      expect.objectContaining({ path: ["wallet", "sellTransactions", 0, "transactionHash"] }),
    );
  });
});
