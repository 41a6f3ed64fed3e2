import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactorOf } from "../../../src/client/send/redact.js";
import type { FetchLike } from "../../../src/client/send/transport.js";
import { createClient, recordExchanges } from "../../../src/index.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { failure, fakeClient, pageBody, QUERY, type Reply, row, START, settled } from "../fake-service.js";

/** What stands in the place of a text that holds the key. */
const MARK = "[left out: holds the key]";

const NAMES: Record<string, string> = {
  ...{ "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos", "+": "plus", "/": "sol" },
  ...{ "=": "equals", "%": "percnt", "#": "num", "{": "lbrace", ":": "colon", ";": "semi" },
  ...{ _: "UnderBar", ".": "period", "}": "rcub", "\\": "bsol" },
};
const MARKS = "+/='\"&<>\\%#;:{}-_.~";
const ASCII = [..."abcdefuxABCXyz0123456789", ...MARKS, ...MARKS];

/** Keys as they can be: visible ASCII, as a header takes it. */
const keys = textOf(ASCII);
const anyKeys = textOf([...ASCII, " ", "é", "ж", "日", "😀"]);

function textOf(characters: readonly string[]): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom(...characters), { minLength: 4, maxLength: 24 })
    .map((parts) => parts.join(""))
    .filter((key) => key.replaceAll("\\", "").length >= 4 && /[a-z]/i.test(key) && !/^\[?key\]?$/i.test(key));
}

const hex = (code: number, length: number) => code.toString(16).padStart(length, "0");
const bytes = (character: string) => [...new TextEncoder().encode(character)];
const units = (character: string) => character.split("").map((unit) => unit.charCodeAt(0));

/** All the ways in which one character is written. */
const WAYS: Record<string, (character: string) => string> = {
  json: (character) =>
    units(character)
      .map((unit) => `\\u${hex(unit, 4)}`)
      .join(""),
  braces: (character) => `\\u{${hex(character.codePointAt(0)!, 2)}}`,
  javascript: (character) => (character < "\u0080" ? `\\x${hex(character.charCodeAt(0), 2)}` : character),
  url: (character) =>
    bytes(character)
      .map((byte) => `%${hex(byte, 2)}`)
      .join(""),
  form: (character) =>
    character === " "
      ? "+"
      : bytes(character)
          .map((byte) => `%${hex(byte, 2)}`)
          .join(""),
  decimal: (character) => `&#${character.codePointAt(0)};`,
  zeros: (character) => `&#000${character.codePointAt(0)};`,
  hexadecimal: (character) => `&#x${hex(character.codePointAt(0)!, 1)};`,
  named: (character) => (NAMES[character] ? `&${NAMES[character]};` : `&#${character.codePointAt(0)};`),
};
const ways = fc.constantFrom(...Object.keys(WAYS));

/** One who escapes a whole text: all of it, or whatever is no letter or digit. */
const escapers = fc.record({ way: ways, isAll: fc.boolean() }).map(
  ({ way, isAll }) =>
    (text: string) =>
      [...text].map((one) => (isAll || !/[a-z\d]/i.test(one) ? WAYS[way]!(one) : one)).join(""),
);

/** The key with each character as it is or in some way, then all of it escaped by up to one more, in other cases. */
const echoes = (of: fc.Arbitrary<string>) =>
  fc
    .record({
      key: of,
      each: fc.array(fc.option(ways, { nil: undefined }), { minLength: 24, maxLength: 24 }),
      whole: fc.option(escapers, { nil: undefined }),
      json: fc.boolean(),
      cased: fc.constantFrom("as it is", "upper", "lower"),
    })
    .map(({ key, each, whole, json, cased }) => {
      let echo = [...key].map((one, at) => (each[at] ? WAYS[each[at]]!(one) : one)).join("");
      if (whole !== undefined) echo = whole(echo);
      if (json) echo = JSON.stringify(echo).slice(1, -1);
      if (cased === "upper") echo = echo.toUpperCase();
      if (cased === "lower") echo = echo.toLowerCase();
      return { key, echo };
    });

/** Every text that a value holds, however deep, stacks included. */
function textsIn(value: unknown, found: string[] = [], seen = new Set<unknown>()): string[] {
  if (typeof value === "string") found.push(value);
  else if (typeof value === "symbol") found.push(String(value));
  else if (typeof value === "object" && value !== null && !seen.has(value)) {
    seen.add(value);
    for (const name of Reflect.ownKeys(value)) {
      found.push(String(name));
      textsIn(Reflect.get(value, name), found, seen);
    }
    if (value instanceof Error) found.push(value.message, String(value.stack), value.name);
  }
  return found;
}

