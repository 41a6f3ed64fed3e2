import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { freePort } from "../../free-port.js";

const PROGRAM = process.env.NATS_SERVER || "nats-server";

/** Whether there is a server to test against; without one that is asked for, or on CI, the tests fail where they start it. */
export const hasServer = process.env.CI === "true" || Boolean(process.env.NATS_SERVER) || canRun();

function canRun(): boolean {
  try {
    execFileSync(PROGRAM, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    console.warn(
      "SKIPPED: nats-server is not installed, so nothing is tested against it (apt-get install nats-server)",
    );
    return false;
  }
}

const DEADLINE = 30_000;

/** Waits until something is so; fails with what was seen last where that takes too long. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  deadline = DEADLINE,
): Promise<NonNullable<T>> {
  const end = performance.now() + deadline;
  for (let seen: unknown; ; ) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > end) throw new Error(`${what}: not within ${deadline} ms`, { cause: seen });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** For how long a client may leave unread what the server has for it. */
const WRITE_DEADLINE = "1s";

/** One nats-server with a store of its own, which it finds again when it is started again. */
export class NatsServer {
  readonly port: number;
  readonly name: string;
  readonly #monitor: number;
  readonly #arguments: readonly string[];
  readonly #folder: string;
  #child: ChildProcess | undefined;

  constructor(
    name: string,
    [port, monitor]: readonly number[],
    { more = [], configuration = "" }: { more?: readonly string[]; configuration?: string } = {},
  ) {
    this.name = name;
    this.port = port!;
    this.#monitor = monitor!;
    this.#folder = mkdtempSync(join(tmpdir(), "nats-"));
    const file = join(this.#folder, "server.conf");
    writeFileSync(file, `write_deadline: "${WRITE_DEADLINE}"\n${configuration}`);
    const places = ["-a", "127.0.0.1", "-p", String(port), "-m", String(monitor), "-sd", this.#folder];
    this.#arguments = ["-c", file, "-js", "-n", name, ...places, ...more];
  }

  /** Whether it has ended by itself, as one does that crashes. */
  get hasEnded(): boolean {
    return this.#child?.exitCode !== null;
  }

  /** The processor's time that it has taken so far, in ms, where the system tells. */
  cpu(): number {
    const fields = readFileSync(`/proc/${this.#child!.pid}/stat`, "latin1").split(") ")[1]!.split(" ");
    // Of user and system, in hundredths of a second.
    return 10 * (Number(fields[11]) + Number(fields[12]));
  }

  /** How many clients it has given up as too slow. */
  async slowClients(): Promise<number> {
    return (await this.#tell()).slow_consumers;
  }

  /** What it holds in memory, in bytes. */
  async memory(): Promise<number> {
    return (await this.#tell()).mem;
  }

  async #tell(): Promise<{ slow_consumers: number; mem: number }> {
    const answer = await fetch(`http://127.0.0.1:${this.#monitor}/varz`);
    return (await answer.json()) as { slow_consumers: number; mem: number };
  }

  get url(): string {
    return `127.0.0.1:${this.port}`;
  }

  start(): void {
    const child = spawn(PROGRAM, this.#arguments, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (text) => (said = `${said}${text}`.slice(-2_000)));
    child.once("close", (code, signal) => {
      // Whoever ends it forgets it first.
      if (this.#child === child) console.error(`nats-server ended by itself, ${code ?? signal}: ${said}`);
    });
    this.#child = child;
  }

  /** Ends it, politely or at once, and waits for that. */
  async end(signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGCONT");
    child.kill(signal);
    await closed;
  }

  /** Lets it stand still, deaf and mute with its connections open. */
  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }

  async remove(): Promise<void> {
    await this.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A server that answers, with so much more in its configuration. */
export async function startServer(configuration = ""): Promise<NatsServer> {
  const server = new NatsServer("single", [await freePort(), await freePort()], { configuration });
  server.start();
  await ready([server], 1);
  return server;
}

/** Three servers in a cluster that has found its leader. */
export async function startCluster(): Promise<NatsServer[]> {
  const names = ["a", "b", "c"];
  const places: { name: string; ports: number[]; route: string }[] = [];
  for (const name of names) {
    const ports = [await freePort(), await freePort()];
    places.push({ name, ports, route: `nats://127.0.0.1:${await freePort()}` });
  }
  const cluster = ["--cluster_name", "test", "--routes", places.map(({ route }) => route).join(",")];
  const servers = places.map(({ name, ports, route }) => {
    return new NatsServer(name, ports, { more: [...cluster, "--cluster", route] });
  });
  for (const server of servers) server.start();
  await ready(servers, 3);
  return servers;
}

/** Waits until a stream of so many replicas can be made; takes the servers down where it never can. */
async function ready(servers: readonly NatsServer[], replicas: number): Promise<void> {
  const isReady = until("JetStream", async () => {
    const connection = await connect({ servers: servers.map(({ url }) => url), reconnect: false });
    try {
      const manager = await jetstreamManager(connection, { timeout: 2_000 });
      await manager.streams.add({ name: "ready", subjects: ["ready"], num_replicas: replicas });
      return await manager.streams.delete("ready");
    } finally {
      await connection.close();
    }
  });
  await isReady.catch(async (error) => {
    await Promise.all(servers.map((server) => server.remove()));
    throw error;
  });
}

/** A connection that comes back however long that takes, and notices a server that stands still. */
export function connectTo(
  servers: readonly { readonly url: string }[],
  options: NodeConnectionOptions = {},
): Promise<NatsConnection> {
  return connect({
    servers: servers.map(({ url }) => url),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    pingInterval: 1_000,
    maxPingOut: 2,
    timeout: 1_000,
    ...options,
  });
}
