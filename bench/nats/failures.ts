import { LIMIT } from "../../test/adapters/nats/busy-service.js";
import { type Failure, ON_A_CLUSTER, ON_ONE_SERVER } from "../../test/adapters/nats/failures.js";
import { until } from "../../test/adapters/nats/servers.js";
import { Stage } from "../../test/adapters/nats/stage.js";

/** How long nothing is done to the stage, in ms, to know how long a stream stands still of itself. */
const QUIET = 15_000;
const NOTHING: Failure = {
  name: "nothing",
  async play(stage) {
    const end = performance.now() + QUIET;
    await until("some quiet time", () => performance.now() >= end);
    await stage.allAgree();
    return undefined;
  },
};

/** Plays every failure, and tells for each how long a stream stood still, as the rows of a table in Markdown. */
export async function measureFailures(lease: number, print: (line: string) => void): Promise<void> {
  print(`Candles of a second, polled twice a second; leases of ${lease} ms\n`);
  print(
    "| servers | what happens | longest time without an event | of that, after it was mended | wrong or lost |",
  );
  print("| --- | --- | --: | --: | --- |");
  await play("one", [NOTHING, ...ON_ONE_SERVER], await Stage.open({ isCluster: false, lease }), print);
  await play("three", [NOTHING, ...ON_A_CLUSTER], await Stage.open({ isCluster: true, lease }), print);
}

async function play(
  servers: string,
  failures: readonly Failure[],
  stage: Stage,
  print: (line: string) => void,
): Promise<void> {
  try {
    for (const failure of failures) {
      const from = performance.now();
      const mended = await failure.play(stage);
      const to = performance.now();
      const longest = (since: number) =>
        `${(Math.max(...stage.followers.map((one) => one.longestPause(since, to))) / 1_000).toFixed(1)} s`;
      const wrongs = stage.wrongs().join("; ") || "nothing";
      const cells = [
        servers,
        failure.name,
        longest(from),
        mended === undefined ? "" : longest(mended),
        wrongs,
      ];
      print(`| ${cells.join(" | ")} |`);
    }
    print(
      `| ${servers} | at most ${stage.worstWindow} of ${LIMIT.requests} requests in any ${LIMIT.per} ms | | | |`,
    );
  } finally {
    await stage.close();
  }
}
