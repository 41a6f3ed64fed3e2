import { config } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  createClient,
  type FetchLike,
  InvalidInputError,
  NetworkError,
  RateLimitError,
  recordExchanges,
  VirtualClock,
} from "../../src/index.js";

const KEY = 'hush/"&<%+key\\with=odd~marks';
const _TELLTALE = /hush|odd~marks/;
const QUERY = { pairAddress: "pair1" };
const REPORT = JSON.stringify({ blockNumber: 1, blockTimestamp: null, transactionHash: null, result: [] });
const NOON = Date.UTC(2024, 0, 5, 12);

type Init = Parameters<FetchLike>[1];
type Answer = Awaited<ReturnType<FetchLike>>;

const answer = (
  status: number,
  body: string | (() => Promise<string>),
  headers: Record<string, string> = {},
) => ({
  status,
  headers: new Headers(headers),
  text: typeof body === "string" ? async () => body : body,
});

/** A client on a virtual clock whose exchanges are recorded. */
function recordedClient(fetch: (init: Init, clock: VirtualClock) => Promise<Answer>) {
  const clock = new VirtualClock(NOON);
  const lines: string[] = [];
  const inner: FetchLike = (_url, init) => fetch(init, clock);
  const client = createClient({
    baseUrl: "https://service.test/v2",
    apiKey: KEY,
    fetch: recordExchanges(inner, (line) => lines.push(line)),
    scheduler: clock,
    retry: false,
    timeout: 5_000,
  });
  return { clock, client, lines, read: () => lines.map((line) => JSON.parse(line)) };
}

const pass = (clock: VirtualClock, ms: number) =>
  new Promise<void>((resolve) => clock.schedule(() => resolve(), ms));

describe("a line", () => {
  it("holds the request, the answer and the instants of both, its headers and its end", async () => {
    const headers = {
      date: "Fri, 05 Jan 2024 12:00:00 GMT",
      age: "2",
      "x-request-weight": "50",
      "content-type": "application/json",
      "set-cookie": "id=1",
    };
    const { clock, client, read } = recordedClient(async (_init, on) => {
      await pass(on, 30);
      return answer(200, () => pass(on, 12).then(() => REPORT), headers);
    });
    const report = client.sniperReport(QUERY);
    await clock.advanceBy(100);
    expect((await report).result).toEqual([]);
    const { "set-cookie": _, ...kept } = headers;
    expect(read()).toEqual([
      {
        v: 1,
        request: 0,
        method: "GET",
        url: "/v2/token/mainnet/pairs/pair1/snipers",
        requestHeaders: { accept: "application/json" },
        asked: NOON,
        sent: NOON,
        answered: NOON + 30,
        status: 200,
        headers: kept,
        ended: NOON + 42,
        asks: 1,
        outcome: "whole",
        body: REPORT,
      },
    ]);
  });

  it("comes when its exchange ends, with the number of its request", async () => {
    let calls = 0;
    const { clock, client, read } = recordedClient(async (_init, on) => {
      calls += 1;
      await pass(on, calls === 1 ? 50 : 20);
      return answer(200, REPORT);
    });
    void client.sniperReport(QUERY);
    void client.sniperReport({ pairAddress: "pair2" });
    await clock.advanceBy(100);
    expect(read().map(({ request, ended }) => [request, ended - NOON])).toEqual([
      [1, 20],
      [0, 50],
    ]);
  });

  it("tells a failure before the headers from one within the body", async () => {
    const reset = () => {
      const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      return new TypeError("fetch failed", { cause });
    };
    let calls = 0;
    const { clock, client, read } = recordedClient(async (_init, on) => {
      calls += 1;
      const isFirst = calls === 1;
      await pass(on, 10);
      if (isFirst) throw reset();
      return answer(200, () => pass(on, 5).then(() => Promise.reject(reset())));
    });
    const failures = [client.sniperReport(QUERY), client.sniperReport(QUERY)].map((call) =>
      expect(call).rejects.toBeInstanceOf(NetworkError),
    );
    await clock.advanceBy(100);
    await Promise.all(failures);
    const failure = {
      name: "TypeError",
      message: "fetch failed",
      cause: { name: "Error", message: "read ECONNRESET", code: "ECONNRESET" },
    };
    const [before, within] = read();
    expect(before).toMatchObject({ outcome: "failed", ended: NOON + 10, failure });
    expect(before).not.toHaveProperty("status");
    expect(within).toMatchObject({
      outcome: "failed",
      answered: NOON + 10,
      status: 200,
      ended: NOON + 15,
      failure,
    });
    expect(within).not.toHaveProperty("body");
  });

  it("tells a client that gives up from a caller that leaves, though nothing ever comes", async () => {
    const { clock, client, read } = recordedClient(() => new Promise(() => {}));
    const timeout = expect(client.sniperReport(QUERY)).rejects.toThrow("within 5000 ms");
    const controller = new AbortController();
    const left = expect(client.sniperReport(QUERY, { signal: controller.signal })).rejects.toBe("enough");
    clock.schedule(() => controller.abort("enough"), 1_000);
    await clock.advanceBy(10_000);
    await Promise.all([timeout, left]);
    expect(read().map(({ request, outcome, ended }) => [request, outcome, ended - NOON])).toEqual([
      [1, "left", 1_000],
      [0, "timed-out", 5_000],
    ]);
  });

  it("has no body of one that is too large, which the client does not read either", async () => {
    const announced = { "content-length": String(64 * 1024 * 1024) };
    let isAborted = false;
    const { clock, client, read } = recordedClient(async (init) => {
      init?.signal?.addEventListener("abort", () => {
        isAborted = true;
      });
      return answer(200, () => new Promise(() => {}), announced);
    });
    const refused = expect(client.sniperReport(QUERY)).rejects.toThrow("larger than");
    await clock.advanceBy(10);
    await refused;
    expect(isAborted).toBe(true);
    expect(read()).toMatchObject([{ status: 200, headers: announced, outcome: "left" }]);
    expect(read()[0]).not.toHaveProperty("body");
  });

  it("reads no further than the client would, of a body that is a stream", async () => {
    let pulled = 0;
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    const { clock, client, read } = recordedClient(async () => {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          pulled += 1;
          controller.enqueue(chunk);
        },
      });
      return new Response(body);
    });
    const refused = expect(client.sniperReport(QUERY)).rejects.toThrow("larger than");
    await vi.waitFor(() => expect(pulled).toBeGreaterThan(8));
    await clock.advanceBy(1);
    await refused;
    expect(pulled).toBeLessThan(16);
    expect(read()).toMatchObject([{ outcome: "failed", failure: { type: "max-size" } }]);
  });
});

