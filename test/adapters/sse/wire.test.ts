import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  readMessage,
  statusText,
  writeCandle,
  writeMessage,
  writeStatus,
  writeWallet,
} from "../../../src/adapters/sse/wire.js";
import { fromWireError, PlainNetworkError, toWireError } from "../../../src/adapters/wire/error.js";
import { fromWireStatus } from "../../../src/adapters/wire/status.js";
import { isPrintable } from "../../../src/contract/quote.js";
import {
  AuthenticationError,
  ContractError,
  HttpError,
  InvalidInputError,
  NetworkError,
  PairstreamError,
  QuotaExceededError,
  RateLimitError,
} from "../../../src/errors.js";
import { minuteCandle } from "../../candles/minute-candles.js";
import { walletOf } from "../../snipers/wallets.js";

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
  hello: 'event: hello\ndata: {"version":3,"heartbeat":1000,"now":null}\n\n',
  snapshot: 'event: snapshot\ndata: {"from":60000,"keep":1000,"observedAt":5,"now":7}\n\n',
  candle:
    'event: candle\ndata: {"candle":{"timestamp":60000,"open":2,"high":2,"low":2,"close":2,' +
    '"volume":1,"swaps":1},"status":"closed","revision":3,"live":true,"due":7,"received":7,"observedAt":5}\n\n',
  removed:
    'event: candle\ndata: {"candle":{"timestamp":60000,"open":2,"high":2,"low":2,"close":2,"volume":1,"swaps":1},' +
    '"isRemoved":true,"status":"closed","revision":3,"live":true,"due":7,"received":7,"observedAt":5}\n\n',
  wallet:
    'event: wallet\ndata: {"walletAddress":"a","wallet":{"walletAddress":"a",' +
    '"snipedTransactions":[{"transactionHash":"h","transactionTimestamp":9,"blocksAfterCreation":null}],' +
    `"sellTransactions":[],${TOTALS}}}\n\n`,
  gone: 'event: wallet\ndata: {"walletAddress":"a","wallet":null}\n\n',
  look: 'event: look\ndata: {"head":{"blockNumber":7,"blockTimestamp":null,"transactionHash":"h"},"observedAt":5}\n\n',
  status:
    'event: status\ndata: {"state":"stalled","coveredFrom":1,"coveredUntil":2,"failures":3,"lastError":' +
    '{"name":"HttpError","message":"The service answered with status 502","status":502}}\n\n',
  waiting: 'event: waiting\ndata: {"state":"starting","failures":0}\n\n',
  ready: "event: ready\ndata: {}\n\n",
};

