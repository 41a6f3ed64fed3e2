import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { first, firstValueFrom, lastValueFrom, type Subscription, toArray } from "rxjs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type CollectOptions,
  type CollectorActivity,
  collect,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { emptyTable, type LeaseTable } from "../../../src/adapters/nats/leases.js";
import {
  createClient,
  emptyReport,
  type FeedStatus,
  type FetchLike,
  fetchCandles,
  HttpError,
} from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { seriesOf, WATCH } from "./busy-service.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";

const market = simulatedMarket({ seed: 7, createdAt: Date.now() - 3_600_000, pairs: 3 });
const service = createPairService({ source: market });
const clientOf = (fetch: FetchLike = service.fetch) =>
  createClient({ baseUrl: "https://service.test", apiKey: "key", fetch, rateLimit: false });
/** The service, but for what it answers with 400. */
const refusing =
  (part: string): FetchLike =>
  async (url, init) => {
    if (!url.includes(part)) return service.fetch(url, init);
    return { status: 400, headers: { get: () => null }, text: async () => "" };
  };
const feeds = market.pairs.map((pair) => ({ ...seriesOf(pair), ...WATCH, since: { candles: 10 } }));

describe("collect", () => {
  const connection = { subscribe() {}, request() {}, isClosed: () => false } as unknown as NatsConnection;
  const refused = (options: CollectOptions, watches: readonly object[] = feeds) =>
    expect(() => collect(connection, clientOf(), watches as typeof feeds, options));

  it.each<[string, CollectOptions]>([
    ["name", { name: "a.b" }],
    ["group", { group: "" }],
    ["replicas", { replicas: 6 }],
    ["retention", { retention: 999 }],
    ["lease", { lease: 999 }],
    ["slots", { slots: 0 }],
    ["slots", { slots: 11, rateLimit: { requests: 10, per: 1_000 } }],
    ["rateLimit", { rateLimit: null as never }],
    ["rateLimit.requests", { rateLimit: { requests: 0, per: 1_000 } }],
    ["rateLimit.per", { rateLimit: { requests: 1, per: 0 } }],
    ["signal", { signal: {} as AbortSignal }],
  ])("refuses a wrong %s at the call", (parameter, options) => {
    refused(options).toThrow(expect.objectContaining({ name: "InvalidInputError", parameter }));
  });

  it("refuses what is no list of feeds, each of them once, at the call", () => {
    const [feed] = feeds;
    for (const watches of [[], [feed!, { ...feed, since: 0 }], {} as never]) {
      refused({}, watches).toThrow(expect.objectContaining({ parameter: "feeds" }));
    }
    refused({}, [{ ...feed, fillGaps: true }]).toThrow(expect.objectContaining({ parameter: "fillGaps" }));
    refused({}, [{ ...feed, timeframe: "7min" }]).toThrow(
      expect.objectContaining({ parameter: "timeframe" }),
    );
    refused({}, [{ pairAddress: "" }]).toThrow(expect.objectContaining({ parameter: "pairAddress" }));
    const known = { pairAddress: "pair", report: emptyReport };
    refused({}, [{ pairAddress: "pair", known }]).toThrow(expect.objectContaining({ parameter: "known" }));
    expect(() => collect({} as NatsConnection, clientOf(), feeds)).toThrow(
      expect.objectContaining({ parameter: "connection" }),
    );
  });
});

