import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClientOptions } from "../../../src/client/options.js";
import { redactorOf } from "../../../src/client/send/redact.js";
import type { FetchLike } from "../../../src/client/send/transport.js";
import { PairstreamError } from "../../../src/errors.js";
import { failure, fakeClient, pageBody, QUERY, type Reply, row, START, settled } from "../fake-service.js";

/** What stands in the place of a text that holds the key. */
const MARK = "[left out: holds the key]";
const KEY = 'hush/"&<%+key\\with=odd~marks';

/** Everything that can be read off a value. */
function everythingIn(value: unknown): string {
  return inspect(value, {
    depth: 20,
    showHidden: true,
    getters: true,
    maxStringLength: null,
    maxArrayLength: null,
  });
}

/** The forms in which a careless service or library might write the key. */
const FORMS: Record<string, string> = {
  "as it is": KEY,
  "percent-encoded": encodeURIComponent(KEY),
  "percent-encoded in lower case": encodeURIComponent(KEY).replace(/%[0-9A-F]{2}/g, (code) =>
    code.toLowerCase(),
  ),
  "as a form": new URLSearchParams({ k: KEY }).toString().slice(2),
  "percent-encoded twice": encodeURIComponent(encodeURIComponent(KEY)),
  "as JSON": JSON.stringify(KEY),
  "as JSON in JSON": JSON.stringify(JSON.stringify(KEY)),
  "as PHP's JSON": JSON.stringify(KEY).replaceAll("/", "\\/"),
  "as Go's JSON": JSON.stringify(KEY).replaceAll("&", "\\u0026").replaceAll("<", "\\u003c"),
  "as HTML text": KEY.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  "as an HTML attribute": KEY.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
};

/** The tell-tale part of the key, which has no marks that could be escaped. */
const TELLTALE = /hush|odd~marks/;

describe("the redactor", () => {
  it.each(Object.entries(FORMS))("leaves a text out that holds the key %s, and says so", (_name, form) => {
    const { text, route, body, quote } = redactorOf(KEY);
    expect(text(`before ${form} after ${form}`)).toBe(MARK);
    expect(quote(`before ${form} after`, 100)).toBe(MARK);
    expect(body(`before ${form} after`)).toBe(`before ${MARK} after`);
    const told = body(JSON.stringify({ message: `Not ${form} again`, list: [1, form, "kept"] }));
    expect(JSON.parse(told)).toEqual({ message: `Not ${MARK} again`, list: [1, MARK, "kept"] });
    expect(body(JSON.stringify({ [form]: 1 }))).toBe(MARK);
    expect(route(`/a/b?c=${encodeURIComponent(form)}&d=e`)).toBe(`/a/b?c=${MARK}&d=e`);
  });

  it.each([
    "100% of your plan",
    "50%25 or 100%",
    "AT&T & others; &nothing; \\ \\u12 \\x &#; &#x; %C0%80 &#99999999999;",
    "a+b=c, &amp; so on &lt;br&gt;",
  ])("quotes what holds none: %s", (told) => {
    const { text, body, quote } = redactorOf(KEY);
    expect([text(told), body(told), quote(told, 100)]).toEqual([told, told, told]);
  });

  it("leaves out what is escaped more often than anybody does", () => {
    const { text } = redactorOf(KEY);
    expect(text(`%${"25".repeat(20)}`)).toBe(MARK);
    expect(text("%2525 of it")).toBe("%2525 of it");
  });

  it("finds a key that looks escaped itself, however much of it is escaped", () => {
    for (const key of ["%41%41-%zz", "a&#35;b;&amp;", "&#3-4-5-6", "\\u0041-x", "u0041-x41", "%%41%c3x"]) {
      const { text } = redactorOf(key);
      for (let at = 0; at < key.length; at += 1) {
        for (const write of [
          (one: string) => `&#${one.charCodeAt(0)};`,
          (one: string) => `%${one.charCodeAt(0).toString(16)}`,
          (one: string) => `\\\\u00${one.charCodeAt(0).toString(16)}`,
        ]) {
          const echo = `${key.slice(0, at)}${write(key[at]!)}${key.slice(at + 1)}`;
          expect([key, at, text(`it is ${echo}.`)]).toEqual([key, at, MARK]);
        }
      }
    }
  });

  it("leaves any text out that holds any key, and nothing else", () => {
    const keys = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 8,
    });
    fc.assert(
      fc.property(keys, fc.string(), fc.string(), (key, before, after) => {
        fc.pre(!before.includes(key));
        // What takes the key's beginning for the end of an escape is no writing of the key.
        fc.pre(!/%[\da-f]?$/i.test(before));
        const { text } = redactorOf(key);
        for (const form of [key, encodeURIComponent(key), JSON.stringify(key)]) {
          expect(text(before + form + after)).not.toContain(key);
          expect(text(before + form + after)).toBe(MARK);
        }
        expect(text(before)).toBe(before);
      }),
    );
  });

  it("is quick about texts that are made to be slow", () => {
    const { text } = redactorOf(`${"\\".repeat(50)}${"%25".repeat(50)}${"a".repeat(50)}&&&&&&amp;amp;`);
    for (const part of ["\\", "%25", "a", "a\\", "&amp;", "&", "\\u00"]) {
      const long = part.repeat(20_000);
      expect(text(long)).toBe(long);
    }
  });

  it("keeps a cause that cannot hold the key, and remakes any other", () => {
    const { cause } = redactorOf(KEY);
    const harmless = Object.assign(new TypeError("fetch failed", { cause: new Error("ECONNRESET") }), {
      code: "ECONNRESET",
      socket: { port: 443, bytes: [1, 2] },
    });
    for (const kept of [harmless, undefined, null, "refused", 7]) expect(cause(kept)).toBe(kept);
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const suspects: unknown[] = [
      new Error(`with ${KEY}`),
      Object.assign(new Error("a property"), { config: { headers: { "X-API-Key": KEY } } }),
      Object.assign(new Error("a name"), { [KEY]: 1 }),
      Object.assign(new Error("a header list"), { headers: new Headers({ "x-api-key": KEY }) }),
      Object.assign(new Error("a map"), { held: new Map([["key", KEY]]) }),
      Object.assign(new Error("a function"), { toJSON: () => KEY }),
      Object.assign(new Error("a buffer"), { held: Buffer.from(KEY) }),
      Object.assign(new Error("hidden"), { [Symbol("k")]: [KEY] }),
      Object.defineProperty(new Error("not listed"), "held", { value: KEY, enumerable: false }),
      Object.defineProperty(new Error("throwing"), "held", {
        get() {
          throw new Error(KEY);
        },
      }),
      new Error("outer", { cause: new Error("inner", { cause: { note: KEY } }) }),
      new AggregateError([new Error(KEY)], "several"),
      { headers: { key: KEY } },
      [KEY],
      KEY,
      cyclic,
      Object.assign(new Error("a name"), { name: `Error of ${KEY}` }),
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error(KEY);
          },
          get() {
            throw new Error(KEY);
          },
        },
      ),
    ];
    for (const suspect of suspects) {
      const remade = cause(suspect);
      expect(remade).toBeInstanceOf(Error);
      expect(remade === suspect).toBe(false);
      expect(everythingIn(remade)).not.toMatch(TELLTALE);
    }
    expect(cause(Object.assign(new TypeError(`bad ${KEY}!`)))).toMatchObject({
      name: "TypeError",
      message: MARK,
    });
  });

  it("leaves texts alone for a key too short to be one", () => {
    for (const none of ["", "\\", "abc", "\\\\a\\"])
      expect(redactorOf(none).text(`abc %61 ${none}`)).toBe(`abc %61 ${none}`);
    expect(redactorOf("k").text("GET /token")).toBe("GET /token");
  });
});