describe("the wire", () => {
  it("has one line of JSON a message", () => {
    const common = { status: "closed", revision: 3, live: true, due: 7, received: 7, observedAt: 5 } as const;
    const row = { candle: minuteCandle(1, 2), ...common };
    const transaction = { transactionHash: "h", transactionTimestamp: 9, blocksAfterCreation: null };
    const wallet = walletOf("a", { currentBalance: null, snipedTransactions: [transaction] });
    const lastError = new HttpError("no", 502, "body");
    const status = { state: "stalled", coveredFrom: 1, coveredUntil: 2, failures: 3, lastError } as const;
    const head = { blockNumber: 7, blockTimestamp: null, transactionHash: "h" };
    expect({
      hello: writeMessage("hello", { version: 3, heartbeat: 1_000, now: null }),
      snapshot: writeMessage("snapshot", { from: 60_000, keep: 1_000, observedAt: 5, now: 7 }),
      candle: writeCandle(row),
      removed: writeCandle({ candle: row.candle, isRemoved: true, ...common }),
      wallet: writeWallet("a", wallet),
      gone: writeWallet("a", null),
      look: writeMessage("look", { head, observedAt: 5 }),
      status: writeStatus("status", statusText(status)),
      waiting: writeStatus("waiting", statusText({ state: "starting", failures: 0 })),
      ready: writeMessage("ready", {}),
    }).toEqual(GOLDEN);
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
          const message = writeWallet(text, null);
          expect(message.match(/[\r\n]/g)).toHaveLength(3);
          expect(readMessage(...parts(message)).data).toMatchObject({ walletAddress: text });
        },
      ),
    );
  });

  it("gives nothing but documented fields, and freezes", () => {
    const [name, data] = parts(GOLDEN.candle);
    const message = readMessage(
      name,
      data.replace('{"candle"', '{"more":1,"candle"').replace('{"timestamp"', '{"x":1,"timestamp"'),
    );
    expect(JSON.stringify(message.data)).toBe(data);
    expect(Object.isFrozen((message.data as { candle: object }).candle)).toBe(true);
  });

  it.each<[string, string, string, (string | number)[]]>([
    ["candle", '"open":2', '"open":null', ["candle", "candle", "open"]],
    ["candle", '"open":2', '"open":"2"', ["candle", "candle", "open"]],
    ["candle", '"closed"', '"shut"', ["candle", "status"]],
    ["candle", '"revision":3', '"revision":-1', ["candle", "revision"]],
    ["candle", '"revision":3', '"revision":1.5', ["candle", "revision"]],
    ["hello", '"version":3', '"version":2', ["hello", "version"]],
    ["candle", '"live":true,', "", ["candle", "live"]],
    [
      "wallet",
      '"transactionTimestamp":9',
      '"transactionTimestamp":"9"',
      ["wallet", "wallet", "snipedTransactions", 0, "transactionTimestamp"],
    ],
    ["look", '"blockNumber":7', '"blockNumber":"7"', ["look", "head", "blockNumber"]],
    [
      "wallet",
      '"sellTransactions":[]',
      '"sellTransactions":[1]',
      ["wallet", "wallet", "sellTransactions", 0],
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
      const list = `"sellTransactions":[${new Array(100_000).fill(bad).join(",")}]`;
      expect(() => readMessage(name, wallet.replace('"sellTransactions":[]', list))).toThrow(
        expect.objectContaining({
          name: "ContractError",
          path: expect.arrayContaining(["wallet", "wallet", "sellTransactions", 0]),
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
      new HttpError("“hush”: GET /x was answered with status 500", 500, "hush", { cause }),
      new AuthenticationError("“the key hush is not known”: GET /x", 401, "hush"),
      new RateLimitError("“hush”: GET /x", "hush", 7),
      new QuotaExceededError("“hush”: GET /x", "hush", 9),
      new ContractError(["a"], 'not JSON, but "<b>hush"', { said: "hush" }),
      new PairstreamError("JetStream refused: hush", { cause }),
      new TypeError("hush"),
      "hush",
    ].map((error) => toWireError(error));
    expect(JSON.stringify(sent)).not.toContain("hush");
    expect(sent).toEqual([
      { name: "NetworkError", message: "The service could not be reached" },
      { name: "HttpError", message: "The service answered with status 302", status: 302 },
      { name: "HttpError", message: "The service answered with status 500", status: 500 },
      { name: "AuthenticationError", message: "The service answered with status 401", status: 401 },
      { name: "RateLimitError", message: "The service answered with status 429", status: 429, retryAfter: 7 },
      { name: "QuotaExceededError", message: "The quota of the gateway is used up", resetsAt: 9 },
      {
        name: "ContractError",
        message: "The answer breaks the contract at a: not JSON, but something else",
        path: ["a"],
        issue: "not JSON, but something else",
      },
      { name: "PairstreamError", message: "The source of the stream failed" },
      { name: "PairstreamError", message: "The source of the stream failed" },
      { name: "PairstreamError", message: "The source of the stream failed" },
    ]);
  });

  it("says what could not be reached where this library says it in words of its own", () => {
    const sent = toWireError(new PlainNetworkError("The NATS connection was closed", { cause: "hush" }));
    expect(sent).toEqual({ name: "NetworkError", message: "The NATS connection was closed" });
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
    const status = fromWireStatus({ state: "live", failures: 0 });
    expect(Object.keys(status)).toEqual(["state", "failures"]);
    expect(Object.isFrozen(status)).toBe(true);
  });
});