function holds(texts: readonly string[], part: string): boolean {
  return texts.some((text) => text.toLowerCase().includes(part.toLowerCase()));
}

describe("the key, whatever it is and however it is escaped", () => {
  it("is found in any text, which is left out as a whole", () => {
    fc.assert(
      fc.property(
        echoes(anyKeys),
        fc.string({ maxLength: 8 }),
        fc.string({ maxLength: 8 }),
        ({ key, echo }, before, after) => {
          const { text, quote, body } = redactorOf(key);
          const without = `${before}|${after}`;
          fc.pre(text(without) === without);
          expect(text(`${before}|${echo}|${after}`)).toBe(MARK);
          const kept = body(`${before} ${echo} ${after}`);
          expect(holds([kept], echo)).toBe(false);
          expect(holds([kept], key)).toBe(false);
          // Where a text is cut, not even the beginning of it is left.
          const part = quote(`${"-".repeat(10)}${echo}`, 10 + Math.ceil(echo.length / 2));
          expect(MARK.startsWith(part)).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("is in no error and no activity, wherever an answer or a failure holds it", async () => {
    const places: ((echo: string) => Reply)[] = [
      (echo) => ({ status: 400, body: echo }),
      (echo) => ({ status: 400, body: JSON.stringify({ message: echo }) }),
      (echo) => ({ status: 500, body: `{"message":["no","${echo}"]}` }),
      (echo) => ({ status: 401, body: `<p>${"x".repeat(980)}${echo}</p>` }),
      (echo) => ({ status: 302, headers: { location: `https://elsewhere.test/?k=${encodeURI(echo)}` } }),
      (echo) => ({ body: echo }),
      (echo) => ({ body: `{"message":"${echo}` }),
      (echo) => ({ body: JSON.stringify({ message: echo }) }),
      (echo) => ({ body: pageBody([], { pairAddress: echo }) }),
      (echo) => ({ body: pageBody([row(START - 60_000, { open: echo })], { timeframe: echo }) }),
      (echo) => ({ failure: new Error(`cannot fetch with ${echo}`) }),
      (echo) => ({ failure: new TypeError("fetch failed", { cause: new Error(`header ${echo}`) }) }),
      (echo) => ({
        failure: Object.assign(new Error("failed"), { code: echo, url: `https://a.test/${echo}` }),
      }),
      (echo) => ({ failure: { [echo]: [echo] } }),
      (echo) => ({ failure: echo }),
    ];
    const run = async (apiKey: string, reply: Reply) => {
      const { client, clock, activity } = fakeClient(() => reply, { apiKey });
      const error = await settled(clock, failure(client.ohlcvPage(QUERY)));
      return textsIn([error, activity]);
    };
    await fc.assert(
      fc.asyncProperty(echoes(keys), fc.constantFrom(...places), async ({ key, echo }, place) => {
        fc.pre(!holds(await run("none-of-these", place("")), key));
        const texts = await run(key, place(echo));
        expect(holds(texts, echo)).toBe(false);
        expect(holds(texts, key)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it("is in no line of a tape", async () => {
    const run = async (apiKey: string, echo: string, place: number) => {
      const lines: string[] = [];
      const clock = new VirtualClock(START);
      const answer: FetchLike = async () => {
        if (place === 0) throw Object.assign(new Error(echo, { cause: new Error(echo) }), { code: echo });
        const body = place === 1 ? `{"message":"${echo}"}` : JSON.stringify({ message: echo });
        return { status: 200, headers: { get: () => `https://a.test/${echo}` }, text: async () => body };
      };
      const fetch = recordExchanges(answer, (line) => lines.push(line));
      const client = createClient({
        baseUrl: "https://a.test",
        apiKey,
        fetch,
        scheduler: clock,
        retry: false,
      });
      await settled(clock, failure(client.ohlcvPage({ ...QUERY, cursor: `c${echo}` })));
      expect(lines).toHaveLength(1);
      return [...lines, ...textsIn(JSON.parse(lines[0]!))];
    };
    await fc.assert(
      fc.asyncProperty(echoes(keys), fc.integer({ min: 0, max: 2 }), async ({ key, echo }, place) => {
        fc.pre(!holds(await run("none-of-these", "", place), key));
        const texts = await run(key, echo, place);
        expect(holds(texts, key)).toBe(false);
        expect(holds(texts, echo)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});