describe("the key", () => {
  const seen = async (reply: (index: number) => Reply, options: Partial<ClientOptions> = {}) => {
    const { client, clock, activity, calls } = fakeClient((_, index) => reply(index), {
      apiKey: KEY,
      ...options,
    });
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(PairstreamError);
    for (const call of calls) expect(call.headers["X-API-Key"]).toBe(KEY);
    expect(everythingIn([error, activity])).not.toMatch(TELLTALE);
    return error as PairstreamError;
  };

  it.each(Object.entries(FORMS))("is in no error of a service that echoes it %s", async (_name, form) => {
    const statuses = [400, 401, 403, 404, 424, 429, 500, 200, 302];
    for (const status of statuses) {
      await seen(() => ({ status, body: `<p>Your key ${form} is bad</p>` }));
      await seen(() => ({ status, body: JSON.stringify({ message: `Your key ${form} is bad` }) }));
      await seen(() => ({ status, body: JSON.stringify({ message: [form, `${"x".repeat(990)}${form}`] }) }));
      await seen(() => ({ status, body: `${"x".repeat(990)}${form}${"x".repeat(50)}` }));
      await seen(() => ({
        status,
        body: form,
        headers: { location: `https://evil.test/?key=${encodeURIComponent(KEY)}` },
      }));
    }
  });

  it("is in no error of a broken answer that quotes it", async () => {
    const { message } = await seen(() => ({ body: pageBody([], { pairAddress: KEY }) }));
    expect(message).toContain(`the answer is for ${MARK}, the request was for`);
    await seen(() => ({
      body: pageBody([row(START - 60_000, { open: KEY })], { timeframe: KEY, currency: KEY }),
    }));
    await seen(() => ({ body: pageBody([row(START - 60_000, { [KEY]: KEY, open: -1 })]) }));
  });

  it("is in no activity, where the service makes it a cursor", async () => {
    const { client, clock, activity, calls } = fakeClient(
      (_, index) => ({ body: pageBody([row(START - 60_000)], { cursor: index === 0 ? KEY : null }) }),
      { apiKey: KEY },
    );
    const pages = client.ohlcvPages(QUERY)[Symbol.asyncIterator]();
    await settled(clock, pages.next());
    await settled(clock, pages.next());
    expect(calls).toHaveLength(2);
    expect(everythingIn(activity)).not.toMatch(TELLTALE);
  });

  it("is in no error of a fetch that throws what it was given", async () => {
    const throwing: FetchLike[] = [
      async (url, init) => {
        throw Object.assign(new Error(`cannot fetch ${url}`), { init });
      },
      async (_, init) => {
        throw new Error(JSON.stringify(init?.headers));
      },
      async (_, init) => {
        throw init;
      },
      (_, init) => {
        throw new TypeError("bad request", { cause: { request: { headers: [init?.headers] } } });
      },
      async (_, init) => {
        const text = async () => {
          throw new Error(`died with ${init?.headers?.["X-API-Key"]}`);
        };
        return { status: 200, headers: new Headers(), text };
      },
    ];
    for (const fetch of throwing) {
      const error = await seen(() => ({}), { fetch });
      expect(error.name).toBe("NetworkError");
      expect(error.cause).toBeInstanceOf(Error);
    }
  });
});
