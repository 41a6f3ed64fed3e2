import { Subscription } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGateway } from "../../src/adapters/sse/index.js";
import {
  type ClientOptions,
  createClient,
  recordExchanges,
  replayExchanges,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { fakeClient, pageBody, row, START } from "../client/fake-service.js";
import { answered, at, KEY, MINUTES, PAIR, World, withRows } from "../world.js";

const MINUTE = 60_000;
const down = () => answered(500, { message: "database is down" });

function market(client: Partial<ClientOptions> = {}): World {
  const world = new World({ start: at("12:00:10"), hasDate: true, client });
  world.swapsEvery(30_000, at("11:00:00"), at("20:00:00"));
  world.swap(at("11:00:00"), 1, { walletAddress: "early" });
  world.swap(at("11:30:00"), 1, { walletAddress: "early", side: "sell" });
  return world;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a stream of a pair that is not known", () => {
  it.each([
    ["fail", true],
    ["wait", false],
  ] as const)("is said to end only where it does: whenMissing %s", async (whenMissing, ends) => {
    const world = market();
    world.interfere = () => answered(404, { message: "not found" });
    const ignore = { error: () => {} };
    watchCandles(world.client, { ...MINUTES, whenMissing }).subscribe(ignore);
    watchSnipers(world.client, { pairAddress: PAIR, whenMissing }).subscribe(ignore);
    await world.clock.advanceBy(30_000);
    expect(world.warnings).toHaveLength(2);
    for (const { message } of world.warnings) {
      expect(message).toContain("it asks again in");
      expect(message.includes("it ends")).toBe(ends);
    }
  });

  it.each([
    ["answers 404", () => answered(404, { message: "not found" })],
    ["answers with a page of the web", () => answered(200, "<html>a portal</html>")],
  ])("is said to have ended, at once: one that %s", async (_, answer) => {
    const world = market();
    world.interfere = answer;
    const ended: number[] = [];
    const note = { error: () => ended.push(world.clock.now()) };
    watchCandles(world.client, MINUTES).subscribe(note);
    watchCandles(world.client, { ...MINUTES, whenMissing: "wait" }).subscribe();
    await world.clock.advanceBy(2 * MINUTE);
    const told = world.warnings.filter(({ message }) => message.endsWith("; the stream ends"));
    expect(told).toHaveLength(1);
    expect(ended).toHaveLength(1);
  });
});

it("says why it waits where another stream has met a 429 that stops the client", async () => {
  const world = market();
  world.interfere = () => answered(429, { message: "slow down" }, { "retry-after": "90" });
  watchCandles(world.client, MINUTES).subscribe();
  await world.clock.advanceBy(10_000);
  world.interfere = () => undefined;
  const events: unknown[] = [];
  watchCandles(world.client, { ...MINUTES, timeframe: "5min" }).subscribe((event) => events.push(event));
  await world.clock.advanceBy(1_000);
  expect(world.warnings.at(-1)!.message).toMatch(
    /^5min candles .*: nothing has come yet: The service has answered 429: nothing is sent for 81 s; it asks again in 80 s$/,
  );
  const sent = world.asked.length;
  await world.clock.advanceBy(78_000);
  expect(world.asked).toHaveLength(sent);
  await world.clock.advanceBy(3_000);
  expect(events).not.toHaveLength(0);
  expect(world.warnings).toHaveLength(4);
});

it("asks again as soon as a 429 lets it, however often it was refused", async () => {
  const world = market();
  watchCandles(world.client, { ...MINUTES, every: 1_000 }).subscribe();
  await world.clock.advanceBy(5_000);
  world.interfere = () => answered(429, { message: "slow down" }, { "retry-after": "10" });
  await world.clock.advanceBy(95_000);
  world.interfere = () => undefined;
  const before = world.asked.length;
  await world.clock.advanceBy(11_500);
  expect(world.asked.length).toBeGreaterThan(before);
});

