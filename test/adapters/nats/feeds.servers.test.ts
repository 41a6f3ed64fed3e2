import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { beforeEach, describe, expect, it } from "vitest";
import {
  addFeed,
  type CollectOptions,
  type CollectorActivity,
  collect,
  natsSource,
  removeFeed,
} from "../../../src/adapters/nats/index.js";
import { VERSION } from "../../../src/adapters/nats/message.js";
import { feedsSubject } from "../../../src/adapters/nats/subjects.js";
import { createClient, type FeedStatus, type Series, type SniperQuery } from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { seriesOf, WATCH } from "./busy-service.js";
import { handLeader } from "./hand-leader.js";
import { runningCollector, serverOfBlock } from "./running.js";
import { hasServer, until } from "./servers.js";

const market = simulatedMarket({ seed: 7, createdAt: Date.now() - 3_600_000, pairs: 3 });
const service = createPairService({ source: market });
const [listed, other] = market.pairs.map((pair) => ({
  ...seriesOf(pair),
  ...WATCH,
  since: { candles: 10 },
}));
const seriesAsked = seriesOf(market.pairs[1]!);

describe.skipIf(!hasServer)("feeds on demand", () => {
  const block = serverOfBlock();
  const { running } = block;
  let connection: NatsConnection;
  let count = 0;
  let name: string;

  beforeEach(() => {
    connection = block.connection;
    count += 1;
    name = `feeds-${count}`;
  });

  function start(options: CollectOptions = {}, feeds: Parameters<typeof collect>[2] = [listed!]) {
    const client = createClient({
      ...{ baseUrl: "https://service.test", apiKey: "key", fetch: service.fetch, rateLimit: false },
      warn: false,
    });
    const collecting = collect(connection, client, feeds, { name, lease: 2_000, ...options });
    return runningCollector(collecting, running);
  }
  function read(series: Series) {
    const types: string[] = [];
    running.push(
      natsSource(connection, { name })
        .candles({ ...series, since: 0 })
        .subscribe(({ type }) => types.push(type)),
    );
    return types;
  }
  function statusesOf(feed: Series | SniperQuery) {
    const statuses: FeedStatus[] = [];
    const watched = natsSource(connection, { name, heartbeat: 400 }).status(feed);
    running.push(watched.subscribe((status) => statuses.push(status)));
    return statuses;
  }
  const works = (collector: ReturnType<typeof start>, feed: string) => {
    const told = collector.told.findLast((one) => "feed" in one && one.feed.includes(feed));
    return told?.type === "started";
  };
  const asked = () => addFeed(connection, other!, { name });

  it("are collected without a restart, as those of the list are, and left again", async () => {
    const collector = start();
    await until("it leads", () => collector.leads());
    const statuses = statusesOf(seriesAsked);
    await until("nobody publishes it", () =>
      statuses.some(({ lastError }) => lastError?.message === "Nobody publishes this feed"),
    );
    expect(await asked()).toBe(true);
    expect(await asked()).toBe(false);
    const told = read(seriesAsked);
    await until("a history", () => told.length > 10);
    await until("its status", () => statuses.at(-1)?.state === "live");
    expect(await removeFeed(connection, seriesAsked, { name })).toBe(true);
    expect(await removeFeed(connection, seriesAsked, { name })).toBe(false);
    await until("its readers are told", () => statuses.at(-1)?.state === "stalled");
    expect(statuses.at(-1)?.lastError?.message).toBe("The collectors were told to leave this feed");
    await until("it has ended", () => !works(collector, market.pairs[1]!));
    expect(works(collector, market.pairs[0]!)).toBe(true);
    expect(await asked()).toBe(true);
    await until("it goes on", () => statuses.at(-1)?.state === "live");
  });

  it("come with a stream of their own where the list has none of it", async () => {
    const collector = start({}, []);
    await until("it leads", () => collector.leads());
    const pair = { pairAddress: market.pairs[0]! };
    expect(await addFeed(connection, { ...pair, every: 1_000 }, { name })).toBe(true);
    const told: string[] = [];
    const snipers = natsSource(connection, { name }).snipers(pair);
    running.push(snipers.subscribe(({ type }) => told.push(type)));
    await until("snipers", () => told.length > 0);
  });

  it("are known to the collector that takes over, and to one that begins later", async () => {
    const stopping = new AbortController();
    const first = start({ signal: stopping.signal });
    await until("the first leads", () => first.leads());
    const second = start();
    await until("the second stands by", () => second.told.length > 0);
    await asked();
    stopping.abort();
    await until("the second works on it", () => works(second, market.pairs[1]!));
    running[1]!.unsubscribe();
    const third = start();
    await until("the third works on it", () => works(third, market.pairs[1]!));
    expect(works(third, market.pairs[0]!)).toBe(true);
    await removeFeed(connection, seriesAsked, { name });
    await until("it has left it", () => !works(third, market.pairs[1]!));
    running[2]!.unsubscribe();
    const fourth = start();
    await until("the fourth leads", () => fourth.leads());
    await until("it works on the list", () => works(fourth, market.pairs[0]!));
    expect(works(fourth, market.pairs[1]!)).toBe(false);
  });

  it("outlive the loss of the bucket while somebody leads, and a value that nobody can read", async () => {
    const collector = start();
    await until("it leads", () => collector.leads());
    await asked();
    const bucket = await new Kvm(connection).open(`${name}-leases`);
    await bucket.purge("default.feeds");
    const kept = async () => (await bucket.get("default.feeds"))?.string() ?? "";
    await until("it is written again", async () => (await kept()).includes(market.pairs[1]!));
    await bucket.put("default.feeds", "poison");
    const unreadable = ({ type, ...more }: CollectorActivity) =>
      type === "trouble" && "error" in more && String(more.error).includes("ContractError");
    await until("it is told", () => collector.told.some(unreadable));
    expect(collector.ended).toBe("");
    expect(works(collector, market.pairs[1]!)).toBe(true);
    await bucket.put(
      "default.feeds",
      JSON.stringify({ version: VERSION, feeds: [{ pairAddress: "" }, other!] }),
    );
    await until("one that is no feed is passed over", () =>
      collector.told.some((one) => "error" in one && String(one.error).includes("pairAddress")),
    );
    expect(works(collector, market.pairs[1]!)).toBe(true);
  });

  it("outlive the loss of the bucket with the one that leads, where another one stands by", async () => {
    const first = start();
    await until("the first leads", () => first.leads());
    const second = start();
    await until("the second stands by", () => second.told.length > 0);
    await asked();
    // So long that the second has looked again.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await (await jetstreamManager(connection)).streams.delete(`KV_${name}-leases`);
    running[0]!.unsubscribe();
    await until("the second works on it", () => works(second, market.pairs[1]!));
  });

  it("outlive it where the one that leads does not know them, and one that stands by does", async () => {
    const collector = start();
    await until("it leads", () => collector.leads());
    await asked();
    const leader = await handLeader(connection, name, running);
    await leader.next(leader.list);
    await until("it stands by", () => !collector.leads());
    await leader.bucket.purge("default.feeds");
    const kept = async () => (await leader.bucket.get("default.feeds"))?.string() ?? "";
    await until("it is written again", async () => (await kept()).includes(market.pairs[1]!));
    expect(collector.leads()).toBe(false);
  });

  it("are refused with the reason", async () => {
    await expect(asked()).rejects.toMatchObject({
      name: "NetworkError",
      message: `No collector leads the group default of ${name}`,
    });
    const collector = start();
    await until("it leads", () => collector.leads());
    const options = { name };
    const input = (parameter: string) => ({ name: "InvalidInputError", parameter });
    await expect(addFeed(connection, { ...other!, settle: -1 }, options)).rejects.toMatchObject(
      input("settle"),
    );
    await expect(addFeed(connection, { ...other!, fillGaps: true }, options)).rejects.toMatchObject(
      input("fillGaps"),
    );
    await expect(addFeed(connection, other!, { group: "a.b" })).rejects.toMatchObject(input("group"));
    await expect(addFeed(connection, other!, { name: "a.b" })).rejects.toMatchObject(input("name"));
    await expect(removeFeed(connection, { pairAddress: "" }, options)).rejects.toMatchObject(
      input("pairAddress"),
    );
    await expect(addFeed(connection, other!, { name, group: "nobody" })).rejects.toMatchObject({
      name: "NetworkError",
    });
    await expect(removeFeed(connection, seriesOf(market.pairs[0]!), options)).rejects.toMatchObject({
      name: "PairstreamError",
      message: expect.stringContaining("stands in the list"),
    });
    const raw = async (text: string) => {
      return (await connection.request(feedsSubject(name, "default"), text, { timeout: 1_000 })).json();
    };
    for (const text of ["poison", JSON.stringify({ version: VERSION + 1, add: other })]) {
      expect(await raw(text)).toMatchObject({ changed: false, refusal: expect.any(String) });
    }
    expect(collector.ended).toBe("");
  });
});
