import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  ContractError,
  HttpError,
  NetworkError,
  PairstreamError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "../../../src/errors.js";
import { answered, at, World } from "../../world.js";
import { failure, fakeClient, PAIR, QUERY, type Reply, START, settled } from "../fake-service.js";

/** Answers with each reply in turn, and with a good page from then on. */
const script =
  (...replies: Reply[]) =>
  (_: unknown, index: number): Reply =>
    replies[index] ?? {};
const always = (reply: Reply) => () => reply;
const says = (message: unknown) => JSON.stringify({ message, statusCode: 400 });
const httpDate = (instant: number) => new Date(instant).toUTCString();

describe("a spent quota", () => {
  const spent = JSON.stringify({ message: "included usage has been consumed" });
  const DAY = 86_400_000;
  const errorOf = async (headers: Record<string, string>) => {
    const { client, clock } = fakeClient(always({ status: 401, body: spent, headers }));
    return failure(settled(clock, client.ohlcvPage(QUERY)));
  };

  it.each<[string, Record<string, string>, number | undefined]>([
    ["nothing", {}, undefined],
    ["seconds", { "retry-after": "3600" }, START + 3_600_000],
    ["no wait", { "retry-after": "0" }, START],
    ["more than the hour that other hints may take", { "retry-after": "86400" }, START + DAY],
    ["a date", { "retry-after": httpDate(START + DAY) }, START + DAY],
    ["a date that is over", { "retry-after": httpDate(START - DAY) }, START],
    [
      "seconds, by the service's clock",
      { date: httpDate(START + DAY), "retry-after": "60" },
      START + DAY + 60_000,
    ],
    [
      "a date, by the service's clock",
      { date: httpDate(START + DAY), "retry-after": httpDate(START + 2 * DAY) },
      START + 2 * DAY,
    ],
    ["a word", { "retry-after": "tomorrow" }, undefined],
    ["years", { "retry-after": "99999999999" }, undefined],
  ])("comes back as Retry-After says: %s", async (_, headers, resetsAt) => {
    const error = await errorOf(headers);
    expect(error).toBeInstanceOf(QuotaExceededError);
    expect((error as QuotaExceededError).resetsAt).toBe(resetsAt);
  });
});

