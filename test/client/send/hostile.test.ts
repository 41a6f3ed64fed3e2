import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { redactorOf } from "../../../src/client/send/redact.js";
import type { FetchLike } from "../../../src/client/send/transport.js";
import { ContractError, HttpError, InvalidInputError, NetworkError } from "../../../src/errors.js";
import {
  failure,
  fakeClient,
  PAGE,
  PAIR,
  pageBody,
  QUERY,
  REPORT,
  row,
  START,
  settled,
} from "../fake-service.js";
import { clientOf, serve } from "./loopback.js";

/** All that can be read off an error, but for where it was made. */
function tellsOf(error: unknown): string {
  const parts: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) {
    parts.push(
      each.message,
      String(each.stack),
      inspect({ ...each, stack: undefined }, { depth: 9, maxStringLength: null }),
    );
  }
  return parts.join("\n");
}

const CURSOR = "opaque-cursor-".repeat(250);

describe("what a fetch gives that is no answer", () => {
  const headers = new Headers();
  const text = async () => PAGE;
  const stream = (chunk: unknown) => ({
    getReader: () => ({ read: async () => ({ done: false, value: chunk }) }),
  });
  const wrong: [string, unknown][] = [
    ["undefined", undefined],
    ["null", null],
    ["a text", PAGE],
    ["no status", { headers, text }],
    ["a status that is a text", { status: "200", headers, text }],
    ["a status that is no number", { status: Number.NaN, headers, text }],
    ["no headers", { status: 200, text }],
    ["headers without get", { status: 200, headers: {}, text }],
    ["headers whose get throws", { status: 200, headers: { get: () => JSON.parse("{") }, text }],
    ["no text", { status: 200, headers }],
    ["a text that is none yet", { status: 200, headers, text: async () => undefined }],
    ["null for a text", { status: 200, headers, text: async () => null }],
    ["a number for a text", { status: 200, headers, text: async () => 5 }],
    ["an object for a text", { status: 200, headers, text: async () => ({ length: 1 }) }],
    ["bytes for a text", { status: 200, headers, text: async () => new Uint8Array(3) }],
    ["a stream of texts", { status: 200, headers, text, body: stream("text") }],
    ["a stream of nothing", { status: 200, headers, text, body: stream(undefined) }],
  ];

  it.each(wrong)("is a network error: %s", async (_, answer) => {
    for (const fetch of [async () => answer, () => answer]) {
      const { client, clock } = fakeClient(() => ({}), {
        fetch: fetch as unknown as FetchLike,
        retry: false,
      });
      const calls = [() => client.ohlcvPage(QUERY), () => client.sniperReport({ pairAddress: PAIR })];
      for (const call of calls) {
        const error = await failure(settled<unknown>(clock, call()));
        expect(error).toBeInstanceOf(NetworkError);
        expect((error as NetworkError).cause).toBeInstanceOf(Error);
      }
    }
  });

  it("is an answer where only its headers are odd", async () => {
    const get = vi.fn(
      (name: string) => ({ date: 7, "retry-after": {}, "x-request-weight": [] })[name] as never,
    );
    for (const status of [200, 429, 503]) {
      const fetch = async () => ({ status, headers: { get }, text });
      const { client, clock } = fakeClient(() => ({}), { fetch, retry: false });
      const call = settled(clock, client.ohlcvPage(QUERY));
      if (status === 200) expect((await call).result).toHaveLength(1);
      else expect(await failure(call)).toMatchObject({ status });
    }
  });
});

