import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  readMessage,
  readStatus,
  writeCandle,
  writeMessage,
  writeSniper,
  writeStatus,
  writeWallet,
} from "../../../src/adapters/sse/wire.js";
import { fromWireError, toWireError } from "../../../src/adapters/wire/error.js";
import { isPrintable } from "../../../src/contract/quote.js";
import {
  ContractError,
  HttpError,
  InvalidInputError,
  NetworkError,
  PairstreamError,
  RateLimitError,
} from "../../../src/errors.js";
import type { SniperEvent } from "../../../src/snipers/event.js";
import { minuteCandle } from "../../candles/minute-candles.js";
import { walletOf } from "../../snipers/wallets.js";
import { eventOf } from "./told-market.js";

/** Name and data of the one message in a text. */
function parts(text: string): [string, string] {
  const match = /^event: (.*)\ndata: (.*)\n\n$/.exec(text);
  return [match![1]!, match![2]!];
}

const TOTALS =
  '"totalSellTransactions":0,"totalSnipedTransactions":0,"totalTokensSniped":0,"totalSnipedUsd":0,' +
  '"totalTokensSold":0,"totalSoldUsd":0,"currentBalance":null,"currentBalanceUsdValue":0,' +
  '"realizedProfitPercentage":0,"realizedProfitUsd":0';

// Written out by hand: what is on the wire is a promise to receivers of the same version.
const GOLDEN = {
  candle:
    'event: candle\ndata: {"type":"updated","life":7,"candle":{"timestamp":60000,"open":2,"high":2,"low":2,"close":2,' +
    '"volume":1,"swaps":1},"status":"closed","revision":3,"live":true,"due":7,"received":7,"observedAt":5,"series":{"network":"mainnet",' +
    '"pairAddress":"pair","timeframe":"1min","currency":"usd"}}\n\n',
  sniper:
    'event: sniper\ndata: {"pairAddress":"pair","initial":false,"observedAt":5,"type":"sold","walletAddress":"a",' +
    '"transaction":{"transactionHash":"h","transactionTimestamp":9,"blocksAfterCreation":null}}\n\n',
  wallet:
    'event: wallet\ndata: {"pairAddress":"pair","observedAt":5,"walletAddress":"a","wallet":{"walletAddress":"a",' +
    `"snipedTransactions":[],"sellTransactions":[],${TOTALS}}}\n\n`,
  gone: 'event: wallet\ndata: {"pairAddress":"pair","observedAt":5,"walletAddress":"a","wallet":null}\n\n',
  status:
    'event: status\ndata: {"state":"stalled","coveredFrom":1,"coveredUntil":2,"failures":3,"lastError":' +
    '{"name":"HttpError","message":"no","status":502}}\n\n',
  ready: "event: ready\ndata: {}\n\n",
};

describe("the wire", () => {
  it("has one line of JSON a message", () => {
    const updated = eventOf("updated", 1, {
      price: 2,
      previous: minuteCandle(1),
      status: "closed",
      revision: 3,
      observedAt: 5,
    });
    const sold: SniperEvent = {
      type: "sold",
      walletAddress: "a",
      transaction: { transactionHash: "h", transactionTimestamp: 9, blocksAfterCreation: null },
      pairAddress: "pair",
      initial: false,
      observedAt: 5,
    };
    const place = { pairAddress: "pair", walletAddress: "a", observedAt: 5 };
    const lastError = new HttpError("no", 502, "body");
    expect(writeCandle(updated, "updated", 7, 7)).toBe(GOLDEN.candle);
    expect(writeSniper(sold)).toBe(GOLDEN.sniper);
    const { pairAddress, walletAddress, observedAt } = place;
    const wallet = walletOf("a", { currentBalance: null });
    expect(writeWallet({ pairAddress, walletAddress, wallet, observedAt })).toBe(GOLDEN.wallet);
    expect(writeWallet({ pairAddress, walletAddress, wallet: null, observedAt })).toBe(GOLDEN.gone);
    const status = { state: "stalled", coveredFrom: 1, coveredUntil: 2, failures: 3, lastError } as const;
    expect(writeStatus(status)).toBe(GOLDEN.status);
    expect(writeMessage("ready", {})).toBe(GOLDEN.ready);
  });

  it.each(Object.entries(GOLDEN))("is read as it was written: %s", (_, text) => {
    const [name, data] = parts(text);
    const message = readMessage(name, data);
    expect({ name: message.name, data: JSON.stringify(message.data) }).toEqual({ name, data });
  });

  it("may hold any text that can be shown", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.integer({ min: 0, max: 0xd7ff }).map((code) => String.fromCharCode(code)),
          minLength: 1,
        }),
        (text) => {
          fc.pre(isPrintable(text));
          const message = writeWallet({
            pairAddress: text,
            walletAddress: text,
            wallet: null,
            observedAt: 1,
          });
          expect(message.match(/[\r\n]/g)).toHaveLength(3);
          expect(readMessage(...parts(message)).data).toMatchObject({ pairAddress: text });
        },
      ),
    );
  });

  it("gives nothing but documented fields, and freezes", () => {
    const [name, data] = parts(GOLDEN.candle);
    const message = readMessage(
      name,
      data.replace('{"type"', '{"more":1,"type"').replace('{"open"', '{"x":1,"open"'),
    );
    expect(JSON.stringify(message.data)).toBe(data);
    const { candle, series } = message.data as { candle: object; series: object };
    expect([Object.isFrozen(candle), Object.isFrozen(series)]).toEqual([true, true]);
  });

  it.each<[string, string, string, (string | number)[]]>([
    ["candle", '"open":2', '"open":null', ["candle", "candle", "open"]],
    ["candle", '"open":2', '"open":"2"', ["candle", "candle", "open"]],
    ["candle", '"closed"', '"shut"', ["candle", "status"]],
    ["candle", '"revision":3', '"revision":-1', ["candle", "revision"]],
    ["candle", '"revision":3', '"revision":1.5', ["candle", "revision"]],
    ["candle", '"1min"', '"7min"', ["candle", "series", "timeframe"]],
    ["candle", '"live":true,', "", ["candle", "live"]],
    ["sniper", '"sold"', '"bought"', ["sniper", "type"]],
    [
      "sniper",
      '"transactionTimestamp":9',
      '"transactionTimestamp":"9"',
      ["sniper", "transaction", "transactionTimestamp"],
    ],
    [
      "wallet",
      '"snipedTransactions":[]',
      '"snipedTransactions":[1]',
      ["wallet", "wallet", "snipedTransactions", 0],
    ],
    ["wallet", '"totalSoldUsd":0', '"totalSoldUsd":"0"', ["wallet", "wallet", "totalSoldUsd"]],
    ["status", '"stalled"', '"dead"', ["status", "state"]],
    ["status", '"name":"HttpError",', "", ["status", "lastError", "name"]],
    ["ready", "{}", "[]", ["ready"]],
    ["ready", "{}", "null", ["ready"]],
  ])("refuses in %s %s as %s", (kind, good, bad, path) => {
    const [name, data] = parts(GOLDEN[kind as keyof typeof GOLDEN]);
    expect(data).toContain(good);
    expect(() => readMessage(name, data.replace(good, bad))).toThrow(
      expect.objectContaining({ name: "ContractError", path, cause: expect.anything() }),
    );
  });
});

