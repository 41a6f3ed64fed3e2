import { type FetchLike, type Series, TIMEFRAMES, type Timeframe } from "pairstream";
import { demoService, type FaultKind, type ServiceQuirks, withFaults } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { Asker } from "../../../examples/check-service/asker.js";
import { verdictOf } from "../../../examples/check-service/notes.js";
import { askAll, BUDGET, QUESTIONS } from "../../../examples/check-service/questions.js";

const DAY = 86_400_000;
/** In the middle of a minute, so that no interval ends meanwhile; a Friday. */
const NOW = Date.UTC(2025, 0, 3, 12, 30, 20);

interface Scene {
  readonly quirks?: ServiceQuirks;
  readonly series?: Partial<Series<Timeframe>>;
  /** Takes the place of the service's `fetch`. */
  readonly front?: (fetch: FetchLike) => FetchLike;
}

/** What a check says of each question, by its name, and what it has spent. */
async function check({ quirks = {}, series = {}, front = (fetch) => fetch }: Scene = {}) {
  const demo = demoService({ seed: 31, createdAt: NOW - DAY, clock: () => NOW, quirks });
  const { baseUrl, apiKey, fetch } = demo.clientOptions;
  const asker = new Asker({ baseUrl, apiKey, fetch: front(fetch) }, BUDGET.requests, () => NOW);
  const asked = {
    network: "mainnet",
    pairAddress: demo.pairs[0],
    timeframe: "1min",
    currency: "usd",
  } as const;
  const notes = new Map<string, string[]>();
  const verdicts: string[] = [];
  for await (const told of askAll(asker, { ...asked, ...series }, NOW)) {
    verdicts.push(verdictOf(told.notes));
    notes.set(
      told.question,
      told.notes.map(({ verdict, text }) => `${verdict}: ${text}`),
    );
  }
  return { notes: [...notes.values()].flat(), of: notes, verdicts, spent: asker.spent };
}

const count = (verdicts: readonly string[], verdict: string) =>
  verdicts.filter((each) => each === verdict).length;

type Body = Record<string, unknown> & { result: Record<string, unknown>[] };
/** A service that changes the pages of candles as it sends them. */
const changing =
  (change: (body: Body, url: URL, call: number) => unknown) =>
  (fetch: FetchLike): FetchLike => {
    let calls = 0;
    return async (url, init) => {
      const answer = await fetch(url, init);
      if (answer.status !== 200 || !url.includes("/ohlcv")) return answer;
      calls += 1;
      const body = change(JSON.parse(await answer.text()), new URL(url), calls);
      return { ...answer, text: async () => JSON.stringify(body) };
    };
  };
const withHeader =
  (name: string, value: string | null) =>
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const answer = await fetch(url, init);
    const get = (asked: string) => (asked.toLowerCase() === name ? value : answer.headers.get(asked));
    return { ...answer, headers: { get } };
  };

describe("the check of a service", () => {
  it("finds that the local one fits, for no more than it has said", async () => {
    const { notes, verdicts, spent } = await check();
    expect(notes.filter((note) => !note.startsWith("fits"))).toEqual([]);
    expect(verdicts).toHaveLength(12);
    expect(QUESTIONS).toHaveLength(12);
    expect(BUDGET).toEqual({ requests: 14, units: 2_000 });
    expect(spent).toEqual({ requests: 13, units: 1_850 });
  });

  it.each(TIMEFRAMES.slice(0, 8))("finds the same with candles of %s", async (timeframe) => {
    const { notes } = await check({ series: { timeframe } });
    expect(notes.filter((note) => !note.startsWith("fits"))).toEqual([]);
  });

  it.each(["12h", "1d", "1w", "1M"] as const)("asks what it can of a young pair's %s", async (timeframe) => {
    const { notes, spent } = await check({ series: { timeframe } });
    expect(notes.filter((note) => note.startsWith("wrong"))).toEqual([]);
    expect(notes).toContain("not asked: too few closed candles were shown");
    expect(spent.requests).toBeLessThanOrEqual(BUDGET.requests);
  });
});

