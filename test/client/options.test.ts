import { inspect } from "node:util";
import { asyncScheduler } from "rxjs";
import { describe, expect, it } from "vitest";
import { createClient } from "../../src/client/client.js";
import { coreOf } from "../../src/client/core.js";
import type { ClientOptions } from "../../src/client/options.js";
import { InvalidInputError } from "../../src/errors.js";
import { failure, fakeClient, PAIR, QUERY, settled } from "./fake-service.js";

const GOOD: ClientOptions = { baseUrl: "https://service.test", apiKey: "key" };

/** What `createClient` throws for options that it does not take. */
function refusalOf(options: unknown): InvalidInputError {
  try {
    createClient(options as ClientOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInputError);
    return error as InvalidInputError;
  }
  throw new Error("it was taken");
}

describe("createClient", () => {
  const refused: [string, string, unknown][] = [
    ["options", "options", null],
    ["options", "options", undefined],
    ["options", "options", "https://service.test"],
    ["baseUrl", "baseUrl", undefined],
    ["baseUrl", "baseUrl", 7],
    ["baseUrl", "baseUrl", ""],
    ["baseUrl", "baseUrl", "service.test"],
    ["baseUrl", "baseUrl", "/v1"],
    ["baseUrl", "baseUrl", "ftp://service.test"],
    ["baseUrl", "baseUrl", "file:///etc"],
    ["baseUrl", "baseUrl", "https://user@service.test"],
    ["baseUrl", "baseUrl", "https://user:hush@service.test"],
    ["baseUrl", "baseUrl", "https://service.test/?a=hush"],
    ["baseUrl", "baseUrl", "https://service.test/?"],
    ["baseUrl", "baseUrl", "https://service.test/#hush"],
    ["baseUrl", "baseUrl", "http://service.test"],
    ["baseUrl", "baseUrl", "http://localhost.service.test"],
    ["baseUrl", "baseUrl", "http://127.0.0.1.service.test"],
    ["baseUrl", "baseUrl", "http://pairs.localhost"],
    ["baseUrl", "baseUrl", "http://128.0.0.1"],
    ["baseUrl", "baseUrl", "http://10.0.0.1"],
    ["baseUrl", "baseUrl", "http://[::2]"],
    ["insecure", "insecure", "yes"],
    ["timeOut", "timeOut", 5],
    ["apikey", "apikey", "hush"],
    ["retry", "retry.attempt", { attempt: 3 }],
    ["rateLimit", "rateLimit.request", { request: 1, per: 1_000 }],
    ["quota", "quota.unit", { unit: 1, per: 60_000 }],
    ["apiKey", "apiKey", undefined],
    ["apiKey", "apiKey", ""],
    ["apiKey", "apiKey", 5],
    ["apiKey", "apiKey", "hush hush"],
    ["apiKey", "apiKey", "hush\n"],
    ["apiKey", "apiKey", " hush"],
    ["apiKey", "apiKey", "hüsh"],
    ["fetch", "fetch", "fetch"],
    ["fetch", "fetch", null],
    ["timeout", "timeout", 0],
    ["timeout", "timeout", -1],
    ["timeout", "timeout", Number.NaN],
    ["timeout", "timeout", Number.POSITIVE_INFINITY],
    ["timeout", "timeout", 2 ** 31],
    ["timeout", "timeout", "10"],
    ["retry", "retry", true],
    ["retry", "retry", null],
    ["retry", "retry", 3],
    ["retry", "retry.attempts", { attempts: 0 }],
    ["retry", "retry.attempts", { attempts: 1.5 }],
    ["retry", "retry.attempts", { attempts: 101 }],
    ["retry", "retry.attempts", { attempts: "3" }],
    ["retry", "retry.baseDelay", { baseDelay: -1 }],
    ["retry", "retry.baseDelay", { baseDelay: Number.NaN }],
    ["retry", "retry.maxDelay", { maxDelay: 2 ** 31 }],
    ["rateLimit", "rateLimit", true],
    ["rateLimit", "rateLimit.requests", {}],
    ["rateLimit", "rateLimit.requests", { requests: 0, per: 1_000 }],
    ["rateLimit", "rateLimit.requests", { requests: 1.5, per: 1_000 }],
    ["rateLimit", "rateLimit.per", { requests: 1 }],
    ["rateLimit", "rateLimit.per", { requests: 1, per: 0 }],
    ["quota", "quota", false],
    ["scheduler", "scheduler", null],
    ["scheduler", "scheduler", {}],
    ["scheduler", "scheduler", { now: Date.now }],
    ["scheduler", "scheduler", "async"],
  ];

  it.each(refused)("refuses %s (%s): %o", (option, parameter, value) => {
    const options = option === "options" ? value : { ...GOOD, [option]: value };
    const error = refusalOf(options);
    expect(error.parameter).toBe(parameter);
    expect(error.message).not.toMatch(/hush|hüsh/);
  });

  const secret = "sk-live-0123456789";
  const misplaced: [string, unknown][] = [
    ["a text", secret],
    ["a String", new String(secret)],
    ["a list", ["https://service.test", secret]],
    ["a function", () => "sk-live-0123456789"],
    ["a symbol", Symbol(secret)],
    ["a name", { ...GOOD, [secret]: true }],
    ["a name of an option", { ...GOOD, retry: { [secret]: 1 } }],
    ...["baseUrl", "insecure", "fetch", "timeout", "retry", "rateLimit", "quota", "scheduler"].flatMap(
      (name): [string, unknown][] => [
        [`${name}`, { ...GOOD, [name]: secret }],
        [`${name}, as a URL`, { ...GOOD, [name]: `${secret}:x@y` }],
        [`${name}, in a list`, { ...GOOD, [name]: [secret] }],
      ],
    ),
    ...["attempts", "baseDelay", "maxDelay"].map((name): [string, unknown] => [
      `retry.${name}`,
      { ...GOOD, retry: { [name]: secret } },
    ]),
    ["rateLimit.requests", { ...GOOD, rateLimit: { requests: secret, per: 1 } }],
    ["rateLimit.per", { ...GOOD, rateLimit: { requests: 1, per: secret } }],
    ["quota.units", { ...GOOD, quota: { units: secret, per: 60_000 } }],
    ["quota.per", { ...GOOD, quota: { units: 1, per: secret } }],
    ["apiKey, with a space", { ...GOOD, apiKey: `${secret} ` }],
  ];

  it.each(misplaced)("does not quote a key that is given as %s", (_, options) => {
    const error = refusalOf(options);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("live");
  });

  it.each([
    [{ timeOut: 5 }, "timeOut is not an option (did you mean timeout?); allowed: baseUrl, insecure,"],
    [{ apikey: "hush" }, "apikey is not an option (did you mean apiKey?);"],
    [{ ratelimits: 1 }, "ratelimits is not an option (did you mean rateLimit?);"],
    [{ retry: { maxDely: 1 } }, "retry.maxDely is not an option (did you mean retry.maxDelay?);"],
    [{ proxy: 1 }, "proxy is not an option; allowed:"],
    [{ "sk-1": 1 }, "options has an unknown option; allowed:"],
    [{ retry: { 0: 1 } }, "retry has an unknown option; allowed:"],
  ])("names the nearest option: %o", (option, message) => {
    expect(() => createClient({ ...GOOD, ...option } as ClientOptions)).toThrow(message);
  });

  it.each([
    "https://service.test",
    "https://service.test/",
    "https://service.test:8443/some/prefix/",
    "http://localhost:3000",
    "http://127.0.0.1:80",
    "http://127.9.8.7",
    "http://[::1]:3000/v1",
    new URL("https://service.test/v1"),
  ])("takes %s", (baseUrl) => {
    expect(() => createClient({ ...GOOD, baseUrl })).not.toThrow();
  });

  it("takes plain http anywhere when told that it is insecure", () => {
    expect(() => createClient({ ...GOOD, baseUrl: "http://10.0.0.1", insecure: true })).not.toThrow();
  });

  it.each([
    ["https://service.test", "https://service.test/token"],
    ["https://service.test/", "https://service.test/token"],
    ["https://service.test/v1", "https://service.test/v1/token"],
    ["https://service.test/v1/", "https://service.test/v1/token"],
    [new URL("https://service.test/a/b//"), "https://service.test/a/b/token"],
  ])("asks below %s", async (baseUrl, start) => {
    const { client, calls, clock } = fakeClient(undefined, { baseUrl });
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls[0]!.url.startsWith(`${start}/mainnet/pairs/${PAIR}/ohlcv?`)).toBe(true);
  });

  it("has the defaults that are written", () => {
    const { retry, scheduler, shared } = coreOf(createClient(GOOD));
    expect(retry).toEqual({ attempts: 3, baseDelay: 500, maxDelay: 8_000 });
    expect(scheduler).toBe(asyncScheduler);
    expect(shared.size).toBe(0);
    expect(coreOf(createClient({ ...GOOD, retry: false })).retry.attempts).toBe(1);
  });
});

