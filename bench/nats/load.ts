import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type NatsServer, startServer, until } from "../../test/adapters/nats/servers.js";
import type { Answer, Measured, Order, Request, Source } from "./sides.js";

const SERIES = 1_000;
const SECONDS = 20;

interface Load {
  readonly name: string;
  readonly source: Source;
}

const EVEN: Load = {
  name: "a stream of 1,000 events a second, evenly",
  source: { kind: "even", perSecond: 1_000 },
};
const FLOOD: Load = { name: "a stream of events, as fast as it is stored", source: { kind: "flood" } };
const POLLED: Load = {
  name: "`collect`, all series polled at once, every second",
  source: { kind: "polled", every: 1_000 },
};

/** How 1,000 series get to subscribers, each in a process of its own, as the rows of a table in Markdown. */
export async function measureLoads(print: (line: string) => void): Promise<void> {
  print(`${SERIES} series, ${SECONDS} s each; load of the machine: ${loadavg()[0]!.toFixed(1)}\n`);
  print(
    "| subscribers | load | stored/s | delivered/s | p50 | p99 | CPU: collector | server | each subscriber | bytes a message |",
  );
  print("| --: | --- | --: | --: | --: | --: | --: | --: | --: | --: |");
  // `collect` is the last: what it publishes under its lease goes before what is published without one.
  await measureWith(10, [EVEN, FLOOD, POLLED], print);
  await measureWith(1, [FLOOD], print);
}

async function measureWith(count: number, loads: readonly Load[], print: (line: string) => void) {
  const server = await startServer();
  const connection = await connect({ servers: server.url });
  const place = { server: server.url, series: SERIES };
  const subscribers = Array.from({ length: count }, () => new Side(place));
  try {
    for (const { name, source } of loads) {
      const collector = new Side({ ...place, source });
      await collector.ready;
      await Promise.all(subscribers.map(({ ready }) => ready));
      const { messages } = await stored(connection);
      await until("it works", async () => (await stored(connection)).messages > messages + SERIES);
      const cells = await measure(server, connection, collector, subscribers);
      print(`| ${[count, name, ...cells].join(" | ")} |`);
      await collector.end();
    }
  } finally {
    await Promise.all(subscribers.map((side) => side.end()));
    await connection.close();
    await server.remove();
  }
}

async function measure(
  server: NatsServer,
  connection: NatsConnection,
  collector: Side,
  subscribers: readonly Side[],
): Promise<string[]> {
  const sides = [collector, ...subscribers];
  await Promise.all(sides.map((side) => side.ask("begin")));
  const [begun, before, serverBefore] = [performance.now(), await stored(connection), server.cpu()];
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
  const [seconds, after] = [(performance.now() - begun) / 1_000, await stored(connection)];
  const serverCpu = server.cpu() - serverBefore;
  const measured = (await Promise.all(sides.map((side) => side.ask("end")))) as Measured[];
  const [ofCollector, ...ofSubscribers] = measured;
  const latencies = Float64Array.from(ofSubscribers.flatMap((one) => [...one.latencies])).sort();
  const share = (cpu: number) => `${(cpu / 10 / seconds).toFixed(0)} %`;
  const subscribersCpu = ofSubscribers.reduce((sum, { cpu }) => sum + cpu, 0);
  return [
    ((after.messages - before.messages) / seconds).toFixed(0),
    (latencies.length / seconds).toFixed(0),
    `${quantile(latencies, 0.5)} ms`,
    `${quantile(latencies, 0.99)} ms`,
    share(ofCollector!.cpu),
    share(serverCpu),
    share(subscribersCpu / ofSubscribers.length),
    after.bytesEach.toFixed(0),
  ];
}

const quantile = (sorted: Float64Array, share: number) =>
  sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1);

/** How many messages were ever stored, and how large those are that are kept. */
async function stored(connection: NatsConnection) {
  const manager = await jetstreamManager(connection);
  const { state } = await manager.streams.info("pairstream");
  return { messages: state.last_seq, bytesEach: state.bytes / state.messages };
}

/** A process at work. */
class Side {
  readonly ready: Promise<Answer>;
  readonly #child: ChildProcess;
  readonly #failed: Promise<never>;

  constructor(order: Order) {
    const program = fileURLToPath(new URL("sides.ts", import.meta.url));
    this.#child = fork(program, [JSON.stringify(order)], { serialization: "advanced" });
    this.#failed = once(this.#child, "close").then(([code]) => {
      throw new Error(`A process of the load has ended with ${code}`);
    });
    this.#failed.catch(() => {});
    this.ready = this.#answer();
  }

  ask(request: Request): Promise<Answer> {
    this.#child.send(request);
    return this.#answer();
  }

  async #answer(): Promise<Answer> {
    const [answer] = await Promise.race([once(this.#child, "message"), this.#failed]);
    return answer;
  }

  async end(): Promise<void> {
    this.#child.kill();
    await this.#failed.catch(() => {});
  }
}