describe("what is read kindly", () => {
  it.each<[ServiceQuirks, RegExp]>([
    [{ order: "oldest-first" }, /the newest candles|the oldest candles come first/],
    [{ order: "shuffled" }, /rows in no order/],
    [{ emptyBeforeCreation: true }, /it comes back empty, so the beginning of a pair is looked for/],
    [{ pageSize: 3 }, /a cursor after 3 of 10 rows/],
    [{ pageSize: 300 }, /\d+ rows, though limit was 10/],
    [{ inclusive: "both" }, /toDate counts in/],
    [{ inclusive: "neither" }, /fromDate does not count in/],
    [{ trades: true }, /trades in place of swaps/],
    [{ pageAsText: true }, /page is a text/],
    [{ soldBelowZero: true }, /tokens sold are below 0/],
  ])("is said to be so: %j", async (quirks, text) => {
    const { notes, verdicts } = await check({ quirks });
    expect(notes.filter((note) => /^kindly: /.test(note) && text.test(note)).length).toBeGreaterThan(0);
    expect(count(verdicts, "wrong")).toBe(0);
  });

  it.each<["absent" | "empty"]>([["absent"], ["empty"]])("is no cursor that is %s", async (cursor) => {
    const { verdicts } = await check({ quirks: { cursor } });
    expect(count(verdicts, "fits")).toBe(12);
  });

  it("is a week that begins on Thursday, numbers as texts, and instants as numbers", async () => {
    const front = changing((body, url) => ({
      ...body,
      result: body.result.map((row) => ({
        ...row,
        close: String(row.close),
        timestamp:
          Date.parse(row.timestamp as string) + (url.searchParams.get("timeframe") === "1w" ? 3 * DAY : 0),
      })),
    }));
    const { notes, verdicts } = await check({ front });
    expect(notes).toContain('kindly: they begin on Thursday, so set weekStart: "thursday"');
    expect(notes).toContain("kindly: numbers are texts");
    expect(notes).toContain("kindly: timestamps are numbers");
    expect(count(verdicts, "wrong")).toBe(0);
  });

  it.each<[string, string | null, RegExp]>([
    ["date", null, /no Date: this machine's clock decides/],
    ["date", new Date(NOW - 60_000).toUTCString(), /Date is 60 s behind the clock of this machine/],
    ["age", "7", /a cache has kept the answer for 7 s/],
    ["x-request-weight", null, /no X-Request-Weight/],
  ])("is the header %s: %s", async (name, value, text) => {
    const { of } = await check({ front: withHeader(name, value) });
    expect(of.get("the newest candles")).toContainEqual(expect.stringMatching(text));
  });

  it.each<[FaultKind, number, RegExp]>([
    ["shuffled", 1, /rows in no order/],
    ["duplicated", 1, /rows that come twice/],
  ])("is the fault %s of call %i", async (kind, call, text) => {
    const front = (fetch: FetchLike) => withFaults(fetch, { seed: 3, schedule: [{ call, kind }] });
    const { notes, verdicts } = await check({ front });
    expect(notes.filter((note) => /^kindly: /.test(note) && text.test(note))).toHaveLength(1);
    expect(count(verdicts, "wrong")).toBe(0);
  });

  it("is a service without snipers, or without keys", async () => {
    const front =
      (fetch: FetchLike): FetchLike =>
      async (url, init) =>
        fetch(url.replace("/snipers", "/nothing"), { ...init, headers: { "X-API-Key": "demo" } });
    const { notes, verdicts } = await check({ front });
    expect(notes).toContainEqual(expect.stringMatching(/^kindly: status 404: watchSnipers/));
    expect(notes).toContainEqual(expect.stringMatching(/^kindly: it is answered: whoever reaches/));
    expect(count(verdicts, "wrong")).toBe(0);
  });
});

describe("what is wrong", () => {
  it.each<[FaultKind, RegExp]>([
    ["5xx", /was answered with status 5\d\d/],
    ["html", /not JSON/],
    ["null", /breaks the contract/],
    ["errorBody", /“upstream timed out”/],
    ["nested", /not JSON/],
    ["cutOff", /not JSON/],
    ["broken", /breaks the contract at result\[/],
    ["flood", /rows, at most/],
    ["longCursor", /longer than 4096 characters/],
  ])("is said of an answer with the fault %s, and what follows from it is not asked", async (kind, text) => {
    const front = (fetch: FetchLike) => withFaults(fetch, { seed: 3, schedule: [{ call: 1, kind }] });
    const { of, verdicts } = await check({ front });
    expect(of.get("the newest candles")).toEqual([expect.stringMatching(/^wrong: /)]);
    expect(of.get("the newest candles")![0]).toMatch(text);
    expect(count(verdicts, "not asked")).toBe(2);
    expect(count(verdicts, "fits")).toBe(9);
  });

  it.each<[string, (body: Body, url: URL, call: number) => unknown, question: string, RegExp]>([
    [
      "the same page whatever the cursor",
      (() => {
        let first: unknown;
        return (body: Body, url: URL) => {
          first ??= body;
          return url.searchParams.has("cursor") ? first : body;
        };
      })(),
      "the next page",
      /leads back to candles of the first page/,
    ],
    [
      "a cursor without an end",
      (body, url) =>
        url.searchParams.has("cursor") ? { ...body, cursor: url.searchParams.get("cursor") } : body,
      "the next page",
      /is the one that led there/,
    ],
    [
      "an empty page under a cursor",
      (body, url) => (url.searchParams.has("cursor") ? { ...body, cursor: "more", result: [] } : body),
      "the next page",
      /an empty page with a cursor/,
    ],
    [
      "ten rows and no word of the others",
      (body, _url, call) => (call === 1 ? { ...body, cursor: null } : body),
      "the next page",
      /has no cursor, though the range holds more candles/,
    ],
    [
      "a part of the candles each time",
      (body, _url, call) =>
        call === 3 ? { ...body, result: body.result.filter((_, at) => at % 2 === 1) } : body,
      "the same candles again, to their very bounds",
      /candles that it has just shown are missing: \d of 6/,
    ],
    [
      "longer candles of its own making",
      (body, url) =>
        url.searchParams.get("timeframe") === "5min"
          ? { ...body, result: body.result.map((row) => ({ ...row, swaps: Number(row.swaps) + 1 })) }
          : body,
      "longer candles, beside what they are made of",
      /swaps of 5min is \d+, of its 1min \d+/,
    ],
    [
      "candles of the future",
      (body, _url, call) =>
        call === 1
          ? {
              ...body,
              result: [{ ...body.result[0], timestamp: "2025-01-03T12:31:00.000Z" }, ...body.result],
            }
          : body,
      "the newest candles",
      /rows outside of the range|begin after the answer was made/,
    ],
    [
      "a close above high",
      (body) => ({ ...body, result: body.result.map((row) => ({ ...row, close: 2 * Number(row.high) })) }),
      "the newest candles",
      /closes or opens outside of low and high/,
    ],
    [
      "another pair's candles",
      (body) => ({ ...body, pairAddress: "another" }),
      "the newest candles",
      /the answer is for another/,
    ],
    [
      "weeks of two kinds",
      (body, url) =>
        url.searchParams.get("timeframe") === "1w"
          ? {
              ...body,
              result: [...body.result, { ...body.result[0], timestamp: "2024-12-26T00:00:00.000Z" }],
            }
          : body,
      "weeks",
      /they begin on several days/,
    ],
  ])("is said of a service that sends %s", async (_what, change, question, text) => {
    const { of } = await check({ front: changing(change) });
    expect(of.get(question)).toContainEqual(expect.stringMatching(text));
  });

  it("is a status that would be asked again, where the request is to blame", async () => {
    const front =
      (fetch: FetchLike): FetchLike =>
      async (url, init) => {
        const answer = await fetch(url, init);
        return answer.status === 200 ? answer : { ...answer, status: 500 };
      };
    const { verdicts } = await check({ front });
    expect(count(verdicts, "wrong")).toBe(3);
    expect(count(verdicts, "fits")).toBe(9);
  });
});

describe("a check", () => {
  it.each<[string, FetchLike, RegExp]>([
    ["a 429", answering(429, "slow down"), /“slow down”/],
    ["a refused key", answering(401, "who are you"), /“who are you”/],
    ["a spent plan", answering(401, "total included usage has been consumed"), /consumed/],
    ["no network", async () => Promise.reject(new TypeError("no network")), /no network/],
  ])("ends at %s, with one request", async (_what, fetch, text) => {
    const { of, verdicts, spent } = await check({ front: () => fetch });
    expect(of.get("the newest candles")).toEqual([expect.stringMatching(text)]);
    expect(count(verdicts, "not asked")).toBe(11);
    expect(spent.requests).toBe(1);
  });

  it("ends at a 429 that a question gets which no client asks", async () => {
    const front =
      (fetch: FetchLike): FetchLike =>
      async (url, init) =>
        url.includes("fromDate=2025-01-02") ? answering(429, "slow down")(url) : fetch(url, init);
    const { of, verdicts } = await check({ front });
    expect(of.get("a range of calendar dates")).toEqual(["wrong: status 429"]);
    expect(count(verdicts, "not asked")).toBe(4);
  });
});

function answering(status: number, message: string): FetchLike {
  return async () => ({
    status,
    headers: { get: () => null },
    text: async () => JSON.stringify({ message }),
  });
}