describe("a byte order mark", () => {
  it.each([
    ["cross-fetch", {}],
    ["the global fetch", { fetch: globalThis.fetch as FetchLike }],
  ])("is passed over by %s", async (_, options) => {
    const { url } = await serve((request, response) => {
      response.end(`\uFEFF${request.url!.includes("snipers") ? REPORT : PAGE}`);
    });
    const client = clientOf(url, options);
    expect((await client.ohlcvPage(QUERY)).result).toHaveLength(1);
    expect((await client.sniperReport({ pairAddress: PAIR })).result).toHaveLength(1);
  });

  it("is passed over in the texts of a fetch, and in the message of an error", async () => {
    const { client, clock } = fakeClient((_, index) =>
      index === 0 ? { body: `\uFEFF${PAGE}` } : { status: 400, body: '\uFEFF{"message":"no such day"}' },
    );
    expect((await settled(clock, client.ohlcvPage(QUERY))).result).toHaveLength(1);
    expect(await failure(settled(clock, client.ohlcvPage(QUERY)))).toMatchObject({
      message: expect.stringContaining("“no such day”"),
    });
  });
});

describe("a cursor", () => {
  it("is in no error about a request that carries it", async () => {
    const { url } = await serve((request, response) => {
      if (request.url!.includes("cursor=")) request.socket.destroy();
      else response.end(pageBody([row(START - 60_000)], { cursor: CURSOR }));
    });
    for (const options of [{}, { fetch: globalThis.fetch as FetchLike }]) {
      const pages = clientOf(url, options).ohlcvPages(QUERY)[Symbol.asyncIterator]();
      await pages.next();
      const error = (await failure(pages.next() as Promise<unknown>)) as NetworkError;
      expect(error).toBeInstanceOf(NetworkError);
      expect(tellsOf(error)).not.toContain("opaque");
      expect(error.message.length).toBeLessThan(500);
      if (!("fetch" in options))
        expect(error.cause).toMatchObject({ code: "ECONNRESET", name: "FetchError" });
    }
  });

  it("is in no error of a fetch that quotes what it was asked", async () => {
    const throwing: ((url: string) => unknown)[] = [
      (url) => new Error(`cannot fetch ${url} today`),
      (url) => url,
      (url) =>
        Object.assign(new TypeError("Failed to parse URL", { cause: new Error(`bad: "${url}"`) }), {
          input: url,
        }),
      (url) => new Error("x", { cause: { url } }),
      (url) => Object.assign(new Error("y"), { name: url }),
      (url) => new AggregateError([new Error(url)], "all"),
      (url) => new Error(`${"long ".repeat(400_000)}${url}`),
    ];
    for (const make of throwing) {
      const fetch: FetchLike = async (url) => {
        throw make(url);
      };
      const { client, clock } = fakeClient(() => ({}), { fetch, retry: false });
      const error = await failure(settled(clock, client.ohlcvPage({ ...QUERY, cursor: CURSOR })));
      expect(error).toBeInstanceOf(NetworkError);
      expect(tellsOf(error)).not.toContain("opaque");
      expect((error as Error).message.length).toBeLessThan(500);
      expect(tellsOf(error).length).toBeLessThan(20_000);
    }
  });

  it("is in no error of a service that quotes the URL", async () => {
    for (const status of [302, 400, 414, 500]) {
      const { client, clock } = fakeClient(
        ({ url }) => ({
          status,
          body: JSON.stringify({ message: `bad: ${url}!` }),
          headers: { location: url },
        }),
        { retry: false },
      );
      const error = await failure(settled(clock, client.ohlcvPage({ ...QUERY, cursor: CURSOR })));
      expect(error).toBeInstanceOf(HttpError);
      expect((error as HttpError).message).not.toContain("opaque");
      expect((error as HttpError).message).toContain("https://service.test/token/");
    }
  });

  it("stands whole in the activity", async () => {
    const { client, clock, activity } = fakeClient();
    await settled(clock, client.ohlcvPage({ ...QUERY, cursor: CURSOR }));
    expect(activity.filter((entry) => "url" in entry && entry.url.includes(CURSOR))).toHaveLength(2);
  });

  it("of 2 MB ends the walk that would follow it, and is not quoted", async () => {
    const { url } = await serve((_, response) =>
      response.end(pageBody([], { cursor: "opaque".repeat(350_000) })),
    );
    const pages = clientOf(url).ohlcvPages(QUERY)[Symbol.asyncIterator]();
    const error = await failure(pages.next());
    expect(error).toMatchObject({ path: ["cursor"], issue: "longer than 4096 characters" });
    expect(tellsOf(error)).not.toContain("opaque");
  });

  it("of a caller is refused at the call where it is too long", async () => {
    const { client, calls } = fakeClient();
    const cursor = "opaque".repeat(1_000);
    expect(() => client.ohlcvPages({ ...QUERY, cursor })).toThrow(InvalidInputError);
    const error = await failure(client.ohlcvPage({ ...QUERY, cursor }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toBe(
      "cursor has 6000 characters; allowed: the cursor of a page, at most 4096 characters",
    );
    expect(calls).toEqual([]);
  });
});

describe("an answer that is too much", () => {
  it.each<[string, string | Buffer, string]>([
    [
      "100,000 rows that are none",
      gzipSync(pageBody(new Array(100_000).fill(0))),
      "100000 rows, at most 28 are read",
    ],
    [
      "30 rows, where 10 were asked for",
      pageBody(new Array(30).fill(row(START))),
      "30 rows, at most 28 are read",
    ],
    ["30 MB of lists", gzipSync(Buffer.alloc(30_000_000, "[")), "larger than 8388608 bytes"],
    ["2 MB of lists", gzipSync(Buffer.alloc(2_000_000, "[")), `not JSON, but "${"[".repeat(40)}…"`],
  ])("is refused: %s", async (_, body, issue) => {
    const { url } = await serve((_request, response) => {
      response.setHeader("content-encoding", typeof body === "string" ? "identity" : "gzip").end(body);
    });
    expect(await failure(clientOf(url).ohlcvPage(QUERY))).toMatchObject({ name: "ContractError", issue });
  });

  it("is not parsed for the message of an error, and quoted in short", async () => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      for (const body of ["[".repeat(1_000_000), JSON.stringify({ message: "m".repeat(3_000_000) })]) {
        const { client, clock } = fakeClient(() => ({ status: 500, body }), { retry: false });
        const error = (await failure(settled(clock, client.ohlcvPage(QUERY)))) as HttpError;
        expect(error.message).toMatch(/was answered with status 500, without a message$/);
        expect(error.body).toBe(body.slice(0, 1_000));
      }
      // The copy of what is quoted is made by JSON, too.
      for (const [text] of parse.mock.calls) expect(text.length).toBeLessThan(2_000);
    } finally {
      parse.mockRestore();
    }
  });
});

