import fc from "fast-check";
import {
  type CandleEvent,
  type Client,
  clientSource,
  emptyReport,
  type FeedStatus,
  type PairSource,
  type SniperEvent,
  type WatchOptions,
} from "pairstream";
import { type GatewayFetch, gatewaySource } from "pairstream/sse";
import { defer, find, lastValueFrom, type Observable, Subscription } from "rxjs";
import { describe, expect, it } from "vitest";
import { answered, MINUTES, PAIR, time } from "../../../world.js";
import { ADDRESS, BORN, MINUTE, market, START, Stage } from "./stage.js";

/** What one source has told. */
class Told {
  readonly candles: CandleEvent[] = [];
  readonly snipers: SniperEvent[] = [];
  readonly statuses: FeedStatus[] = [];
  readonly errors: Error[] = [];
  readonly leave: () => void;

  constructor(source: PairSource, options: WatchOptions = {}) {
    const error = (thrown: Error) => this.errors.push(thrown);
    const subscriptions = [
      source.candles({ ...MINUTES, ...options }).subscribe({ next: (one) => this.candles.push(one), error }),
      source.status({ ...MINUTES, ...options }).subscribe({ next: (one) => this.statuses.push(one), error }),
      source.snipers({ pairAddress: PAIR }).subscribe({ next: (one) => this.snipers.push(one), error }),
    ];
    this.leave = () => {
      for (const subscription of subscriptions) subscription.unsubscribe();
    };
  }
}

const sourceOf = (stage: Stage): PairSource =>
  gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });

const clientOf = (stage: Stage): PairSource => clientSource(stage.world.client);

const punctual = (event: CandleEvent) => ({ ...event, lateBy: 0 });

/** Waits until so many requests are out: the first one waits for a module to load. */
async function asks(stage: Stage, requests: number): Promise<void> {
  while (stage.addresses.length < requests) await stage.clock.advanceBy(0);
  await stage.pass(0);
}

const watches: fc.Arbitrary<WatchOptions> = fc.record(
  {
    since: fc.oneof(
      fc.record({ candles: fc.integer({ min: 1, max: 40 }) }),
      fc.integer({ min: START - 60 * MINUTE, max: START }),
      fc.constant("2024-01-05T11:30:00Z"),
      fc.date({ min: new Date(START - 60 * MINUTE), max: new Date(START), noInvalidDate: true }),
    ),
    every: fc.constantFrom<(number | "close")[]>("close", 10_000, 60_000),
    settle: fc.integer({ min: 0, max: 5_000 }),
    revisionWindow: fc.integer({ min: 0, max: 5 }),
    fillGaps: fc.boolean(),
    weekStart: fc.constantFrom("monday" as const, "thursday" as const),
    whenMissing: fc.constantFrom("fail" as const, "wait" as const),
  },
  { requiredKeys: [] },
);

/** Without the names of what is not there. */
const given = (values: object) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