describe("a message that is too much", () => {
  const [name, wallet] = parts(GOLDEN.wallet);

  it("is refused for the first of a hundred thousand bad transactions", () => {
    for (const bad of ["{}", "0"]) {
      const list = `"snipedTransactions":[${new Array(100_000).fill(bad).join(",")}]`;
      expect(() => readMessage(name, wallet.replace('"snipedTransactions":[]', list))).toThrow(
        expect.objectContaining({
          name: "ContractError",
          path: expect.arrayContaining(["wallet", "wallet", "snipedTransactions", 0]),
        }),
      );
    }
  });

  it.each([
    ["deep", "[".repeat(100_000), expect.stringContaining("not JSON, but")],
    ["of too many values", `[${"0,".repeat(600_000)}0]`, "not an object"],
    ["no JSON", "{", 'not JSON, but "{…"'],
  ])("is refused before it is read: %s", (_, data, issue) => {
    expect(() => readMessage(name, data)).toThrow(expect.objectContaining({ path: ["wallet"], issue }));
    expect(readMessage(name, `\uFEFF${wallet}`)).toMatchObject({ name: "wallet" });
  });
});

describe("an error on the wire", () => {
  it("keeps what tells users what to do, and nothing that may be a secret", () => {
    const cause = new Error("hush");
    const sent = [
      new NetworkError("GET /x got no answer: connect ECONNREFUSED 10.0.0.7:443", { cause }),
      new HttpError("GET /x was answered with status 302, a redirect to https://hush.example", 302, "hush"),
      new HttpError("GET /x was answered with status 500, “broken”", 500, "hush", { cause }),
      new TypeError("hush"),
      "hush",
    ].map((error) => toWireError(error));
    expect(sent).toEqual([
      { name: "NetworkError", message: "The service could not be reached" },
      { name: "HttpError", message: "The service answered with status 302", status: 302 },
      { name: "HttpError", message: "GET /x was answered with status 500, “broken”", status: 500 },
      { name: "PairstreamError", message: "The source of the stream failed" },
      { name: "PairstreamError", message: "The source of the stream failed" },
    ]);
  });

  it("of a name that is not known is a plain one", () => {
    const error = fromWireError({ name: "NewError", message: "what it says" });
    expect(error).toEqual(new PairstreamError("what it says"));
    expect(error.constructor).toBe(PairstreamError);
  });

  it("has the fields of its class, whatever is missing", () => {
    const message = "what it says";
    expect(fromWireError({ name: "ContractError", message })).toMatchObject({ path: [], issue: message });
    expect(fromWireError({ name: "HttpError", message })).toMatchObject({ status: 0, body: "", message });
    expect(fromWireError({ name: "RateLimitError", message })).toEqual(new RateLimitError(message, ""));
    const input = new InvalidInputError("limit", "a number; allowed: more", "is 7");
    expect(fromWireError(toWireError(input))).toEqual(input);
    const contract = new ContractError(["result", 0], "no number");
    expect(fromWireError(toWireError(contract)).message).toBe(contract.message);
  });

  it("is absent where a status has none", () => {
    const status = readStatus({ state: "live", failures: 0 });
    expect(Object.keys(status)).toEqual(["state", "failures"]);
    expect(Object.isFrozen(status)).toBe(true);
  });
});