describe("what is retried", () => {
  const table: [string, Reply, new (...args: never[]) => PairstreamError, boolean][] = [
    ["a network error", { failure: new TypeError("refused") }, NetworkError, true],
    ["a rejection with no error", { failure: "refused" }, NetworkError, true],
    ["a timeout", { after: Number.POSITIVE_INFINITY }, TimeoutError, true],
    ["a body that is not JSON", { body: "<html>" }, ContractError, true],
    ["a body that is cut off", { body: '{"page": 1, "resu' }, ContractError, true],
    ["an empty body", { body: "" }, ContractError, true],
    ["the body null", { body: "null" }, ContractError, true],
    ["a page of another pair", { body: '{"page":1,"pairAddress":"x"}' }, ContractError, true],
    ["408", { status: 408 }, HttpError, true],
    ["425", { status: 425 }, HttpError, true],
    ["429", { status: 429 }, RateLimitError, true],
    ["500", { status: 500 }, HttpError, true],
    ["502", { status: 502, body: "<html>Bad Gateway</html>" }, HttpError, true],
    ["503", { status: 503 }, HttpError, true],
    ["504", { status: 504 }, HttpError, true],
    ["599", { status: 599 }, HttpError, true],
    ["0", { status: 0, body: "" }, HttpError, false],
    ["204", { status: 204, body: "" }, HttpError, false],
    ["301", { status: 301, headers: { location: "https://evil.test/" } }, HttpError, false],
    ["304", { status: 304 }, HttpError, false],
    ["400", { status: 400 }, HttpError, false],
    ["401", { status: 401 }, AuthenticationError, false],
    ["402", { status: 402 }, HttpError, false],
    ["403", { status: 403 }, AuthenticationError, false],
    ["404", { status: 404 }, HttpError, false],
    ["424", { status: 424 }, AuthenticationError, false],
    [
      "a spent quota",
      {
        status: 401,
        body: says(
          "Validation service blocked: Your plan: free-plan-daily total included usage has been consumed",
        ),
      },
      QuotaExceededError,
      false,
    ],
  ];

  it.each(table)("%s", async (_name, reply, kind, isRetried) => {
    const { client, calls, clock, activity } = fakeClient(always(reply));
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(kind);
    expect(error).toBeInstanceOf(PairstreamError);
    expect((error as Error).constructor).toBe(kind);
    expect(calls).toHaveLength(isRetried ? 3 : 1);
    expect(activity.filter(({ type }) => type === "retry")).toHaveLength(isRetried ? 2 : 0);
    expect(clock.pending).toBe(0);

    const mended = fakeClient(script(reply));
    const page = settled(mended.clock, mended.client.ohlcvPage(QUERY));
    if (isRetried) expect((await page).result).toHaveLength(1);
    else await expect(page).rejects.toBeInstanceOf(kind);
  });

  it("waits twice as long each time, up to the longest delay, and throws the last error", async () => {
    const { client, calls, clock, activity } = fakeClient((_, index) => ({ status: 500 + index }), {
      retry: { attempts: 6, baseDelay: 100, maxDelay: 700 },
    });
    await expect(settled(clock, client.ohlcvPage(QUERY))).rejects.toMatchObject({ status: 505 });
    expect(calls.map(({ at }) => at - START)).toEqual([0, 100, 300, 700, 1_400, 2_100]);
    const retries = activity.flatMap((entry) => (entry.type === "retry" ? [entry] : []));
    expect(retries.map(({ attempt, delay }) => [attempt, delay])).toEqual([
      [1, 100],
      [2, 200],
      [3, 400],
      [4, 700],
      [5, 700],
    ]);
    expect(retries[0]!.error).toMatchObject({ status: 500 });
  });
});

describe("errors", () => {
  const errorFor = async (reply: Reply): Promise<HttpError> => {
    const { client, clock } = fakeClient(always(reply), { retry: false });
    return (await failure(settled(clock, client.ohlcvPage(QUERY)))) as HttpError;
  };

  it("name method, path, status and what the service says", async () => {
    const error = await errorFor({ status: 400, body: says("fromDate is wrong") });
    expect(error.message).toBe(
      `“fromDate is wrong”: GET /token/mainnet/pairs/${PAIR}/ohlcv was answered with status 400`,
    );
    expect(error).toMatchObject({ name: "HttpError", status: 400, body: says("fromDate is wrong") });
    expect((await errorFor({ status: 400, body: says(["a is wrong", "b too", 7]) })).message).toContain(
      "a is wrong; b too",
    );
    for (const body of ["<html>no</html>", "", "null", "7", "[]", says(7), says({ a: 1 })]) {
      expect((await errorFor({ status: 404, body })).message).toMatch(
        /\/ohlcv was answered with status 404, without a message; check pairAddress, network and baseUrl$/,
      );
    }
  });

  it("of a sniper report ask to check only what its call takes", async () => {
    for (const status of [401, 402, 403, 404, 410, 424, 429]) {
      const { client, clock } = fakeClient(always({ status }), { retry: false });
      const call = client.sniperReport({ pairAddress: PAIR, blocksAfterCreation: 3 });
      const { message } = (await failure(settled(clock, call))) as HttpError;
      expect(message).toContain("; check ");
      expect(message).not.toContain("network");
      if (status === 404) expect(message).toMatch(/; check pairAddress and baseUrl$/);
    }
  });

  it("cut the body and the message short", async () => {
    const error = await errorFor({ status: 400, body: says("x\n ".repeat(5_000)) });
    expect(error.body).toHaveLength(1_000);
    expect(error.message).toMatch(/“.{300}…”/);
    expect(error.message).not.toContain("\n");
  });

  it.each([
    ["total included usage has been consumed", 401, QuotaExceededError],
    ["Your TOTAL INCLUDED USAGE HAS BEEN CONSUMED", 401, QuotaExceededError],
    ["Quota exceeded", 401, QuotaExceededError],
    ["Token is invalid format", 401, AuthenticationError],
    ["Quota exceeded", 403, AuthenticationError],
  ])("tell a spent quota from a bad key: %s, %i", async (message, status, kind) => {
    expect((await errorFor({ status, body: says(message) })).constructor).toBe(kind);
  });

  it("refuse a redirect, and say why", async () => {
    const error = await errorFor({ status: 307, headers: { location: "https://evil.test/x" } });
    expect(error.message).toMatch(
      /status 307, a redirect to https:\/\/evil\.test\/x, not followed, as the API key/,
    );
  });

  it("carry the transport's error as the cause", async () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const error = await errorFor({ failure: cause });
    expect(error.cause).toBe(cause);
    expect(error.message).toBe(`GET /token/mainnet/pairs/${PAIR}/ohlcv got no answer: connect ECONNREFUSED`);
  });
});