describe("a client whose machine has another time than the service", () => {
  it.each([
    [180_000, "180 s ahead of"],
    [-3_600_000, "3600 s behind"],
  ])("is told so once: %s ms", async (offset, apart) => {
    const world = market();
    world.offset = offset;
    for (const timeframe of ["1min", "5min"] as const)
      watchCandles(world.client, { ...MINUTES, timeframe }).subscribe();
    await world.clock.advanceBy(5 * MINUTE);
    const text = `the service's clock is ${apart} this machine's, by its Date; candles close by the service's`;
    expect(world.warnings.map(({ message }) => message)).toEqual([text]);
    world.offset = 0;
    await world.clock.advanceBy(5 * MINUTE);
    world.offset = offset;
    await world.clock.advanceBy(5 * MINUTE);
    expect(world.warnings.filter(({ message }) => message === text)).toHaveLength(2);
  });

  it("is told nothing of less than a minute, nor of one Date alone", async () => {
    const world = market();
    world.offset = 59_000;
    const get = () => new Date(0).toUTCString();
    world.interfere = (_, answer) =>
      world.asked.length > 1
        ? undefined
        : answer().then((served) => ({ ...served, headers: { get }, text: () => served.text() }));
    watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceBy(5 * MINUTE);
    expect(world.warnings).toEqual([]);
  });
});

describe("a client that more polls are due of than its rateLimit allows", () => {
  const watching = async (streams: number) => {
    const world = market({ rateLimit: { requests: 2, per: 1_000 } });
    const all = new Subscription();
    for (let stream = 0; stream < streams; stream += 1) {
      const every = 1_000 + stream;
      all.add(watchCandles(world.client, { ...MINUTES, every }).subscribe());
    }
    await world.clock.advanceTo(at("12:00:50"));
    const early = world.warnings.length;
    await world.clock.advanceTo(at("12:40:00"));
    all.unsubscribe();
    expect(world.clock.pending).toBe(0);
    return { early, told: world.warnings.map(({ message }) => message) };
  };

  it("says so once, after a minute", async () => {
    const { early, told } = await watching(8);
    expect(early).toBe(0);
    expect(told).toEqual([
      expect.stringMatching(
        /^polls have come late for a minute: more are due than rateLimit allows \(2 in 1000 ms\); \d wait now$/,
      ),
    ]);
  });

  it("says nothing where they wait now and then", async () => {
    expect((await watching(1)).told).toEqual([]);
  });

  it("says once of histories that they wait, and no stream says so", async () => {
    const world = market({ rateLimit: { requests: 2, per: 1_000 } });
    const all = new Subscription();
    const since = { candles: 1_500 };
    for (let stream = 0; stream < 100; stream += 1)
      all.add(watchCandles(world.client, { ...MINUTES, since }).subscribe());
    await world.clock.advanceTo(at("12:10:00"));
    all.unsubscribe();
    expect(world.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^histories have waited for a minute: more are due than rateLimit allows \(2 in 1000 ms\); \d+ wait now$/,
      ),
    ]);
  });
});

describe("a client whose quota does not pay for the closings", () => {
  const units = (minutes: number) => ({ units: minutes * 150, per: 3_600_000 });
  const watching = async (quota: ClientOptions["quota"]) => {
    const world = market({ quota: quota! });
    const streams = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("14:30:00"));
    streams.unsubscribe();
    return world.warnings.map(({ message }) => message);
  };

  it("says so once, with how many of them it pays for, and until when", async () => {
    const told = await watching(units(20));
    expect(told).toEqual([
      expect.stringMatching(
        /^closed candles come late: of the quota's 3000 units \d+ are left until 2024-01-05T13:00:00Z, which pay for \d+ % of their polls$/,
      ),
    ]);
    expect(Number(/(\d+) %/.exec(told[0]!)![1])).toBeLessThan(50);
  });

  it.each([
    ["sniper streams alone", false, "sniper reports"],
    ["sniper streams beside candles", true, "closed candles"],
  ])("says what comes late: %s", async (_, hasCandles, named) => {
    const world = market({ quota: { units: 1_000, per: 3_600_000 } });
    const streams = watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
    if (hasCandles) streams.add(watchCandles(world.client, MINUTES).subscribe());
    await world.clock.advanceTo(at("12:30:00"));
    streams.unsubscribe();
    expect(world.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${named} come late: of the quota's 1000 units \\d+ are left until .*, which pay for \\d+ % of their polls$`,
        ),
      ),
    ]);
  });

  it("says so in the period after one of which nothing was left", async () => {
    const world = market({ quota: units(20) });
    const page = { ...MINUTES, fromDate: at("11:00:00"), toDate: at("11:30:00") };
    for (let call = 0; call < 20; call += 1) void world.client.ohlcvPage(page);
    await world.clock.advanceBy(1_000);
    const stream = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("14:30:00"));
    stream.unsubscribe();
    const told = world.warnings.filter(({ message }) => message.startsWith("closed candles come late"));
    expect(told.map(({ message }) => /until (\S+),/.exec(message)![1])).toEqual(["2024-01-05T14:00:00Z"]);
  });

  it("says nothing where it leaves out polls in between alone", async () => {
    expect(await watching(units(90))).toEqual([]);
  });
});

