import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect as openSocket, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Observable, Subscription } from "rxjs";
import { type CollectorActivity, natsSource } from "../../../src/adapters/nats/index.js";
import type { Candle, CandleEvent, FeedStatus, Series } from "../../../src/index.js";
import { type BusyService, breachOf } from "./busy-service.js";
import { until } from "./servers.js";

/** What a collector in a process of its own is told. */
export interface CollectorOrder {
  readonly servers: readonly string[];
  readonly baseUrl: string;
  readonly pairs: readonly string[];
  readonly replicas: number;
  readonly lease: number;
}

/** A collector in a process of its own. */
export class CollectorProcess {
  readonly activity: CollectorActivity[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #errors = "";
  #server = "";

  constructor(order: CollectorOrder) {
    const program = fileURLToPath(new URL("collector-process.ts", import.meta.url));
    this.#child = spawn(process.execPath, ["--import", "tsx", program, JSON.stringify(order)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "close");
    let rest = "";
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const told = JSON.parse(line);
        if (told.type === "connected") this.#server = told.server;
        else this.activity.push(told);
      }
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
  }

  /** The address of the server that it is connected to. */
  getServer(): string {
    return this.#server;
  }

  /** What it has to complain about, outside of what it tells as activity. */
  get errors(): string {
    return this.#errors;
  }

  /** Whether it leads its group or stands by, as told last; `undefined`: it has told nothing yet. */
  get isLeading(): boolean | undefined {
    const told = this.activity.findLast(({ type }) => type === "leading" || type === "standing-by");
    return told && told.type === "leading";
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

/** A subscriber of one series: folds what it is told, and minds the order of it. */
export class Follower {
  readonly breaches: string[] = [];
  readonly statuses: FeedStatus[] = [];
  /** When events came, by `performance.now()`. */
  readonly cameAt: number[] = [];
  events = 0;
  readonly #series: Series;
  readonly #since: number;
  readonly #known = new Map<number, CandleEvent>();
  readonly #following: Subscription;
  #error: unknown;

  /** One that reads from NATS. */
  static over(connection: NatsConnection, series: Series, since: number): Follower {
    const source = natsSource(connection, { heartbeat: 400 });
    return new Follower(source.candles({ ...series, since }), source.status(series), series, since);
  }

  constructor(
    candles: Observable<CandleEvent>,
    statuses: Observable<FeedStatus>,
    series: Series,
    since: number,
  ) {
    this.#series = series;
    this.#since = since;
    const error = (failure: unknown) => {
      this.#error = failure;
    };
    this.#following = candles.subscribe({
      next: (event) => {
        this.events += 1;
        this.cameAt.push(performance.now());
        const breach = breachOf(this.#known, event);
        if (breach !== undefined) this.breaches.push(`${event.candle.timestamp} ${breach}`);
      },
      error,
    });
    this.#following.add(statuses.subscribe({ next: (status) => this.statuses.push(status), error }));
  }

  get state(): FeedStatus["state"] | undefined {
    return this.statuses.at(-1)?.state;
  }

  /** Where the newest candle begins that it knows of. */
  get newest(): number {
    return Math.max(...this.#known.keys());
  }

  /** The longest time without an event between two instants. */
  longestPause(from: number, to: number): number {
    const times = [from, ...this.cameAt.filter((at) => from < at && at < to), to];
    return Math.max(...times.slice(1).map((at, before) => at - times[before]!));
  }

  candles(until = Number.POSITIVE_INFINITY): ReadonlyMap<number, Candle> {
    const shown = [...this.#known].filter(([timestamp]) => timestamp >= this.#since && timestamp < until);
    return new Map(shown.map(([timestamp, { candle }]) => [timestamp, candle]));
  }

  /** Waits until all that cannot change any more at this moment is what the service says. */
  async agreesWith(market: BusyService): Promise<void> {
    const now = Math.floor(Date.now() / 1_000) * 1_000;
    await until(`${this.#series.pairAddress} agrees`, async () => {
      if (this.#error !== undefined) throw this.#error;
      if (market.settledUntil() < now) return false;
      const truth = await market.truth(this.#series, this.#since, now);
      const difference = differenceOf(this.candles(now), truth);
      if (difference !== undefined) throw new Error(difference);
      return true;
    });
  }

  leave(): void {
    this.#following.unsubscribe();
  }
}

/** What two tables do not have in common, in short. */
function differenceOf(
  known: ReadonlyMap<number, Candle>,
  truth: ReadonlyMap<number, Candle>,
): string | undefined {
  const differing = [...new Set([...known.keys(), ...truth.keys()])].filter((timestamp) => {
    const [a, b] = [known.get(timestamp), truth.get(timestamp)];
    return (
      !a || !b || a.close !== b.close || a.open !== b.open || a.volume !== b.volume || a.swaps !== b.swaps
    );
  });
  if (differing.length === 0) return undefined;
  const told = differing.map(
    (timestamp) => `${timestamp}: ${known.get(timestamp)?.swaps}/${truth.get(timestamp)?.swaps}`,
  );
  return `swaps known/true of ${truth.size} candles: ${told.sort().slice(0, 8).join(", ")}`;
}

/** A way to a server, by the port that it has when somebody connects, that can be cut, and stopped up. */
export async function openWay(server: { readonly port: number }) {
  const sockets = new Set<Socket>();
  const pairs = new Map<Socket, Socket>();
  let isCut = false;
  const gate = createServer((inner) => {
    if (isCut) {
      inner.destroy();
      return;
    }
    const outer = openSocket(server.port, "127.0.0.1");
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        pairs.delete(socket);
        other.destroy();
      });
    }
    inner.pipe(outer);
    outer.pipe(inner);
    pairs.set(outer, inner);
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  const { port } = gate.address() as { port: number };
  return {
    url: `127.0.0.1:${port}`,
    /** Ends all connections, and refuses others until it is mended. */
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      isCut = false;
    },
    /** Lets nothing through that comes from the server, which finds nobody to read it. */
    stopUp: () => {
      for (const [outer, inner] of pairs) outer.unpipe(inner).pause();
    },
    unstop: () => {
      for (const [outer, inner] of pairs) outer.pipe(inner);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      gate.close();
      await once(gate, "close");
    },
  };
}