describe("a hint", () => {
  const GOOD_DATE = httpDate(START);
  const retryAfter = (value: string, headers: Record<string, string> = {}, status = 429): Reply => ({
    status,
    headers: { "retry-after": value, ...headers },
  });

  it.each<[string, Reply, number]>([
    ["seconds", retryAfter("3"), 3_000],
    ["seconds with blanks", retryAfter(" 3 "), 3_000],
    ["a fraction", retryAfter("1.5"), 1_500],
    ["less than the back-off", retryAfter("0"), 500],
    ["503 too", retryAfter("3", {}, 503), 3_000],
    ["but not 500", retryAfter("3", {}, 500), 500],
    ["a date, by the scheduler's clock", retryAfter(httpDate(START + 4_000)), 4_000],
    [
      "a date, by the answer's own",
      retryAfter(httpDate(START - 3_600_000 + 4_000), { date: httpDate(START - 3_600_000) }),
      4_000,
    ],
    ["a date that is past", retryAfter(httpDate(START - 9_000), { date: GOOD_DATE }), 500],
    ["nonsense", retryAfter("soon"), 500],
    ["a negative number", retryAfter("-5"), 500],
    ["a year", retryAfter("2001-01-01"), 500],
  ])("is obeyed: %s", async (_name, reply, wait) => {
    const { client, calls, clock } = fakeClient(script(reply));
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls.map(({ at }) => at - START)).toEqual([0, wait]);
  });

  it("beyond the longest delay fails the call at once", async () => {
    for (const status of [429, 503]) {
      const { client, calls, clock } = fakeClient(always(retryAfter("9", {}, status)));
      const error = await failure(client.ohlcvPage(QUERY).finally(() => expect(clock.now()).toBe(START)));
      expect(error).toMatchObject({ status });
      if (status === 429) {
        expect((error as RateLimitError).retryAfter).toBe(9_000);
        expect((error as Error).message).toMatch(/ status 429, .*; check rateLimit; it asks to wait 9 s$/);
      }
      expect(calls).toHaveLength(1);
      expect(clock.pending).toBe(0);
    }
  });

  it("is believed up to an hour", async () => {
    const { client, clock, calls, activity } = fakeClient(script(retryAfter("999999999")), { retry: false });
    const error = await failure(client.ohlcvPage(QUERY));
    expect((error as RateLimitError).retryAfter).toBe(3_600_000);
    await clock.advanceBy(3_599_999);
    // What is left of it is waited for, as it is no longer than `maxDelay`.
    const later = client.ohlcvPage(QUERY);
    expect(calls).toHaveLength(1);
    await clock.advanceBy(1);
    expect((await later).result).toHaveLength(1);
    expect(activity.filter(({ type }) => type === "throttled")).toEqual([
      { type: "throttled", at: START, until: START + 3_600_000, reason: "too-many-requests", waiting: 0 },
    ]);
  });

  it("is absent from the error where the service gave none", async () => {
    const { client } = fakeClient(always({ status: 429 }), { retry: false });
    expect(((await failure(client.ohlcvPage(QUERY))) as RateLimitError).retryAfter).toBeUndefined();
  });
});

