import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LIMIT, type Market, openMarket, seriesOf } from "./market.js";
import { CollectorProcess, Follower } from "./rig.js";
import { connectTo, hasServer, type NatsServer, startCluster, until } from "./servers.js";

const PAIRS = ["one", "two", "three", "four"];
const LEASE = 3_000;

describe.skipIf(!hasServer)("over a cluster of three servers", { timeout: 90_000 }, () => {
  let servers: NatsServer[];
  let market: Market;
  const connections: NatsConnection[] = [];
  const followers: Follower[] = [];
  const collectors: CollectorProcess[] = [];

  /** The servers, beginning with one of them, which connections try first. */
  const from = (index: number) => [...servers.slice(index), ...servers.slice(0, index)];
  const allLive = () => until("all are live", () => followers.every(({ state }) => state === "live"));
  const allAgree = () => Promise.all(followers.map((follower) => follower.agreesWith(market)));
  const leaderOf = (stream: string) =>
    until(`the leader of ${stream}`, async () => {
      const manager = await jetstreamManager(connections[0]!, { checkAPI: false, timeout: 1_000 });
      const leader = (await manager.streams.info(stream)).cluster?.leader;
      return servers.find(({ name }) => name === leader);
    });

  beforeAll(async () => {
    servers = await startCluster();
    market = await openMarket(PAIRS);
    for (const index of [0, 1]) {
      const urls = from(index).map(({ url }) => url);
      const order = { servers: urls, baseUrl: market.url, pairs: PAIRS, replicas: 3, lease: LEASE };
      collectors.push(new CollectorProcess(order));
    }
    await until("both share the slots", () => collectors.every(({ held }) => held.length === 3));
    const since = Math.floor(Date.now() / 1_000) * 1_000;
    for (const [number, pair] of PAIRS.entries()) {
      const connection = await connectTo(from(number % 3), { noRandomize: true });
      connections.push(connection);
      followers.push(new Follower(connection, seriesOf(pair), since));
    }
    await allLive();
  }, 90_000);

  afterEach(() => {
    expect(followers.flatMap(({ breaches }) => breaches)).toEqual([]);
    expect(market.worstWindow()).toBeLessThanOrEqual(LIMIT.requests);
    expect(collectors.map(({ errors }) => errors).join("")).toBe("");
  });

  afterAll(async () => {
    for (const follower of followers) follower.leave();
    await Promise.all(collectors.map((collector) => collector.kill()));
    await Promise.all(connections.map((connection) => connection.close()));
    await market?.close();
    await Promise.all((servers ?? []).map((server) => server.remove()));
  });

  it("the streams go on when the node that leads them is killed", async () => {
    const leader = await leaderOf("pairstream");
    await leader.end("SIGKILL");
    const killedAt = Math.floor(Date.now() / 1_000) * 1_000;
    await until("candles come that began after that", () =>
      followers.every((follower) => [...follower.candles().keys()].some((timestamp) => timestamp > killedAt)),
    );
    await allLive();
    await allAgree();
    leader.start();
  });

  it("a node that is cut off takes nothing with it, and brings nothing old back", async () => {
    const [first] = collectors;
    const node = await until("the node of a collector", () =>
      servers.find(({ url }) => url === first!.server),
    );
    node.freeze();
    const isOnNode = (connection: NatsConnection) => connection.getServer() === node.url;
    const cutOff = followers.filter((_, at) => isOnNode(connections[at]!));
    await until("its followers have noticed", () => cutOff.every(({ state }) => state === "stalled"));
    await allLive();
    await allAgree();
    node.thaw();
    await until("both share the slots", () => collectors.every(({ held }) => held.length === 3));
    await allLive();
    await allAgree();
  });
});