describe("coreOf", () => {
  it("knows only clients that createClient has made", () => {
    const client = createClient(GOOD);
    for (const other of [null, undefined, 5, {}, { ...client }]) {
      expect(() => coreOf(other as typeof client)).toThrow(InvalidInputError);
    }
  });
});

describe("calls", () => {
  const refused: [string, unknown][] = [
    ["series", null],
    ["network", { ...QUERY, network: "testnet" }],
    ["pairAddress", { ...QUERY, pairAddress: "../x" }],
    ["pairAddress", { ...QUERY, pairAddress: "" }],
    ["timeframe", { ...QUERY, timeframe: "7min" }],
    ["currency", { ...QUERY, currency: "eur" }],
    ["fromDate", { ...QUERY, fromDate: "yesterday" }],
    ["fromDate", { ...QUERY, fromDate: undefined }],
    ["toDate", { ...QUERY, toDate: Number.NaN }],
    ["toDate", { ...QUERY, toDate: QUERY.fromDate }],
    ["limit", { ...QUERY, limit: 0 }],
    ["limit", { ...QUERY, limit: 1_001 }],
    ["limit", { ...QUERY, limit: 1.5 }],
    ["cursor", { ...QUERY, cursor: "" }],
    ["cursor", { ...QUERY, cursor: null }],
    ["cursor", { ...QUERY, cursor: 5 }],
  ];

  it.each(refused)("reject a wrong %s before any request: %o", async (parameter, query) => {
    const { client, calls, clock } = fakeClient();
    const error = await failure(client.ohlcvPage(query as typeof QUERY));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as InvalidInputError).parameter).toBe(parameter);
    expect(() => client.ohlcvPages(query as typeof QUERY)).toThrow(InvalidInputError);
    expect(calls).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["query", null],
    ["pairAddress", { pairAddress: "a b" }],
    ["blocksAfterCreation", { pairAddress: PAIR, blocksAfterCreation: -1 }],
    ["blocksAfterCreation", { pairAddress: PAIR, blocksAfterCreation: 1_001 }],
  ])("reject a sniper query with a wrong %s: %o", async (parameter, query) => {
    const { client, calls } = fakeClient();
    const error = await failure(client.sniperReport(query as { pairAddress: string }));
    expect((error as InvalidInputError).parameter).toBe(parameter);
    expect(calls).toEqual([]);
  });

  it("reject a signal that is none", async () => {
    const { client, calls } = fakeClient();
    const signal = {} as AbortSignal;
    expect((await failure(client.ohlcvPage(QUERY, { signal }))) as InvalidInputError).toMatchObject({
      parameter: "signal",
    });
    expect(() => client.ohlcvPages(QUERY, { signal })).toThrow(InvalidInputError);
    await expect(client.sniperReport({ pairAddress: PAIR }, { signal })).rejects.toThrow(InvalidInputError);
    expect(calls).toEqual([]);
  });
});