describe("a 429", () => {
  it("fails at once what would have to wait for longer than maxDelay", async () => {
    const { client, calls, clock } = fakeClient(script({ status: 429, headers: { "retry-after": "60" } }), {
      retry: { maxDelay: 5_000 },
    });
    await failure(client.ohlcvPage(QUERY));
    await clock.advanceBy(54_999);
    const error = (await failure(client.ohlcvPage(QUERY))) as RateLimitError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.message).toBe("The service has answered 429: nothing is sent for 6 s");
    expect(error.retryAfter).toBe(5_001);
    await clock.advanceBy(1);
    const later = client.ohlcvPage(QUERY);
    await clock.advanceBy(4_999);
    expect(calls).toHaveLength(1);
    await clock.advanceBy(1);
    expect((await later).result).toHaveLength(1);
  });

  it("fails at once what waits already, where it would have to wait for longer than maxDelay", async () => {
    const { client, calls, clock } = fakeClient(
      script({ status: 429, headers: { "retry-after": "60" }, after: 10 }, { after: 20 }),
      { retry: { maxDelay: 5_000 }, rateLimit: { requests: 2, per: 1_000 } },
    );
    const ends: [number, string, number | undefined][] = [];
    for (let index = 0; index < 5; index += 1) {
      const note = (name: string, error?: unknown) =>
        ends.push([clock.now() - START, name, (error as RateLimitError | undefined)?.retryAfter]);
      client.ohlcvPage(QUERY).then(
        () => note("answer"),
        (error) => note(error.name, error),
      );
    }
    await clock.advanceBy(30);
    expect(calls).toHaveLength(2);
    const refused = Array.from({ length: 3 }, () => [10, "RateLimitError", 60_000]);
    expect(ends).toEqual([...refused, [10, "RateLimitError", 60_000], [20, "answer", undefined]]);
    expect(clock.pending).toBe(0);
  });

  it("stops everything that the client sends", async () => {
    const { client, calls, clock } = fakeClient(script({ status: 429, headers: { "retry-after": "2" } }), {
      rateLimit: false,
    });
    const first = client.ohlcvPage(QUERY);
    await clock.advanceBy(10);
    const others = [client.ohlcvPage(QUERY), client.ohlcvPage(QUERY)];
    await clock.advanceTo(START + 1_999);
    expect(calls).toHaveLength(1);
    await clock.advanceTo(START + 2_000);
    await Promise.all([first, ...others]);
    expect(calls.map(({ at }) => at - START)).toEqual([0, 2_000, 2_000, 2_000]);
  });

  it("backs off by the refusals in a row, over all calls, until a good answer", async () => {
    const isRefused = (index: number) => index !== 5;
    const { client, calls, clock } = fakeClient((_, index) => (isRefused(index) ? { status: 429 } : {}), {
      retry: { attempts: 1, baseDelay: 500, maxDelay: 3_000 },
      rateLimit: false,
    });
    for (let call = 0; call < 8; call += 1) await settled(clock, client.ohlcvPage(QUERY)).catch(() => {});
    const gaps = calls.slice(1).map(({ at }, index) => at - calls[index]!.at);
    expect(gaps).toEqual([500, 1_000, 2_000, 3_000, 3_000, 0, 500]);
  });

  it("counts a burst of refusals as one", async () => {
    const { client, calls, clock } = fakeClient(
      (_, index) => (index < 10 ? { status: 429, after: 100 + index } : {}),
      {
        retry: false,
        rateLimit: false,
      },
    );
    await Promise.all(
      Array.from({ length: 10 }, () => settledQuietly(client.ohlcvPage(QUERY))).concat(clock.advanceBy(200)),
    );
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls.at(-1)!.at - START).toBe(109 + 500);
  });

  it.each([
    [10, 20, 100],
    [10, 40, 400],
    [3, 40, 50],
    [90, 100, 150],
    [1, 40, 20],
  ])("leads a client to what the service allows: %i of %i in a second", async (allowed, requests, ways) => {
    const taken: number[] = [];
    const { client, calls, clock } = fakeClient(
      ({ at: now }) => {
        const isTaken = taken.filter((at) => at > now - 1_000).length < allowed;
        if (isTaken) taken.push(now);
        return isTaken ? { after: ways } : { status: 429, after: ways };
      },
      { rateLimit: { requests, per: 1_000 } },
    );
    const leave = new AbortController();
    const ask = async () => {
      while (!leave.signal.aborted) await client.ohlcvPage(QUERY, { signal: leave.signal }).catch(() => {});
    };
    const asking = Array.from({ length: 2 * requests }, ask);
    await clock.advanceBy(60_000);
    const [sent, served] = [calls.length, taken.length];
    await clock.advanceBy(240_000);
    const [sentLater, servedLater] = [calls.length - sent, taken.length - served];
    leave.abort();
    await Promise.all(asking);
    expect((sentLater - servedLater) / sentLater).toBeLessThan(Math.max(0.15, 1 / (3 * allowed)));
    expect(servedLater).toBeGreaterThan(0.5 * 240 * Math.min(allowed, requests / (1 + ways / 1_000)));
  });
});