describe("the streams of a gateway", () => {
  it("are those of its client", async () => {
    const swap = fc.record({
      after: fc.integer({ min: 0, max: 8 * MINUTE }),
      late: fc.integer({ min: 0, max: 3 * MINUTE }),
      price: fc.integer({ min: 50, max: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(watches, fc.array(swap, { maxLength: 8 }), async (watch, swaps) => {
        const tell = async (isServed: boolean) => {
          const { settle, revisionWindow } = watch;
          const stage = new Stage({ minEvery: 10_000, ...given({ settle, revisionWindow }) });
          const told = new Told(isServed ? sourceOf(stage) : clientSource(stage.world.client), watch);
          // Candles with their status, and snipers.
          if (isServed) await asks(stage, 2);
          for (const { after, late, price } of swaps) {
            stage.clock.schedule(() => stage.world.swap(START + after - late, price), after);
          }
          await stage.pass(10 * MINUTE);
          told.leave();
          expect(stage.addresses).toHaveLength(isServed ? 2 : 0);
          await stage.gateway.close();
          await stage.pass(0);
          expect(stage.clock.pending).toBe(0);
          return told;
        };
        const [expected, told] = [await tell(false), await tell(true)];
        expect(told.errors).toEqual([]);
        expect(told.candles.map(punctual)).toEqual(expected.candles.map(punctual));
        // By the clock of a receiver, which knows of the service's what it has heard, lateness differs a little.
        const moreLate = told.candles.map(({ lateBy }, at) => lateBy - expected.candles[at]!.lateBy);
        expect(moreLate.filter((ms) => Math.abs(ms) > 1_000)).toEqual([]);
        expect(told.candles.length).toBeGreaterThan(10);
        expect(told.snipers).toEqual(expected.snipers);
        expect(told.statuses).toEqual(expected.statuses);
      }),
      { numRuns: 10 },
    );
  });

  it.each<[string, WatchOptions]>([
    ["no history", {}],
    ["so many candles", { since: { candles: 5 } }],
    ["so many candles, gaps filled", { since: { candles: 9 }, fillGaps: true }],
    ["an instant", { since: START - 30 * MINUTE }],
  ])("begin for one who comes late where they would at the client, with %s", async (_, options) => {
    const firstsOf = async (through: (stage: Stage) => PairSource) => {
      const stage = new Stage();
      const first = new Told(through(stage), options);
      await stage.pass(0);
      await stage.pass(40 * MINUTE);
      const late = new Told(through(stage), options);
      if (stage.addresses.length > 0) await asks(stage, 4);
      await stage.pass(5_000);
      first.leave();
      late.leave();
      await stage.gateway.close();
      return late.candles.map((event) => time(event.candle.timestamp));
    };
    const expected = await firstsOf((stage) => clientSource(stage.world.client));
    const told = await firstsOf(sourceOf);
    expect(told.at(0)).toBe(expected.at(0));
    expect(told.at(-1)).toBe(expected.at(-1));
  });

  it("go on over connections that are lost, as the adapter has it", async () => {
    const stage = new Stage();
    const told = new Told(sourceOf(stage), { since: { candles: 5 } });
    await asks(stage, 2);
    await stage.pass(MINUTE);
    const { gateway } = stage;
    await gateway.close();
    await stage.pass(500);
    expect(told.statuses.at(-1)).toMatchObject({ state: "stalled", failures: 1 });
    expect(told.errors).toEqual([]);
    told.leave();
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
  });

  it("fail with what the gateway answers, or with the error of its client", async () => {
    const refused = new Stage({ allow: [] });
    const told = new Told(sourceOf(refused));
    await asks(refused, 2);
    expect(told.errors.map(({ name }) => name)).toEqual(Array(3).fill("AuthenticationError"));
    for (const { message } of told.errors) expect(message).toMatch(/allow.* \(https:.* status 403\)$/);
    expect(refused.clock.pending).toBe(0);

    const world = market();
    world.interfere = async () => answered(401, {});
    const keyless = new Stage({}, world);
    const failed = new Told(sourceOf(keyless));
    await asks(keyless, 2);
    await keyless.pass(1_000);
    expect(failed.errors.map(({ name }) => name)).toEqual(Array(3).fill("AuthenticationError"));
    await keyless.gateway.close();
  });

  it.each<[string, (source: PairSource) => Observable<unknown>, string]>([
    ["candles", (source) => source.candles({ ...MINUTES, settle: 5 }), "settle"],
    ["a status", (source) => source.status({ ...MINUTES, every: 5_000 }), "every"],
    ["snipers", (source) => source.snipers({ pairAddress: PAIR, every: 5_000 }), "every"],
    ["a sniper report", (source) => source.sniperReport({ pairAddress: PAIR, every: 5_000 }), "every"],
    ["a history", (source) => defer(() => source.history({ ...MINUTES, count: 9 })), "count"],
  ])("name the option that the gateway refuses: %s", async (_, follow, parameter) => {
    const stage = new Stage({ maxCandles: 5 });
    const error = await stage.settled(
      lastValueFrom(follow(sourceOf(stage))).catch((thrown: Error) => thrown),
    );
    expect(error).toMatchObject({
      name: "InvalidInputError",
      parameter,
      allowed: expect.stringMatching(/\d/),
    });
    expect((error as Error).message).toMatch(new RegExp(`^${parameter} .*; allowed: `));
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
  });

  it.each<[string, (source: PairSource) => Observable<unknown>]>([
    ["streams", (source) => source.candles(MINUTES)],
    ["a history", (source) => defer(() => source.history(MINUTES))],
  ])("repeat what the gateway says to one that it does not let in: %s", async (_, follow) => {
    const stage = new Stage({ allow: [] });
    const said = /^The gateway does not allow this request; allowed: .+ \(http.+ answered with status 403\)$/;
    await expect(stage.settled(lastValueFrom(follow(sourceOf(stage))))).rejects.toMatchObject({
      name: "AuthenticationError",
      message: expect.stringMatching(said),
    });
  });

  it("are refused at the call for options that are none", () => {
    const source = sourceOf(new Stage());
    const parameter = (name: string) =>
      expect.objectContaining({ name: "InvalidInputError", parameter: name });
    expect(() => source.candles({ ...MINUTES, timeframe: "7min" as "1min" })).toThrow(parameter("timeframe"));
    expect(() => source.candles({ ...MINUTES, sinse: 5 } as never)).toThrow(parameter("sinse"));
    expect(() => source.snipers({ pairAddress: "" })).toThrow(parameter("pairAddress"));
    const known = { pairAddress: "pair", report: emptyReport };
    for (const follow of [source.snipers, source.sniperReport]) {
      expect(() => follow({ pairAddress: "pair", known })).toThrow(parameter("known"));
      expect(() => follow({ pairAddress: "pair", whenMissing: "wait", missingPace: 500 })).toThrow(
        parameter("missingPace"),
      );
    }
    expect(() => source.status({ ...MINUTES, every: 1 })).toThrow(parameter("every"));
    expect(() => gatewaySource("ftp://gateway.test")).toThrow(parameter("url"));
    expect(() => gatewaySource(`${ADDRESS}?key=1`)).toThrow(parameter("url"));
    expect(() => gatewaySource(ADDRESS, { fech: 1 } as never)).toThrow(parameter("fech"));
    expect(() => gatewaySource(ADDRESS, null as never)).toThrow(parameter("options"));
  });
});

describe("the status of a stream", () => {
  it.each([
    ["a client", "the client", clientOf, clientOf],
    ["a gateway", "the gateway", sourceOf, sourceOf],
    ["a gateway", "its client", clientOf, sourceOf],
  ])(
    "is, of %s, that of the candles that were taken just before it, also where somebody else has the same of %s",
    async (_source, _other, otherOf, takenOf) => {
      const stage = new Stage({ minEvery: 10_000 });
      const options = { ...MINUTES, since: { candles: 20 } };
      const running = new Subscription();
      const other = otherOf(stage);
      running.add(other.candles(options).subscribe());
      running.add(other.status(options).subscribe());
      if (otherOf === sourceOf) await asks(stage, 1);
      await stage.pass(MINUTE);
      const told: string[] = [];
      const source = otherOf === takenOf ? other : takenOf(stage);
      running.add(source.candles(options).subscribe(({ type }) => told.push(type)));
      running.add(source.status(options).subscribe(({ state }) => told.push(state)));
      await stage.pass(30_000);
      expect(told.slice(0, told.indexOf("live")).filter((type) => type === "new").length).toBeGreaterThan(19);
      running.unsubscribe();
    },
  );

  it("shares a connection with candles of the same options, whichever comes first and goes last", async () => {
    const stage = new Stage();
    const source = sourceOf(stage);
    const options = { ...MINUTES, since: { candles: 5 } };
    const states: string[] = [];
    const noting =
      (list: string[]) =>
      ({ state }: FeedStatus) => {
        if (list.at(-1) !== state) list.push(state);
      };
    const status = source.status(options).subscribe(noting(states));
    const candles = source.candles(options).subscribe();
    const others = source.status({ ...options, since: { candles: 6 } }).subscribe();
    await asks(stage, 2);
    await stage.pass(2_000);
    expect(stage.addresses.map((url) => new URL(url).searchParams.get("since.candles"))).toEqual(["5", "6"]);
    expect(states).toEqual(["starting", "live"]);

    // Alone, it gets a connection of its own, and says nothing of it.
    candles.unsubscribe();
    await asks(stage, 3);
    await stage.pass(2_000);
    expect(states).toEqual(["starting", "live"]);
    const late: string[] = [];
    const again = source.candles(options).subscribe();
    await asks(stage, 4);
    const second = source.status(options).subscribe(noting(late));
    await stage.pass(100);
    expect(late).toEqual(["starting", "live"]);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 2 }]);
    for (const one of [status, others, again, second]) one.unsubscribe();
    await stage.pass(30_000);
    expect(await stage.status()).toMatchObject({ viewers: 0, channels: [] });
    expect(stage.clock.pending).toBe(0);
  });
});

