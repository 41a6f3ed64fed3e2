import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readMessage } from "../src/adapters/sse/wire.js";
import { fromWireError } from "../src/adapters/wire/error.js";
import { wallet } from "../src/adapters/wire/model.js";
import { readWire } from "../src/adapters/wire/read.js";
import { toInstant } from "../src/contract/input.js";
import { isPrintable, printable, shortened } from "../src/contract/quote.js";
import { ContractError, PairstreamError } from "../src/errors.js";
import { readCandles } from "../src/replay/read-candles.js";
import { readTape } from "../src/replay/tape.js";
import { failure, fakeClient, PAIR, pageBody, QUERY, type Reply, settled } from "./client/fake-service.js";
import { readSniperBody } from "./quoting-readers.js";

/** What a terminal obeys, or does not show as it stands: by the names of Unicode, every one below U+10000 and some beyond. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const ALL = [...Array.from({ length: 0x10000 }, (_, code) => code), 0x110bd, 0xe0001, 0xe0041].filter(
  (code) => CONTROL.test(String.fromCodePoint(code)),
);
const NAMED = [
  0x1b, 0x07, 0x08, 0x0d, 0x0a, 0x7f, 0x80, 0x9b, 0x9f, 0x202a, 0x202e, 0x2066, 0x2069, 0x2028, 0x2029,
  0x200b,
];
const controls = fc
  .oneof(fc.constantFrom(...NAMED), fc.constantFrom(...ALL))
  .map((code) => String.fromCodePoint(code));
/** A text with such characters in it. */
const foul = fc
  .array(fc.oneof(controls, fc.string({ maxLength: 3 })), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(""))
  .filter((text) => CONTROL.test(text));

/** All that an error says, and all that a terminal gets that shows it, but for what puts it into lines. */
function saidBy(error: unknown): string {
  const { message, stack, name } = error as Error;
  return [message, stack, name, inspect(error, { depth: 10 })].join(" ").replace(/[\n\t]/g, "");
}

describe("the characters of an answer", () => {
  it("are all of the class, and no others, that are shown escaped", () => {
    expect(NAMED.every((code) => ALL.includes(code))).toBe(true);
    for (const code of ALL) {
      const character = String.fromCodePoint(code);
      expect(isPrintable(`a${character}b`)).toBe(false);
      const shown = printable(`a${character}b`);
      expect(shown).toBe(
        code > 0xffff ? `a\\u{${code.toString(16)}}b` : `a\\u${code.toString(16).padStart(4, "0")}b`,
      );
      expect(shortened(`a${character}b`, 20)).not.toMatch(CONTROL);
    }
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(CONTROL);
        if (!CONTROL.test(text)) expect(printable(text)).toBe(text);
      }),
    );
  });

  const places: Record<string, (text: string) => Reply> = {
    "the message of a refusal": (text) => ({ status: 400, body: JSON.stringify({ message: `a ${text} b` }) }),
    "several messages": (text) => ({ status: 500, body: JSON.stringify({ message: ["a", text] }) }),
    "a body that is no JSON": (text) => ({ status: 401, body: `<p>${text}</p>` }),
    "a target": (text) => ({
      status: 302,
      headers: { location: `https://a.test/${encodeURI("")}${latin(text)}` },
    }),
    "a good answer that is no JSON": (text) => ({ body: `${text}<p>` }),
    "within a good answer that is no JSON": (text) => ({ body: `{"a": x${text}` }),
    "the message of a good answer": (text) => ({ body: JSON.stringify({ message: text }) }),
    "the address of a page": (text) => ({ body: pageBody([], { pairAddress: `${PAIR}${text}` }) }),
    "a failure": (text) => ({ failure: new Error(`failed: ${text}`) }),
    "its cause": (text) => ({ failure: new Error("failed", { cause: new Error(text) }) }),
    "its code": (text) => ({ failure: Object.assign(new Error("failed"), { code: text }) }),
    "a failure that is a text": (text) => ({ failure: text }),
  };
  // A header holds nothing else.
  const latin = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/gu, "\x9b");

  it.each(Object.entries(places))("reach no terminal from %s", async (_, place) => {
    await fc.assert(
      fc.asyncProperty(foul, async (text) => {
        const { client, clock } = fakeClient(() => place(text), { retry: false });
        const error = await settled(clock, failure(client.ohlcvPage(QUERY)));
        expect(error).toBeInstanceOf(PairstreamError);
        expect(saidBy(error)).not.toMatch(CONTROL);
      }),
      { numRuns: 40 },
    );
  });

  it("break the contract in an address and in a hash", () => {
    const transaction = { transactionHash: "hash", transactionTimestamp: "2024-01-05T12:00:00.000Z" };
    fc.assert(
      fc.property(foul, (text) => {
        const rows = [
          { walletAddress: "good", snipedTransactions: [transaction] },
          { walletAddress: text },
          { walletAddress: "bad", sellTransactions: [{ ...transaction, transactionHash: `h${text}` }] },
        ];
        const { report, refused } = readSniperBody(JSON.stringify({ blockNumber: 1, result: rows }));
        expect(report.result.map(({ walletAddress }) => walletAddress)).toEqual(["good"]);
        expect(refused.map(({ key }) => key)).toEqual([undefined, "bad"]);
        expect(refused.map(({ error }) => error.issue)).toEqual(["not printable", "not printable"]);
        const whole = JSON.stringify({ transactionHash: text, result: [] });
        expect(() => readSniperBody(whole)).toThrow(ContractError);
        expect(() => readSniperBody(whole)).toThrow("transactionHash: not printable");
      }),
    );
  });

  it("break the contract in the address of a token", async () => {
    const { client, clock } = fakeClient(() => ({ body: pageBody([], { tokenAddress: "a\u001b[2Jb" }) }), {
      retry: false,
    });
    const error = await settled(clock, failure(client.ohlcvPage(QUERY)));
    expect(error).toMatchObject({ name: "ContractError", path: ["tokenAddress"], issue: "not printable" });
  });

  it("reach no terminal from another process", () => {
    fc.assert(
      fc.property(foul, (text) => {
        for (const name of ["HttpError", "ContractError", "InvalidInputError", "NetworkError", "other"]) {
          const path = [text, 1];
          const error = fromWireError({
            name,
            message: text,
            path,
            issue: text,
            parameter: text,
            allowed: text,
          });
          expect(saidBy(error)).not.toMatch(CONTROL);
        }
        const told = { walletAddress: text, snipedTransactions: [], sellTransactions: [] };
        expect(() => readWire(wallet, JSON.stringify(told))).toThrow("walletAddress: not printable");
        expect(() => readMessage(text, "{}")).toThrow(ContractError);
        expect(() => readMessage(text, "{}")).not.toThrow(CONTROL);
      }),
    );
  });

  it("reach no terminal from input and files", async () => {
    await fc.assert(
      fc.asyncProperty(foul, async (text) => {
        const thrown = [
          () => toInstant("from", text),
          () => readTape([`${text}[`]),
          () => readTape([JSON.stringify({ v: 1, headers: { [text]: 1 } })]),
          () => readTape([JSON.stringify({ v: 1, requestHeaders: { [text]: 1 } })]),
        ].map((act) => {
          try {
            act();
          } catch (error) {
            return error;
          }
          return undefined;
        });
        thrown.push(
          await readCandles([`{${text}`])
            [Symbol.asyncIterator]()
            .next()
            .catch((error) => error),
        );
        for (const error of thrown) {
          expect(error).toBeInstanceOf(PairstreamError);
          expect(saidBy(error)).not.toMatch(CONTROL);
        }
      }),
      { numRuns: 100 },
    );
  });
});
