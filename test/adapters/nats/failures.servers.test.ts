import { jetstreamManager } from "@nats-io/jetstream";
import { asyncScheduler } from "rxjs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LeaseBucket } from "../../../src/adapters/nats/lease-bucket.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { type Failure, ON_A_CLUSTER, ON_ONE_SERVER } from "./failures.js";
import { hasServer, until } from "./servers.js";
import { Stage } from "./stage.js";

const LEASE = 2_000;

function survives(failures: readonly Failure[], isCluster: boolean): { stage(): Stage } {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open({ isCluster, lease: LEASE });
  });
  afterEach(() => {
    expect(stage.wrongs()).toEqual([]);
  });
  afterAll(() => stage?.close());

  for (const { name, play } of failures) {
    it(`every subscriber ends with what the service says after this: ${name}`, {
      timeout: 180_000,
    }, async () => {
      await play(stage);
    });
  }

  return { stage: () => stage };
}

describe.skipIf(!hasServer)("over one server", () => {
  survives(ON_ONE_SERVER, false);
});
describe.skipIf(!hasServer)("over a cluster of three servers", () => {
  const { stage } = survives(ON_A_CLUSTER, true);

  it("collectors that come with more replicas keep everything on so many nodes", {
    timeout: 90_000,
  }, async () => {
    const [connection] = stage().connections;
    const manager = await jetstreamManager(connection!, { checkAPI: false, timeout: 5_000 });
    const settings = {
      name: "grown",
      scheduler: asyncScheduler,
      replicas: undefined,
      retention: undefined,
    };
    const store = await Store.open(connection!);
    const first = new LeaseBucket(store, settings, "default");
    await until("it is there", () => first.read());
    const later = new LeaseBucket(store, { ...settings, replicas: 3 }, "default");
    await until("it can be read from its new leader", () => later.read());
    await until("it is on three nodes", async () => {
      return (await manager.streams.info("KV_grown-leases")).config.num_replicas === 3;
    });
  });
});