describe("the status of a stream that is left", () => {
  it("gets a connection of its own, also where another status was the reason", async () => {
    const stage = new Stage();
    let isCut = true;
    const fetch: GatewayFetch = async (url, init) => {
      if (!isCut) return stage.fetch(url, init);
      stage.addresses.push(url);
      throw new Error("cut");
    };
    const source = gatewaySource(ADDRESS, { fetch, scheduler: stage.clock, warn: false });
    const [one, other] = [{ ...MINUTES, since: { candles: 5 } }, MINUTES];
    const first = source.candles(one).subscribe();
    await asks(stage, 1);
    isCut = false;
    const left = source.candles(other).subscribe();
    const live = source.status(one).pipe(find(({ state }) => state === "live"));
    const running = new Subscription();
    running.add(live.subscribe(() => left.unsubscribe()));
    running.add(source.candles(one).subscribe());
    running.add(source.status(other).subscribe());
    await stage.pass(500);
    const before = stage.addresses.length;
    // Its status was stalled; that of the other one, which counts from now on, is live.
    first.unsubscribe();
    expect(left.closed).toBe(true);
    await asks(stage, before + 1);
    running.unsubscribe();
    await stage.gateway.close();
  });
});

describe("history", () => {
  const instants = fc
    .integer({ min: (BORN - 30 * MINUTE) / 1_000, max: START / 1_000 })
    .map((one) => one * 1_000);

  it("is that of the client", async () => {
    const [stage, other] = [new Stage({ historyRequests: 10_000 }), market()];
    const query = fc.record(
      { from: instants, to: instants, count: fc.integer({ min: 1, max: 400 }) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const outcomeOf = async (source: PairSource, clockOf: Stage) => {
          const history = source.history({ ...MINUTES, ...asked });
          return clockOf.settled(history).catch(({ name, message }: Error) => ({ name, message }));
        };
        const expected = await outcomeOf(clientSource(other.client as Client), new Stage({}, other));
        const candles = await outcomeOf(sourceOf(stage), stage);
        expect(candles).toEqual(expected);
        if (Array.isArray(candles)) expect(Object.isFrozen(candles[0] ?? Object.freeze({}))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  const answering = (body: BodyInit | null, init: ResponseInit = {}) => {
    const stage = new Stage();
    const source = gatewaySource(ADDRESS, { fetch: () => new Response(body, init), scheduler: stage.clock });
    return { stage, history: source.history({ ...MINUTES, to: START, count: 2 }) };
  };
  const row = { open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
  const rows = (...timestamps: number[]) =>
    JSON.stringify({ candles: timestamps.map((timestamp) => ({ timestamp, ...row })) });
  const NOON = START - 10_000;

  it.each<[string, BodyInit | null]>([
    ["nothing", null],
    ["no JSON", "<html>"],
    ["no candles", "{}"],
    ["a row that lacks a price", JSON.stringify({ candles: [{ timestamp: NOON - MINUTE }] })],
    ["too many", rows(NOON - 3 * MINUTE, NOON - 2 * MINUTE, NOON - MINUTE)],
    ["a descending order", rows(NOON - MINUTE, NOON - 2 * MINUTE)],
    ["one twice", rows(NOON - MINUTE, NOON - MINUTE)],
    ["one of after the end", rows(NOON + MINUTE)],
    ["one that begins nowhere", rows(NOON - MINUTE + 1)],
    ["brackets without end", "[".repeat(1_000_000)],
    ["more than is read", `{"candles":[${" ".repeat(17 * 1024 * 1024)}]}`],
  ])("rejects an answer that holds %s", async (_, body) => {
    const { stage, history } = answering(body);
    await expect(stage.settled(history)).rejects.toMatchObject({ name: "ContractError" });
    expect(stage.clock.pending).toBe(0);
  });

  it.each<[string, number, string | null, Record<string, string>, object]>([
    ["a refusal without a body", 403, null, {}, { name: "AuthenticationError", status: 403 }],
    [
      "a proxy's page",
      502,
      "<html>\u001b[2J",
      {},
      { name: "HttpError", status: 502, body: "<html>\\u001b[2J" },
    ],
    ["a redirect", 302, null, { location: "https://elsewhere.example" }, { name: "HttpError", status: 302 }],
    ["too many requests", 429, "{}", { "retry-after": "7" }, { name: "RateLimitError", retryAfter: 7_000 }],
    [
      "a key that is refused",
      502,
      '{"error":{"name":"AuthenticationError","message":"GET /x answered 401","status":401}}',
      {},
      { name: "AuthenticationError", status: 401, message: "GET /x answered 401" },
    ],
    [
      "an option that is refused there",
      400,
      '{"error":{"name":"InvalidInputError","message":"count is 9; allowed: 1","parameter":"count","allowed":"1"}}',
      {},
      { name: "InvalidInputError", parameter: "count" },
    ],
    ["a body without end", 503, "x".repeat(1_000_000), {}, { name: "HttpError", status: 503 }],
  ])("rejects with a typed error for %s", async (_, status, body, headers, error) => {
    const { stage, history } = answering(body, { status, headers });
    await expect(stage.settled(history)).rejects.toMatchObject(error);
    expect(stage.clock.pending).toBe(0);
  });

  it("asks for no mode of caching, as some runtimes refuse most of them", async () => {
    const inits: object[] = [];
    const stage = new Stage();
    const fetch: GatewayFetch = (_, init) => {
      inits.push(init);
      return new Response(rows(NOON - MINUTE));
    };
    await stage.settled(gatewaySource(ADDRESS, { fetch, scheduler: stage.clock }).history(MINUTES));
    expect(inits.map((init) => Object.keys(init).sort())).toEqual([["headers", "signal"]]);
  });

  it("rejects where nobody answers, or falls silent", async () => {
    const stage = new Stage();
    const silent = gatewaySource(ADDRESS, {
      fetch: () => new Promise<Response>(() => {}),
      scheduler: stage.clock,
      silence: 5_000,
    });
    const timeout = silent.history(MINUTES).catch((error) => error);
    await stage.pass(5_000);
    expect(await timeout).toMatchObject({ name: "TimeoutError", timeout: 5_000 });
    const cut = gatewaySource(ADDRESS, {
      fetch: () => Promise.reject(new TypeError("fetch failed")),
      scheduler: stage.clock,
    });
    await expect(cut.history(MINUTES)).rejects.toMatchObject({ name: "NetworkError" });
    expect(stage.clock.pending).toBe(0);
  });

  it("ends with its signal's reason, at the gateway, too", async () => {
    const stage = new Stage();
    const abort = new AbortController();
    const history = sourceOf(stage).history({ ...MINUTES, count: 300 }, { signal: abort.signal });
    const outcome = history.catch((error) => error);
    await asks(stage, 1);
    await stage.pass(5);
    abort.abort("enough");
    await stage.pass(0);
    expect(await outcome).toBe("enough");
    expect(stage.world.asked.map(({ outcome }) => outcome)).toEqual(["aborted"]);
    expect(stage.clock.pending).toBe(0);
    await expect(sourceOf(stage).history(MINUTES, { signal: abort.signal })).rejects.toBe("enough");
    expect(stage.addresses).toHaveLength(1);
  });
});
