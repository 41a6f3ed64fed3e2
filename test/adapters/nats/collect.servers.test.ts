import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { first, firstValueFrom, lastValueFrom, toArray } from "rxjs";
import { beforeEach, describe, expect, it } from "vitest";
import { type CollectOptions, collect, natsSource } from "../../../src/adapters/nats/index.js";
import type { Lease } from "../../../src/adapters/nats/lease.js";
import {
  type CandleEvent,
  createClient,
  emptyReport,
  type FeedStatus,
  type FetchLike,
  fetchCandles,
  HttpError,
} from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { breachOf, busyMarket, seriesOf, WATCH } from "./busy-service.js";
import { handLeader } from "./hand-leader.js";
import { runningCollector, serverOfBlock } from "./running.js";
import { hasServer, type NatsServer, until } from "./servers.js";

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
    ["signal", { signal: {} as AbortSignal }],
  ])("refuses a wrong %s at the call", (parameter, options) => {
    refused(options).toThrow(expect.objectContaining({ name: "InvalidInputError", parameter }));
  });

  it("refuses what is no list of feeds, each of them once, at the call", () => {
    const [feed] = feeds;
    for (const watches of [[feed!, { ...feed, since: 0 }], {} as never]) {
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
  const block = serverOfBlock();
  const { running } = block;
  let connection: NatsConnection;
  let server: NatsServer;
  let count = 0;
  let name: string;

  beforeEach(() => {
    ({ connection, server } = block);
    count += 1;
    name = `collect-${count}`;
  });

  function start(
    options: CollectOptions = {},
    watches: Parameters<typeof collect>[2] = feeds,
    client = clientOf(),
    over = connection,
  ) {
    return runningCollector(collect(over, client, watches, { name, ...options }), running);
  }

  async function lease(): Promise<Lease> {
    const bucket = await new Kvm(connection).open(`${name}-leases`);
    return (await bucket.get("default"))!.json();
  }

  it("take over from one that is told to leave, which ends once the others know", async () => {
    const stopping = new AbortController();
    const first = start({ signal: stopping.signal });
    await until("the first leads", () => first.leads());
    const second = start();
    await until("the second stands by", () => second.told.some(({ type }) => type === "standing-by"));
    const left = performance.now();
    stopping.abort();
    await until("the first has ended", () => first.ended);
    expect(first.ended).toBe("completed");
    await until("the second leads", () => second.leads());
    // Long before it would have looked at the lease again.
    expect(performance.now() - left).toBeLessThan(1_500);
    const started = first.told.filter(({ type }) => type === "started").length;
    expect(first.told.filter(({ type }) => type === "stopped")).toHaveLength(started);
    expect(await lease()).toMatchObject({ term: expect.any(Number), isQuiet: false });
  });

  it("leave no lease behind where they are told to leave while their first write is on its way", async () => {
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
    expect((await lease()).holder).toBeNull();
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
    const first = start({ lease: 4_000 });
    await until("the first leads", () => first.leads());
    const second = start({ lease: 5_000 });
    await until("the second gives up", () => second.ended);
    expect(second.ended).toContain("different rules");
    expect(first.leads()).toBe(true);
  });

  it.each([
    ["the lease", async () => (await new Kvm(connection).open(`${name}-leases`)).purge("default")],
    ["its bucket", async () => (await jetstreamManager(connection)).streams.delete(`KV_${name}-leases`)],
  ])("go on to lead where somebody deletes %s", async (_, destroy) => {
    const both = [start({ lease: 4_000 }), start({ lease: 4_000 })];
    await until("one leads", () => both.some((one) => one.leads()));
    await until("the other stands by", () => both.some((one) => one.told.length === 1));
    const before = await lease();
    const told = both.map((one) => one.told.filter(({ type }) => type !== "trouble"));
    await destroy();
    await until("the lease is there again", async () => (await lease()).beat > before.beat);
    expect(await lease()).toMatchObject({ holder: before.holder, term: before.term });
    expect(both.map((one) => one.told.filter(({ type }) => type !== "trouble"))).toEqual(told);
  });

  it("begin a feed anew whose stored messages are gone, with its history", async () => {
    const [series] = feeds;
    const collector = start({}, [series!]);
    const manager = await jetstreamManager(connection);
    const count = async () => (await manager.streams.info(name)).state.messages;
    await until("a history", async () => (await count()) > 10);
    await manager.streams.purge(name);
    await until("it begins anew", () => collector.told.some(({ type }) => type === "stopped"));
    await until("its history is there again", async () => (await count()) > 10);
  });

  it("pass over a stored message that nobody can read, as readers do, and write over it", async () => {
    const [series] = feeds;
    const collector = start({}, [series!]);
    const subject = `${name}.candles.mainnet.${series!.pairAddress}.1s.usd`;
    await until("it is told of", () => collector.told.some(({ type }) => type === "started"));
    let covered = 0;
    running.push(
      natsSource(connection, { name, heartbeat: 400 })
        .status(series!)
        .subscribe((status) => {
          covered = status.coveredUntil ?? 0;
        }),
    );
    await until("it covers something", () => covered > 0);
    const manager = await jetstreamManager(connection);
    for (const last of ["status", "1000"]) await manager.jetstream().publish(`${subject}.${last}`, "poison");
    const before = covered;
    await until("it goes on", () => covered > before);
    const late: string[] = [];
    running.push(
      natsSource(connection, { name })
        .candles({ ...series!, since: 0 })
        .subscribe(({ type }) => late.push(type)),
    );
    await until("who comes later hears of it, too", () => late.length > 3);
    expect(collector.ended).toBe("");
  });

  it("tell of what keeps them from beginning", async () => {
    server.freeze();
    const collector = start();
    await until("the trouble", () => collector.told.some(({ type }) => type === "trouble"));
    server.thaw();
    await until("it works", () => collector.leads());
  });

  it("end where what they need cannot be had", async () => {
    const collector = start({ replicas: 3 });
    await until("its end", () => collector.ended);
    expect(collector.ended).toContain("replicas");
  });

  it("make the stream again that was deleted while nobody worked on it", async () => {
    const stopping = new AbortController();
    const rules = { lease: 2_000 };
    const first = start({ ...rules, signal: stopping.signal });
    await until("the first works", () => first.leads());
    const second = start(rules);
    await until("the second stands by", () => second.told.length > 0);
    const manager = await jetstreamManager(connection);
    stopping.abort();
    await manager.streams.delete(name);
    await until("the second works", () => second.leads());
    const [series] = feeds;
    const event = await firstValueFrom(natsSource(connection, { name }).candles({ ...series!, since: 0 }));
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
      natsSource(connection, { name })
        .candles({ ...minutes, since: 0 })
        .subscribe(({ type }) => told.push(type)),
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
      natsSource(connection, { name })
        .candles({ ...minutes, since: 0 })
        .subscribe(({ candle }) => late.push(candle.timestamp)),
    );
    await until("the same for one who comes later", () => late.length >= 3);
  });

  it("say once, while they stand by, that the leader has another list", async () => {
    const troubles = (others: typeof feeds) => {
      const { told } = start({ lease: 1_000 }, others);
      return {
        told: () => told.flatMap((one) => (one.type === "trouble" ? [String(one.error)] : [])),
        standsBy: () => told.some(({ type }) => type === "standing-by"),
      };
    };
    const leader = start({ lease: 1_000 });
    await until("it leads", () => leader.leads());
    const same = troubles([...feeds].reverse());
    const other = troubles(feeds.slice(1));
    await until("both stand by", () => same.standsBy() && other.standsBy());
    const { beat } = await lease();
    await until("they have looked again", async () => (await lease()).beat > beat + 3);
    expect(same.told()).toEqual([]);
    expect(other.told()).toEqual([expect.stringContaining("another list of feeds")]);
  });

  it("say so of each leader that has another list than they have, once", async () => {
    const collector = start({ lease: 1_000 });
    await until("it leads", () => collector.leads());
    const told = () => collector.told.flatMap((one) => (one.type === "trouble" ? [String(one.error)] : []));
    const leader = await handLeader(connection, name, running);
    const { list } = leader;
    for (const [of, troubles] of [
      [list, 0],
      [list + 1, 1],
      [list, 1],
      [list + 2, 2],
      [list + 2, 3],
    ] as const) {
      await leader.next(of);
      await until("it stands by", () => !collector.leads());
      await leader.renewed();
      expect(told()).toEqual(Array(troubles).fill(expect.stringContaining("another list of feeds")));
    }
  });

  it("of two groups take a feed of both from one another, and work on at all others", async () => {
    const pairs = ["shared", "first", "second"];
    const busy = createPairService({ source: busyMarket(pairs, Date.now() - 60_000) });
    const all = pairs.map((pair) => ({ ...seriesOf(pair), ...WATCH, since: { candles: 10 } }));
    const [shared, ...own] = all;
    const groups: ReturnType<typeof start>[] = [];
    for (const feed of own) {
      const options = { group: `of-${feed.pairAddress}`, lease: 1_000 };
      const group = start(options, [shared!, feed], clientOf(busy.fetch));
      groups.push(group);
      await until("it leads", () => group.leads());
    }
    const source = natsSource(connection, { name });
    const breaches: (string | undefined)[] = [];
    const counts = all.map((feed) => {
      const known = new Map<number, CandleEvent>();
      running.push(
        source.candles({ ...feed, since: 0 }).subscribe((event) => breaches.push(breachOf(known, event))),
      );
      return () => known.size;
    });
    const troublesOf = ({ told }: (typeof groups)[number]) =>
      told.flatMap((activity) => (activity.type === "trouble" ? [String(activity.error)] : []));
    await until("each has lost it twice", () => groups.every((group) => troublesOf(group).length >= 2));
    const before = counts.map((count) => count());
    await until("all go on", () => counts.every((count, number) => count() > before[number]! + 1));
    for (const [number, group] of groups.entries()) {
      expect(group.told.filter(({ type }) => type === "standing-by").length).toBeLessThanOrEqual(1);
      const stopped = group.told.flatMap((activity) => (activity.type === "stopped" ? [activity.feed] : []));
      expect(stopped.filter((feed) => !feed.includes(shared!.pairAddress))).toEqual([]);
      expect(troublesOf(group)).not.toContainEqual(expect.stringContaining(own[number]!.pairAddress));
      expect(troublesOf(group)).toContainEqual(expect.stringMatching(/tells of .*shared.*, too/));
    }
    expect(new Set(breaches)).toEqual(new Set([undefined]));
  });

  it("publish candles that the service lacks as their client makes them", async () => {
    const series = { ...seriesOf(market.pairs[0]!), timeframe: "2s" } as const;
    start({}, [{ ...series, ...WATCH, since: { candles: 10 } }]);
    const final = natsSource(connection, { name })
      .candles({ ...series, since: 0 })
      .pipe(first(({ status }) => status === "final"));
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
      natsSource(connection, { name, heartbeat: 400 })
        .status(lost)
        .subscribe((next) => {
          status = next;
        }),
    );
    const failure = await until("its failure", () => collector.told.find(({ type }) => type === "failed"));
    expect(failure).toMatchObject({ feed: expect.stringContaining("lost") });
    await until("the others hear of it", () => status?.lastError instanceof HttpError);
    expect(status).toMatchObject({ state: "stalled", lastError: { status: 400 } });
    const [other] = feeds;
    const event = await firstValueFrom(natsSource(connection, { name }).candles({ ...other!, since: 0 }));
    expect(event.type).toBe("new");
  });
});