describe("what is quoted", () => {
  const upper = fc.string({
    unit: fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    minLength: 8,
    maxLength: 300,
  });

  it("holds no part of the key, wherever it is cut", () => {
    const parts = fc.array(fc.oneof(fc.constant("key"), fc.nat({ max: 400 })), { maxLength: 12 });
    fc.assert(
      fc.property(upper, parts, fc.integer({ min: 1, max: 1_000 }), (key, each, length) => {
        const { quote } = redactorOf(key);
        const text = each.map((part) => (part === "key" ? key : "x".repeat(part as number))).join("");
        const shown = quote(text, length);
        expect(shown).not.toMatch(/[A-Z]/);
        expect(shown.length).toBeLessThanOrEqual(length);
        if (!text.includes(key)) expect(shown).toBe(text.slice(0, length));
      }),
    );
  });

  it("of an answer that echoes the key is without it, at the beginning of what is not JSON too", async () => {
    const key = "K".repeat(60);
    for (const before of ["", "x".repeat(20), `{"page":"`]) {
      const { client, clock } = fakeClient(() => ({ body: `${before}${key}${"y".repeat(100)}` }), {
        apiKey: key,
        retry: false,
      });
      const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
      expect(error).toBeInstanceOf(ContractError);
      expect((error as ContractError).issue).toContain("[left out: holds the key]");
      expect(tellsOf(error)).not.toMatch(/KKK/);
    }
  });
});
