import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Failure, ON_A_CLUSTER, ON_ONE_SERVER } from "./failures.js";
import { hasServer } from "./servers.js";
import { Stage } from "./stage.js";

const LEASE = 2_000;

function survives(failures: readonly Failure[], isCluster: boolean): void {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open({ isCluster, lease: LEASE });
  }, 90_000);
  afterEach(() => {
    expect(stage.wrongs()).toEqual([]);
  });
  afterAll(() => stage?.close());

  for (const { name, play } of failures) {
    it(`every subscriber ends with what the service says after this: ${name}`, {
      timeout: 90_000,
    }, async () => {
      await play(stage);
    });
  }
}

describe.skipIf(!hasServer)("over one server", () => survives(ON_ONE_SERVER, false));
describe.skipIf(!hasServer)("over a cluster of three servers", () => survives(ON_A_CLUSTER, true));