describe("the key", () => {
  const _forms = [
    KEY,
    encodeURIComponent(KEY),
    JSON.stringify(KEY),
    KEY.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  ];

  it("is no part of the URL's origin, user or path either", async () => {
    const lines: string[] = [];
    const fetch = recordExchanges(
      async () => answer(200, REPORT),
      (line) => lines.push(line),
    );
    const init = { headers: { "x-api-key": KEY, accept: "text/plain", authorization: "Bearer 1" } };
    const url = `https://user:word@service.test:8443/path?key=${encodeURIComponent(KEY)}#there`;
    await (await fetch(url, init)).text();
    const [line] = lines.map((text) => JSON.parse(text));
    expect(line).toMatchObject({
      method: "GET",
      url: "/path?key=[left out: holds the key]#there",
      requestHeaders: { accept: "text/plain" },
    });
    expect(lines[0]).not.toMatch(/hush|word|service\.test|Bearer/);
  });
});

describe("whoever is recorded", () => {
  it("gets what it would have got: answers, headers and failures themselves", async () => {
    const given = answer(418, "short and stout", { "x-other": "1" });
    const failure = new Error("no");
    let calls = 0;
    const inner: FetchLike = async () => {
      calls += 1;
      if (calls === 1) return given;
      throw failure;
    };
    const fetch = recordExchanges(inner, () => {}, { scheduler: new VirtualClock() });
    const got = await fetch("https://service.test/a");
    expect([got.status, got.headers.get("X-Other"), await got.text()]).toEqual([418, "1", "short and stout"]);
    await expect(fetch("https://service.test/b")).rejects.toBe(failure);
  });

  it("keeps its errors: a 429 with its hint", async () => {
    const { clock, client } = recordedClient(async () =>
      answer(429, '{"message":"slow"}', { "retry-after": "3" }),
    );
    const call = client.sniperReport(QUERY).catch((error: unknown) => error);
    await clock.advanceBy(1);
    expect(await call).toBeInstanceOf(RateLimitError);
    expect(await call).toMatchObject({ retryAfter: 3_000 });
  });
});

describe("a sink that throws", () => {
  afterEach(() => {
    config.onUnhandledError = null;
  });

  it("is reported once, as an observer's error is, ends the recording, and leaves the client alone", async () => {
    const reported = new Promise<unknown>((resolve) => {
      config.onUnhandledError = resolve;
    });
    const clock = new VirtualClock(NOON);
    let lines = 0;
    const full = new Error("no space left");
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: KEY,
      fetch: recordExchanges(
        async () => answer(200, REPORT),
        () => {
          lines += 1;
          if (lines > 1) throw full;
        },
      ),
      scheduler: clock,
    });
    for (let call = 0; call < 4; call += 1) {
      const report = client.sniperReport(QUERY);
      await clock.advanceBy(10);
      expect((await report).result).toEqual([]);
    }
    expect(lines).toBe(2);
    expect(await reported).toBe(full);
  });
});

describe("recordExchanges refuses", () => {
  const fetch: FetchLike = async () => answer(200, "");
  it.each([
    ["no fetch", () => recordExchanges(undefined as never, () => {}), /^fetch /],
    ["no sink", () => recordExchanges(fetch, undefined as never), /^sink /],
    ["no scheduler", () => recordExchanges(fetch, () => {}, { scheduler: {} as never }), /^scheduler /],
  ])("%s", (_name, make, problem) => {
    expect(make).toThrow(InvalidInputError);
    expect(make).toThrow(problem);
  });
});