const settledQuietly = (promise: Promise<unknown>) =>
  promise.then(
    () => {},
    () => {},
  );

describe("a transport that fails", () => {
  const codeOnly = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  it.each<[string, () => unknown, string]>([
    [
      "one cause",
      () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9") }),
      ": fetch failed: connect ECONNREFUSED 127.0.0.1:9",
    ],
    [
      "a code alone",
      () => new TypeError("fetch failed", { cause: codeOnly }),
      ": fetch failed: ECONNREFUSED",
    ],
    ["the same twice", () => new Error("lost: reset", { cause: new Error("reset") }), ": lost: reset"],
    ["no words", () => new Error(""), ""],
    ["no error", () => "down", ""],
  ])("is quoted with its causes: %s", async (_, thrown, words) => {
    const { client, clock } = fakeClient(always({ failure: thrown() }), { retry: false });
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect((error as Error).message).toBe(`GET /token/mainnet/pairs/${PAIR}/ohlcv got no answer${words}`);
  });

  it("is quoted three causes deep, where they go on or come round", async () => {
    const round = new Error("round");
    round.cause = round;
    const chain = new Error("a", {
      cause: new Error("b", { cause: new Error("c", { cause: new Error("d") }) }),
    });
    for (const [thrown, words] of [
      [round, "round"],
      [chain, "a: b: c"],
    ] as const) {
      const { client, clock } = fakeClient(always({ failure: thrown }), { retry: false });
      const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
      expect((error as Error).message).toBe(`GET /token/mainnet/pairs/${PAIR}/ohlcv got no answer: ${words}`);
    }
  });
});