describe("a stream that has begun", () => {
  it("is in trouble after a minute, which is told once, and so is its end", async () => {
    const world = market();
    const subscription = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:02:30"));
    expect(world.warnings).toEqual([]);
    world.interfere = down;
    await world.clock.advanceTo(at("12:20:00"));
    expect(world.warnings).toHaveLength(1);
    const [told] = world.warnings;
    expect(told).toMatchObject({
      message: expect.stringMatching(
        /^1min candles of .*: in trouble for a minute: “database is down”: .* 500; it asks again in \d+ s$/,
      ),
      series: MINUTES,
      pairAddress: PAIR,
      error: { name: "HttpError", status: 500 },
    });
    expect(told!.failures).toBeGreaterThan(0);
    expect(told!.at).toBeGreaterThanOrEqual(at("12:04:00"));
    expect(told!.at).toBeLessThanOrEqual(at("12:04:10"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:30:00"));
    expect(world.warnings.slice(1)).toMatchObject([
      { message: expect.stringMatching(/: well again$/), failures: 0 },
    ]);
    expect(world.warnings[1]).not.toHaveProperty("error");
    subscription.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("says nothing of less than a minute", async () => {
    const world = market();
    const subscription = watchCandles(world.client, { ...MINUTES, every: 5_000 }).subscribe();
    await world.clock.advanceTo(at("12:02:30"));
    world.interfere = down;
    await world.clock.advanceTo(at("12:03:10"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:10:00"));
    expect(world.warnings).toEqual([]);
    subscription.unsubscribe();
  });

  it("says once for all who share its poll, and whoever watches the status silences nothing", async () => {
    const world = market();
    const all = new Subscription();
    all.add(watchCandles(world.client, MINUTES).subscribe());
    all.add(watchCandles(world.client, { ...MINUTES, fillGaps: true }).subscribe());
    all.add(watchFeedStatus(world.client, MINUTES).subscribe());
    all.add(watchSnipers(world.client, { pairAddress: PAIR, whenMissing: "wait" }).subscribe());
    await world.clock.advanceTo(at("12:02:30"));
    world.interfere = down;
    await world.clock.advanceTo(at("12:08:00"));
    const said = world.warnings.map(({ message }) => message.split(":")[0]);
    expect(said.filter((name) => name!.startsWith("1min candles"))).toHaveLength(1);
    expect(world.warnings.filter(({ message }) => message.startsWith("snipers of"))).toHaveLength(1);
    all.unsubscribe();
  });

  it("is told of by the client of a gateway", async () => {
    const world = market();
    const gateway = createGateway(world.client, { allow: [MINUTES] });
    const query = new URLSearchParams({ ...MINUTES });
    const answer = gateway.fetch(new Request(`https://gateway.test/candles?${query}`));
    world.interfere = down;
    await world.clock.advanceBy(MINUTE);
    await answer;
    expect(world.warnings).toMatchObject([{ message: expect.stringContaining("database is down") }]);
    await gateway.close();
  });
});

describe("a history", () => {
  it("is read though polls would take all of the rate limit, and is not said to be without an answer", async () => {
    const world = market({ rateLimit: { requests: 1, per: 1_000 } });
    const shown: string[] = [];
    const polls = [250, 300, 350].map((every) =>
      watchCandles(world.client, { ...MINUTES, every }).subscribe(),
    );
    const since = at("11:50:00");
    const own = watchCandles(world.client, { ...MINUTES, every: 400, since }).subscribe(({ status }) =>
      shown.push(status),
    );
    await world.clock.advanceTo(at("12:01:30"));
    expect(shown.filter((status) => status === "final").length).toBeGreaterThan(5);
    expect(world.warnings).toMatchObject([{ message: expect.stringMatching(/^polls have come late /) }]);
    for (const each of [own, ...polls]) each.unsubscribe();
  });

  it("in trouble is told of, though the poll is well", async () => {
    const world = market();
    // What is older than half an hour ago.
    world.interfere = ({ url }) => {
      const from = Number(url.searchParams.get("fromDate")) * 1_000;
      return from < at("11:30:00") && url.pathname.endsWith("/ohlcv") ? down() : undefined;
    };
    const subscription = watchCandles(world.client, { ...MINUTES, since: { candles: 200 } }).subscribe();
    await world.clock.advanceBy(15_000);
    expect(world.warnings).toMatchObject([{ message: expect.stringContaining("nothing has come yet") }]);
    world.interfere = () => undefined;
    await world.clock.advanceBy(2 * MINUTE);
    expect(world.warnings.slice(1)).toMatchObject([{ message: expect.stringMatching(/: well again$/) }]);
    subscription.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });
});

it.each<[string, Partial<WatchOptions>]>([
  ["with a history", { since: { candles: 200 } }],
  ["without one", {}],
])("a stream that waits for a sniper report says so, and waits for one alone: %s", async (_, options) => {
  const world = market({ timeout: 30_000 });
  world.interfere = ({ url }) =>
    url.pathname.endsWith("/snipers") ? new Promise<never>(() => {}) : undefined;
  let first: number | undefined;
  const subscription = watchCandles(world.client, { ...MINUTES, ...options }).subscribe(() => {
    first ??= world.clock.now();
  });
  await world.clock.advanceBy(200_000);
  const texts = world.warnings.map(({ message }) => message.replace(/^[^:]*: /, ""));
  const told = [expect.stringMatching(/^no answer for 10 s/), "well again"];
  expect(texts).toEqual(options.since === undefined ? [] : told);
  // Three attempts of 30 s, and what lies between.
  expect(first! - at("12:00:10")).toBeLessThan(95_000);
  subscription.unsubscribe();
});

describe("rows that are left out", () => {
  it("are counted, and told once a stream and hour", async () => {
    const world = market();
    world.interfere = async (_, answer) => {
      const served = await answer();
      const body = JSON.parse(await served.text());
      for (const each of body.result ?? [])
        if (new Date(each.timestamp).getUTCMinutes() % 2 === 0) each.close = "cheap";
      return { ...served, text: async () => JSON.stringify(body) };
    };
    const subscription = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("13:30:00"));
    const told = world.warnings.filter(({ message }) => message.includes("left out"));
    expect(told.map(({ message }) => Number(/: (\d+) rows? left out/.exec(message)![1]))).toEqual([2, 30]);
    expect(told[0]).toMatchObject({
      message: expect.stringContaining("close: not a number"),
      error: { name: "ContractError" },
      failures: 0,
    });
    subscription.unsubscribe();
  });
});

describe("warn", () => {
  const WRONG = { network: "mainnet", pairAddress: PAIR, timeframe: "10s", currency: "usd" } as const;

  it("gets one line without the key, and a trouble that is frozen", async () => {
    const told: [string, object][] = [];
    const body = JSON.stringify({ message: `no\nkey the-secret-key here` });
    const { client, clock } = fakeClient(() => ({ status: 500, body }), {
      warn: (message, trouble) => told.push([message, trouble]),
    });
    const subscription = watchCandles(client, WRONG).subscribe();
    await clock.advanceBy(1_000);
    subscription.unsubscribe();
    const [[message, trouble]] = told as [[string, object]];
    expect(message).not.toMatch(/\p{Cc}|the-secret-key/u);
    expect(JSON.stringify(trouble)).not.toContain("the-secret-key");
    expect(Object.isFrozen(trouble)).toBe(true);
  });

  it("may throw: that is reported, and ends no stream", async () => {
    const problem = new Error("no logger");
    const { client, clock, calls } = fakeClient(() => ({ status: 500 }), {
      warn: () => {
        throw problem;
      },
    });
    const subscription = watchCandles(client, WRONG).subscribe();
    await expect(clock.advanceBy(1_000)).rejects.toBe(problem);
    await clock.advanceBy(MINUTE);
    expect(calls.length).toBeGreaterThan(5);
    subscription.unsubscribe();
  });

  it("is refused where it is neither a function nor false", () => {
    expect(() => fakeClient(undefined, { warn: true as never })).toThrow(
      "warn is true; allowed: a function, or false",
    );
  });

  it("says nothing where it is false, and leaves no timer", async () => {
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { client, clock } = fakeClient(() => ({ status: 500 }), { warn: false });
    watchCandles(client, WRONG).subscribe().unsubscribe();
    await clock.advanceBy(MINUTE);
    expect(emitted).not.toHaveBeenCalled();
    expect(clock.pending).toBe(0);
  });

  it("is a warning of the process by default, at most ten a minute", async () => {
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { client, clock } = fakeClient(() => ({ status: 410 }), { warn: undefined as never });
    for (let index = 0; index < 30; index += 1)
      watchCandles(client, { ...WRONG, pairAddress: `${PAIR}${index}` }).subscribe({ error: () => {} });
    await clock.advanceBy(5_000);
    expect(emitted).toHaveBeenCalledTimes(10);
    expect(emitted.mock.calls[0]).toEqual([
      expect.stringContaining("status 410"),
      { type: "PairstreamWarning", code: "PAIRSTREAM_STREAM" },
    ]);
    expect(emitted.mock.calls[9]![0]).toContain("more warnings of this minute are left out");
    await clock.advanceBy(MINUTE);
    watchCandles(client, WRONG).subscribe({ error: () => {} });
    await clock.advanceBy(1_000);
    expect(emitted).toHaveBeenCalledTimes(11);
  });

  it("is silent in a replay", async () => {
    const lines: string[] = [];
    const live = fakeClient(() => ({ status: 410 }));
    const recorded = recordExchanges(live.fetch, (line) => lines.push(line), { scheduler: live.clock });
    const options = { baseUrl: "https://service.test", apiKey: KEY };
    const told: string[] = [];
    const warn = (message: string) => told.push(message);
    const client = createClient({ ...options, fetch: recorded, scheduler: live.clock, warn });
    watchCandles(client, WRONG).subscribe({ error: () => {} });
    await live.clock.advanceBy(1_000);
    expect(told).toHaveLength(1);
    const tape = replayExchanges(lines);
    const again = createClient({ ...options, fetch: tape.fetch, scheduler: tape.scheduler, warn });
    let ended = 0;
    watchCandles(again, WRONG).subscribe({
      error: () => {
        ended += 1;
      },
    });
    await tape.run();
    expect([ended, told.length]).toEqual([1, 1]);
  });

  it("hears of a pair without a candle once, and not of one whose candles come", async () => {
    const echoed = { timeframe: "10s" };
    const none = fakeClient(({ url }) =>
      url.includes("/snipers") ? { status: 404 } : { body: pageBody([], echoed) },
    );
    const quiet = watchCandles(none.client, WRONG).subscribe();
    await none.clock.advanceBy(60 * MINUTE);
    expect(none.warnings).toMatchObject([
      expect.stringContaining("no swaps seen; is it the pair's address?"),
    ]);
    quiet.unsubscribe();
    const some = fakeClient(() => ({ body: pageBody([row(START)], echoed) }));
    const busy = watchCandles(some.client, WRONG).subscribe();
    await some.clock.advanceBy(10 * MINUTE);
    expect(some.warnings.filter((text) => text.includes("no swaps"))).toEqual([]);
    busy.unsubscribe();
  });
});

it.each([
  ["three days", { endedAt: -3 * 24 * 60 }, {}, "2024-01-02T11:50:00.000Z"],
  ["twenty minutes", { endedAt: -20 }, {}, "2024-01-05T11:30:00.000Z"],
  ["twenty minutes", { endedAt: -20 }, { fillGaps: true, since: at("11:59:00") }, "2024-01-05T11:30:00.000Z"],
  ["two minutes", { endedAt: -2 }, {}, "2024-01-05T11:50:00.000Z"],
  ["the last interval", { endedAt: 1 }, { start: at("12:01:10") }, "2024-01-05T12:00:00.000Z"],
  [
    "the last interval",
    { endedAt: 1 },
    { start: at("12:05:03"), timeframe: "5min" },
    "2024-01-05T12:00:00.000Z",
  ],
  ["the last interval", { endedAt: 1 }, { start: at("12:01:10"), since: { candles: 1 } }, "none"],
  ["the last interval", { endedAt: 1 }, { start: at("12:01:10"), since: at("12:00:00") }, "none"],
  ["twenty minutes", { endedAt: -20 }, { since: { candles: 5 } }, "none"],
  ["twenty minutes", { endedAt: -20 }, { since: at("11:00:00") }, "none"],
])(
  "hears once that a pair is quiet which has traded until %s ago: %o, %o",
  async (_, { endedAt }, {
    start = at("12:00:10"),
    ...more
  }: Partial<WatchOptions> & { start?: number }, last) => {
    const world = new World({
      start,
      hasDate: true,
      createdAt: at("11:00:00") - 40 * 86_400_000,
    });
    world.swapsEvery(10 * MINUTE, at("12:00:00") - 5 * 24 * 60 * MINUTE, at("12:00:00") + endedAt * MINUTE);
    const events: unknown[] = [];
    watchCandles(world.client, { ...MINUTES, ...more }).subscribe((event) => events.push(event));
    await world.clock.advanceBy(2 * 60 * MINUTE);
    const told = world.warnings.map(({ message }) => message);
    if (last === "none") expect([told.length, events.length > 0]).toEqual([0, true]);
    else {
      expect(events).toEqual([]);
      const text = `no swaps for 5 minutes; the last ones are of ${last}`;
      expect(told).toEqual([expect.stringContaining(text)]);
    }
  },
);

it("calls a pair quiet only once an answer has shown it so for five minutes", async () => {
  const world = new World({ start: at("12:00:10"), hasDate: true });
  world.swapsEvery(10 * MINUTE, at("09:00:00"), at("11:59:00"));
  world.swapsEvery(10 * MINUTE, at("12:02:00"), at("12:59:00"));
  watchCandles(world.client, { ...MINUTES, timeframe: "1h", every: "close" }).subscribe();
  await world.clock.advanceTo(at("14:30:00"));
  expect(world.warnings).toEqual([]);
});

it("hears of a pair without a sniper once, and not of one that has had some", async () => {
  const none = market();
  const quiet = watchSnipers(none.client, { pairAddress: PAIR, every: 5_000 }).subscribe();
  none.interfere = (_asked, answer) => withRows(answer, () => []);
  await none.clock.advanceBy(55_000);
  expect(none.warnings).toEqual([]);
  await none.clock.advanceBy(60 * MINUTE);
  expect(none.warnings.map(({ message }) => message)).toEqual([
    `snipers of ${PAIR}: good answers for a minute, but no snipers seen; is it the pair's address?`,
  ]);
  quiet.unsubscribe();
  const some = market();
  const busy = watchSnipers(some.client, { pairAddress: PAIR, every: 5_000 }).subscribe();
  await some.clock.advanceBy(MINUTE);
  some.interfere = (_asked, answer) => withRows(answer, () => []);
  await some.clock.advanceBy(10 * MINUTE);
  expect(some.warnings).toEqual([]);
  busy.unsubscribe();
});

it("a since that has not come yet is told of, by more than clocks differ", async () => {
  const world = market();
  const subscription = new Subscription();
  subscription.add(watchCandles(world.client, { ...MINUTES, since: at("12:01:00") }).subscribe());
  await world.clock.advanceBy(5_000);
  expect(world.warnings).toEqual([]);
  subscription.add(watchCandles(world.client, { ...MINUTES, since: at("14:00:00") }).subscribe());
  await world.clock.advanceBy(5_000);
  expect(world.warnings).toMatchObject([
    {
      message: expect.stringMatching(
        /: since is 2024-01-05T14:00:00.000Z, and for the service it is 2024-01-05T12:00:.*; nothing comes until then$/,
      ),
      series: MINUTES,
      failures: 0,
    },
  ]);
  subscription.unsubscribe();
});

describe("missingPace", () => {
  it("is how often a watch that waits asks for a young pair's snipers", async () => {
    const world = market({ rateLimit: false });
    world.interfere = () => answered(404, { message: "no such pair" });
    const options = { pairAddress: PAIR, whenMissing: "wait", missingPace: 5_000 } as const;
    const subscription = watchSnipers(world.client, options).subscribe();
    await world.clock.advanceBy(10 * MINUTE);
    const waits = world.asked.slice(1).map(({ sent }, index) => sent - world.asked[index]!.sent);
    expect(waits.length).toBeGreaterThan(100);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...waits)).toBeLessThan(5_200);
    subscription.unsubscribe();
  });

  it.each([
    [
      { missingPace: 5_000 },
      'missingPace is 5000, but whenMissing is "fail"; allowed: only with whenMissing: "wait"',
    ],
    [
      { missingPace: 100, whenMissing: "wait" },
      "missingPace is 100; allowed: a number of ms of at least 250",
    ],
    [{ missingPace: 0, whenMissing: "wait" }, "missingPace is 0; allowed: a number of ms of at least 250"],
  ] as const)("is refused where it cannot be: %o", (options, message) => {
    const { client } = market();
    expect(() => watchSnipers(client, { pairAddress: PAIR, ...options })).toThrow(message);
  });
});
