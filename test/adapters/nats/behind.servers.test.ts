import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { asyncScheduler } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSnapshot } from "../../../src/adapters/nats/snapshot.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { connectTo, hasServer, type NatsServer, startCluster, until } from "./servers.js";

/** Enough for a server to need a while until it has them. */
const LACKING = 3_000;
const THERE = 200;
/** For how long histories are read once the server is back, and how many at once. */
const READ_FOR = 4_000;
const AT_ONCE = 4;

describe.skipIf(!hasServer)("while a server of a cluster comes back, and is behind,", () => {
  let servers: NatsServer[] = [];
  const connections: NatsConnection[] = [];

  beforeAll(async () => {
    servers = await startCluster();
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await Promise.all(servers.map((server) => server.remove()));
  });

  const connect = async (to: readonly NatsServer[]) => {
    const connection = await connectTo(to);
    connections.push(connection);
    return connection;
  };
  const put = async (store: Store, stream: string, from: number, to: number) => {
    for (let at = from; at < to; at += 50) {
      const some = Array.from({ length: 50 }, (_, more) => `${stream}.a.${at + more}`);
      await Promise.all(
        some.map((subject) =>
          until(subject, async () => (await store.publish(subject, "{}", 0)) ?? "it was there"),
        ),
      );
    }
  };

  it.each([
    ["it was killed", "kill"],
    ["it stood still", "freeze"],
  ])("every history is whole: %s", { timeout: 120_000 }, async (_, how) => {
    for (const round of [1, 2, 3]) {
      const stream = `${how}${round}`;
      const settings = { name: stream, scheduler: asyncScheduler, replicas: 3, retention: undefined };
      const first = await Store.open(await connect(servers));
      await until("the stream", async () => {
        await first.ensureStream({ stream, subjects: `${stream}.>` }, settings);
        return true;
      });
      await put(first, stream, 0, THERE);
      const manager = await jetstreamManager(connections.at(-1)!, { checkAPI: false, timeout: 5_000 });
      const leader = await until(
        "a leader",
        async () => (await manager.streams.info(stream)).cluster?.leader,
      );
      const late = servers.find(({ name }) => name !== leader)!;
      const others = await connect(servers.filter((server) => server !== late));
      const store = await Store.open(others);
      if (how === "kill") await late.end("SIGKILL");
      else late.freeze();
      await put(store, stream, THERE, THERE + LACKING);
      if (how === "kill") late.start();
      else late.thaw();
      const end = performance.now() + READ_FOR;
      const read: number[] = [];
      const readOn = async () => {
        while (performance.now() < end) {
          const { signal } = new AbortController();
          const plan = {
            stream,
            filter: `${stream}.a.*`,
            since: -Infinity,
            scheduler: asyncScheduler,
            signal,
          };
          const subjects = (await readSnapshot(store, plan)).keys();
          read.push(new Set(subjects).size);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, readOn));
      expect([...new Set(read)]).toEqual([THERE + LACKING]);
    }
  });
});