describe("the rate limit", () => {
  it("covers retries too, whatever the service answers", async () => {
    const replies = fc.array(
      fc.constantFrom<Reply>(
        {},
        { after: 30 },
        { status: 500 },
        { status: 429 },
        { status: 429, headers: { "retry-after": "1" } },
        { failure: new Error("reset"), after: 5 },
        { body: "{" },
        { after: Number.POSITIVE_INFINITY },
      ),
      { maxLength: 40 },
    );
    const gaps = fc.array(fc.nat(400), { minLength: 1, maxLength: 25 });
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 4 }),
      per: fc.integer({ min: 50, max: 1_500 }),
    });
    await fc.assert(
      fc.asyncProperty(replies, gaps, limit, async (list, waits, rateLimit) => {
        const { client, calls, clock, activity } = fakeClient(script(...list), {
          rateLimit,
          timeout: 300,
          retry: { attempts: 3, baseDelay: 20, maxDelay: 2_000 },
        });
        let pending = 0;
        for (const wait of waits) {
          await clock.advanceBy(wait);
          pending += 1;
          const done = () => {
            pending -= 1;
          };
          client.ohlcvPage(QUERY).then(done, done);
        }
        await clock.advanceBy(1_000_000);
        expect(pending).toBe(0);
        expect(clock.pending).toBe(0);
        calls.forEach(({ at }, index) => {
          const later = calls[index + rateLimit.requests];
          if (later !== undefined) expect(later.at - at).toBeGreaterThanOrEqual(rateLimit.per);
        });
        const throttled = activity.filter((entry) => entry.type === "throttled");
        throttled.forEach(({ at: told, until, reason }, index) => {
          if (reason !== "too-many-requests") return;
          // It may become earlier as requests under way end.
          const valid = Math.min(until!, throttled[index + 1]?.at ?? Infinity);
          expect(calls.filter(({ at }) => told < at && at < valid)).toEqual([]);
        });
        const requests = activity.filter(({ type }) => type === "request").length;
        expect(requests).toBe(calls.length);
        expect(activity.filter(({ type }) => type === "response")).toHaveLength(requests);
      }),
      { numRuns: 60 },
    );
  });

  it("is 40 a second by default", async () => {
    const { client, calls, clock } = fakeClient();
    const all = Array.from({ length: 100 }, () => client.ohlcvPage(QUERY));
    await clock.advanceBy(5_000);
    await Promise.all(all);
    expect(calls.filter(({ at }) => at === START)).toHaveLength(40);
    expect(calls.filter(({ at }) => at === START + 1_000)).toHaveLength(40);
    expect(calls).toHaveLength(100);
  });
});

it("takes a Retry-After that is a date by the service's clock, as far as that is known", async () => {
  const offset = 6 * 3_600_000;
  const world = new World({ start: at("06:00:00"), offset, hasDate: true, client: { retry: false } });
  world.swap(at("11:00:00"), 1);
  const call = () => world.client.sniperReport({ pairAddress: PAIR }).catch((error: unknown) => error);
  const first = call();
  await world.clock.advanceBy(1_000);
  await first;
  const date = new Date(world.clock.now() + offset + 5_000).toUTCString();
  world.interfere = () => answered(429, "", { "retry-after": date });
  const second = call();
  await world.clock.advanceBy(1_000);
  const { retryAfter } = (await second) as RateLimitError;
  expect(Math.abs(retryAfter! - 5_000)).toBeLessThan(1_100);
});

it("takes a Retry-After that is a date by the service's clock, where the answer's own Date is minutes off", async () => {
  const start = at("06:00:00");
  const world = new World({ start, hasDate: true, client: { retry: false } });
  world.swap(start - 60_000, 1);
  const call = () => world.client.sniperReport({ pairAddress: PAIR }).catch((error: unknown) => error);
  for (let count = 0; count < 2; count += 1) await Promise.all([call(), world.clock.advanceBy(1_000)]);
  const dated = (offset: number) => new Date(world.clock.now() + offset).toUTCString();
  for (const off of [-360_000, 360_000]) {
    const headers = { date: dated(off), "retry-after": dated(5_000) };
    world.interfere = () => answered(429, "", headers);
    const [error] = await Promise.all([call(), world.clock.advanceBy(6_000)]);
    expect([off, Math.floor((error as RateLimitError).retryAfter!)]).toEqual([off, off < 0 ? 5_000 : 0]);
  }
});