describe.skipIf(!hasServer)("collectors", () => {
  let server: NatsServer;
  let connection: NatsConnection;
  let count = 0;
  let name: string;
  const running: Subscription[] = [];

  beforeAll(async () => {
    server = await startServer();
    connection = await connectTo([server]);
  });
  beforeEach(() => {
    count += 1;
    name = `collect-${count}`;
  });
  afterEach(() => {
    for (const one of running.splice(0)) one.unsubscribe();
  });
  afterAll(async () => {
    await connection?.close();
    await server?.remove();
  });

  function start(
    options: CollectOptions = {},
    watches: Parameters<typeof collect>[2] = feeds,
    client = clientOf(),
    over = connection,
  ) {
    const told: CollectorActivity[] = [];
    const collector = { told, held: () => told.findLast(({ type }) => type === "slots"), ended: "" };
    const collecting = collect(over, client, watches, {
      name,
      rateLimit: false,
      ...options,
    });
    running.push(
      collecting.subscribe({
        next: (activity) => told.push(activity),
        error: (error) => {
          collector.ended = String(error);
        },
        complete: () => {
          collector.ended = "completed";
        },
      }),
    );
    return collector;
  }
  async function leases(): Promise<LeaseTable> {
    const bucket = await new Kvm(connection).open(`${name}-leases`);
    return (await bucket.get("default"))!.json();
  }
  const collectorsInTable = async () => Object.keys((await leases()).beats).length;
  const slotsOf = ({ held }: ReturnType<typeof start>) => {
    const activity = held();
    return activity?.type === "slots" ? activity.held.length : 0;
  };

  it("take over from one that is told to leave, which ends once its slots are free", async () => {
    const stopping = new AbortController();
    const rules = { slots: 4, lease: 4_000 };
    const first = start({ ...rules, signal: stopping.signal });
    await until("the first has all", () => slotsOf(first) === 4);
    const second = start(rules);
    await until("both have two", () => slotsOf(first) === 2 && slotsOf(second) === 2);
    stopping.abort();
    await until("the first has ended", () => first.ended);
    expect(first.ended).toBe("completed");
    expect(await collectorsInTable()).toBe(1);
    await until("the second has all", () => slotsOf(second) === 4);
    const started = first.told.filter(({ type }) => type === "started").length;
    expect(first.told.filter(({ type }) => type === "stopped")).toHaveLength(started);
  });

  it("leave nothing in the leases where they are told to leave while their first write is on its way", async () => {
    const stopping = new AbortController();
    const earlier = start({ signal: stopping.signal });
    await until("there is a table", () => slotsOf(earlier) > 0);
    stopping.abort();
    await until("it is empty", () => earlier.ended);
    let isSent = false;
    let letThrough = () => {};
    const delayed = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    const slow = Object.assign(Object.create(connection), {
      async request(subject: string, ...rest: unknown[]) {
        if (subject.startsWith("$KV.")) {
          isSent = true;
          await delayed;
        }
        return (connection.request as (...all: unknown[]) => unknown)(subject, ...rest);
      },
    });
    const leaving = new AbortController();
    const late = start({ signal: leaving.signal }, feeds, clientOf(), slow);
    await until("its first write", () => isSent);
    leaving.abort();
    letThrough();
    await until("its end", () => late.ended);
    expect(late.ended).toBe("completed");
    expect(await collectorsInTable()).toBe(0);
  });

  it("leave it to their client to say why nothing comes", async () => {
    const told: string[] = [];
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "key",
      fetch: async () => ({
        status: 500,
        headers: { get: () => null },
        text: async () => '{"message":"database is down"}',
      }),
      rateLimit: false,
      warn: (message) => told.push(message),
    });
    start({}, feeds, client);
    await until("each feed has been told of", () => told.length >= feeds.length);
    expect(told).toHaveLength(feeds.length);
    for (const message of told) expect(message).toContain("nothing has come yet: “database is down”");
  });

  it("end at once where they are told to leave before they begin", async () => {
    const collector = start({ signal: AbortSignal.abort() });
    await until("its end", () => collector.ended);
    expect(collector).toMatchObject({ ended: "completed", told: [] });
  });

  it("do not go by two sets of rules at a time", async () => {
    const first = start({ slots: 4, lease: 4_000 });
    await until("the first has all", () => slotsOf(first) === 4);
    const second = start({ slots: 5, lease: 4_000 });
    await until("the second gives up", () => second.ended);
    expect(second.ended).toContain("different rules");
    expect(slotsOf(first)).toBe(4);
  });

  it.each([
    ["called so by one who left", [], true, true],
    ["not called so by one who left", [], false, false],
    ["those of one that has died", ["dead"], true, false],
  ])(
    "take the slots of other rules for quiet only where they are: %s",
    async (_, alive, wasQuiet, isQuiet) => {
      const limit = { requests: 40, per: 1_000, timeout: 10_000 };
      const { slots, ...table } = emptyTable({ slots: 5, lease: 1_000, limit });
      const left = slots.map((slot) => ({ ...slot, isQuiet: wasQuiet }));
      const beats = Object.fromEntries(alive.map((id) => [id, 1]));
      const bucket = await new Kvm(connection).create(`${name}-leases`, { history: 1 });
      await bucket.put("default", JSON.stringify({ ...table, beats, slots: left }));
      const collector = start({ slots: 4, lease: 1_000, rateLimit: { requests: 40, per: 1_000 } });
      await until("it has all", () => slotsOf(collector) === 4);
      const taken = await leases();
      expect(taken.slots.map((slot) => slot.isQuiet)).toEqual(Array(4).fill(isQuiet));
    },
  );

  it.each([
    ["the table", async () => (await new Kvm(connection).open(`${name}-leases`)).purge("default")],
    ["its bucket", async () => (await jetstreamManager(connection)).streams.delete(`KV_${name}-leases`)],
  ])("go on with the slots they have where somebody deletes %s", async (_, destroy) => {
    const rules = { slots: 4, lease: 4_000, rateLimit: { requests: 40, per: 1_000 } };
    const both = [start(rules), start(rules)];
    await until("both have two", () => both.every((one) => slotsOf(one) === 2));
    const renewedSince = async (earlier: LeaseTable, ms: number) => {
      const { beats } = earlier;
      let table = earlier;
      await until("both have renewed their leases", async () => {
        table = await leases();
        return Object.keys(beats).every((id) => table.beats[id]! > beats[id]! + ms);
      });
      return table;
    };
    const before = await renewedSince(await leases(), 0);
    const told = both.map((one) => one.told.filter(({ type }) => type !== "trouble"));
    await destroy();
    const after = await renewedSince(before, rules.lease / 2);
    const holders = ({ slots }: LeaseTable) => slots.map(({ holder, epoch }) => ({ holder, epoch }));
    expect(holders(after)).toEqual(holders(before));
    expect(both.map((one) => one.told.filter(({ type }) => type !== "trouble"))).toEqual(told);
  });

  it("tell of what keeps them from beginning", async () => {
    server.freeze();
    const collector = start();
    await until("the trouble", () => collector.told.some(({ type }) => type === "trouble"));
    server.thaw();
    await until("it works", () => slotsOf(collector) > 0);
  });

  it("end where what they need cannot be had", async () => {
    const collector = start({ replicas: 3 });
    await until("its end", () => collector.ended);
    expect(collector.ended).toContain("replicas");
  });

  it("make the stream again that was deleted while nobody worked on it", async () => {
    const stopping = new AbortController();
    const rules = { slots: 1, lease: 2_000 };
    const first = start({ ...rules, signal: stopping.signal });
    await until("the first works", () => slotsOf(first) === 1);
    const second = start(rules);
    await until("the second stands by", async () => (await collectorsInTable()) === 2);
    const manager = await jetstreamManager(connection);
    stopping.abort();
    await manager.streams.delete(name);
    await until("the second works", () => slotsOf(second) === 1);
    const [series] = feeds;
    const event = await firstValueFrom(watchPublishedCandles(connection, series!, { name, since: 0 }));
    expect(event.type).toBe("new");
  });

  it("keep what can still change while the service is down, also what another one has left", async () => {
    const minutes = {
      ...seriesOf(market.pairs[0]!),
      timeframe: "1min" as const,
      settle: 100,
      revisionWindow: 3,
    };
    let isDown = false;
    const failing: FetchLike = (url, init) =>
      isDown ? Promise.reject(new Error("down")) : service.fetch(url, init);
    const rules = { retention: 3_000, lease: 1_000 };
    const feed = [{ ...minutes, every: 1_000, since: { candles: 3 } }];
    const stopping = new AbortController();
    const first = start({ ...rules, signal: stopping.signal }, feed);
    const told: string[] = [];
    running.push(
      watchPublishedCandles(connection, minutes, { name, since: 0 }).subscribe(({ type }) => told.push(type)),
    );
    await until("some candles", () => told.length >= 3);
    isDown = true;
    stopping.abort();
    await until("the first has ended", () => first.ended);
    start(rules, feed, clientOf(failing));
    const manager = await jetstreamManager(connection);
    const left = Date.now();
    await until("all is stored again, several times", async () => {
      const { state } = await manager.streams.info(name);
      return Date.parse(state.first_ts) > left + rules.retention;
    });
    const late: number[] = [];
    running.push(
      watchPublishedCandles(connection, minutes, { name, since: 0 }).subscribe(({ candle }) =>
        late.push(candle.timestamp),
      ),
    );
    await until("the same for one who comes later", () => late.length >= 3);
  });

  it("publish candles that the service lacks as their client makes them", async () => {
    const series = { ...seriesOf(market.pairs[0]!), timeframe: "2s" } as const;
    start({}, [{ ...series, ...WATCH, since: { candles: 10 } }]);
    const final = watchPublishedCandles(connection, series, { name, since: 0 }).pipe(
      first(({ status }) => status === "final"),
    );
    const { candle } = await firstValueFrom(final);
    const range = { from: candle.timestamp, to: candle.timestamp + 2_000 };
    expect(await lastValueFrom(fetchCandles(clientOf(), { ...series, ...range }))).toEqual(candle);
    const parts = fetchCandles(clientOf(), { ...series, timeframe: "1s", ...range }).pipe(toArray());
    const swaps = (await lastValueFrom(parts)).reduce((sum, part) => sum + part.swaps, 0);
    expect(candle.swaps).toBe(swaps);
  });

  it("tell of a feed that has failed for good, and work on at the others", async () => {
    const lost = { ...seriesOf("lost"), ...WATCH };
    const collector = start({}, [...feeds, lost], clientOf(refusing("/lost/")));
    let status: FeedStatus | undefined;
    running.push(
      watchPublishedFeedStatus(connection, lost, { name, heartbeat: 400 }).subscribe((next) => {
        status = next;
      }),
    );
    const failure = await until("its failure", () => collector.told.find(({ type }) => type === "failed"));
    expect(failure).toMatchObject({ feed: expect.stringContaining("lost") });
    await until("the others hear of it", () => status?.lastError instanceof HttpError);
    expect(status).toMatchObject({ state: "stalled", lastError: { status: 400 } });
    const [other] = feeds;
    const event = await firstValueFrom(watchPublishedCandles(connection, other!, { name, since: 0 }));
    expect(event.type).toBe("new");
  });
});
