import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LIMIT, type Market, openMarket, seriesOf } from "./market.js";
import { CollectorProcess, Follower, openWay } from "./rig.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";

const PAIRS = ["one", "two", "three", "four"];
const LEASE = 3_000;

describe.skipIf(!hasServer)("over one server", () => {
  let server: NatsServer;
  let market: Market;
  let connection: NatsConnection;
  let way: Awaited<ReturnType<typeof openWay>>;
  let distant: NatsConnection;
  let followers: Follower[] = [];
  let collectors: CollectorProcess[] = [];

  const startCollector = () => {
    const order = { servers: [server.url], baseUrl: market.url, pairs: PAIRS, replicas: 1, lease: LEASE };
    const collector = new CollectorProcess(order);
    collectors.push(collector);
    return collector;
  };
  const bothShare = () =>
    until("two collectors share the slots", () => collectors.every(({ held }) => held.length === 3));
  const allAgree = () => Promise.all(followers.map((follower) => follower.agreesWith(market)));
  const allLive = () => until("all are live", () => followers.every(({ state }) => state === "live"));

  beforeAll(async () => {
    server = await startServer();
    market = await openMarket(PAIRS);
    startCollector();
    startCollector();
    await bothShare();
    const since = Math.floor(Date.now() / 1_000) * 1_000;
    connection = await connectTo([server]);
    way = await openWay(server);
    distant = await connectTo([way]);
    followers = PAIRS.map((pair, at) => new Follower(at === 0 ? distant : connection, seriesOf(pair), since));
    await allLive();
  });

  afterEach(() => {
    expect(followers.flatMap(({ breaches }) => breaches)).toEqual([]);
    expect(market.worstWindow()).toBeLessThanOrEqual(LIMIT.requests);
    expect(collectors.map(({ errors }) => errors).join("")).toBe("");
  });

  afterAll(async () => {
    for (const follower of followers) follower.leave();
    await Promise.all(collectors.map((collector) => collector.kill()));
    await Promise.all([connection?.close(), distant?.close()]);
    await way?.close();
    await market?.close();
    await server?.remove();
  });

  it("the feeds of a collector that is killed move to the other", async () => {
    const [first, second] = collectors;
    const before = followers.map(({ events }) => events);
    await first!.kill();
    collectors = [second!];
    await until("its feeds read stalled", () => followers.some(({ state }) => state === "stalled"));
    await until("the other one has all slots", () => second!.held.length === 6);
    await allLive();
    await allAgree();
    expect(followers.every(({ events }, at) => events > before[at]!)).toBe(true);
  });

  it("a collector that slept past its lease changes nothing that is there, and works on", async () => {
    startCollector();
    await bothShare();
    const [sleeper, other] = collectors;
    sleeper!.freeze();
    await until("the other one has all slots", () => other!.held.length === 6);
    await allAgree();
    sleeper!.thaw();
    await bothShare();
    await allLive();
    await allAgree();
  });

  it("a server that is killed and started again with its store goes on where it was", async () => {
    await server.end("SIGKILL");
    await until("nothing is heard any more", () => followers.every(({ state }) => state === "stalled"));
    server.start();
    await allLive();
    await allAgree();
  });

  it("a subscriber that was away for longer than the history it had asked for misses nothing", async () => {
    const late = new Follower(distant, seriesOf("two"), Math.floor(Date.now() / 1_000) * 1_000 - 2_000);
    followers.push(late);
    await until("it is live", () => late.state === "live");
    const there = () => late.candles().size;
    way.cut();
    await until("it hears that it hears nothing", () => late.state === "stalled");
    const before = there();
    const [near] = followers.slice(1);
    const seen = near!.candles().size;
    await until("more candles have passed than it had asked for", () => near!.candles().size >= seen + 4);
    expect(there()).toBe(before);
    way.mend();
    await allLive();
    await allAgree();
  });
});
