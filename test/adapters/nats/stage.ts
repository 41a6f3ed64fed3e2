import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { type BusyService, LIMIT, openBusyService, seriesOf } from "./busy-service.js";
import { CollectorProcess, Follower, openWay } from "./rig.js";
import { connectTo, type NatsServer, startCluster, startServer, until } from "./servers.js";

/** How long a cluster may take to choose its leaders, in ms: 28 s have been seen. */
const ELECTED_WITHIN = 90_000;
/**
 * How long processes may take to start and to find their leader, in ms. It only ends a run that hangs: beside other
 * programs each of four needs seconds to start, and counts as dead where it gets no processor for most of its lease.
 */
const LED_WITHIN = 90_000;
const PAIRS = ["one", "two", "three", "seven"];

/** What the failures are played on: servers, a service, two collectors of one group, and a follower of every series. */
export class Stage {
  readonly collectors: CollectorProcess[] = [];
  readonly followers: Follower[] = [];
  /** The connection of each follower. */
  readonly connections: NatsConnection[] = [];
  /** By this the first follower gets to the only server. */
  readonly way: Awaited<ReturnType<typeof openWay>>;
  readonly #servers: readonly NatsServer[];
  readonly #market: BusyService;
  readonly #lease: number;

  static async open({ isCluster, lease }: { isCluster: boolean; lease: number }): Promise<Stage> {
    const servers = isCluster ? await startCluster() : [await startServer()];
    const way = await openWay(servers[0]!);
    const stage = new Stage(servers, way, await openBusyService(PAIRS), lease);
    try {
      for (const number of [0, 1]) stage.startCollector(number);
      await stage.oneLeads(2);
      const since = thisSecond();
      for (const [number, pair] of PAIRS.entries()) {
        await stage.follow(pair, since, number === 0 && !isCluster ? [way] : stage.serversFrom(number));
      }
      await stage.allLive();
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  private constructor(servers: readonly NatsServer[], way: Stage["way"], market: BusyService, lease: number) {
    this.#servers = servers;
    this.way = way;
    this.#market = market;
    this.#lease = lease;
  }

  /** The only server, or the first of a cluster. */
  get server(): NatsServer {
    return this.#servers[0]!;
  }

  /** All servers, beginning with one of them. */
  serversFrom(number: number): readonly NatsServer[] {
    const first = number % this.#servers.length;
    return [...this.#servers.slice(first), ...this.#servers.slice(0, first)];
  }

  serverOf(connection: { getServer(): string }): NatsServer | undefined {
    return this.#servers.find(({ url }) => url === connection.getServer());
  }

  /** The server that leads the stream of the candles. */
  leader(): Promise<NatsServer> {
    return until("a leader", async () => {
      const manager = await jetstreamManager(this.connections.at(-1)!, { checkAPI: false, timeout: 1_000 });
      const { cluster } = await manager.streams.info("pairstream");
      return this.#servers.find(({ name }) => name === cluster?.leader);
    });
  }

  startCollector(number: number): CollectorProcess {
    const collector = new CollectorProcess({
      servers: this.serversFrom(number).map(({ url }) => url),
      baseUrl: this.#market.url,
      pairs: PAIRS,
      replicas: this.#servers.length,
      lease: this.#lease,
    });
    this.collectors.push(collector);
    return collector;
  }

  /** Kills a collector, which then counts no more. */
  async killCollector(collector: CollectorProcess): Promise<void> {
    this.collectors.splice(this.collectors.indexOf(collector), 1);
    await collector.kill();
  }

  /** Waits until one of so many collectors leads, and the others stand by; gives the one that leads. */
  async oneLeads(count: number): Promise<CollectorProcess> {
    return until(
      `one of ${count} collectors leads`,
      () => {
        const told = this.collectors.filter(({ isLeading }) => isLeading !== undefined);
        const leaders = told.filter(({ isLeading }) => isLeading);
        if (told.length === count && leaders.length === 1) return leaders[0];
        const states = this.collectors.map(
          (one) => `${one.isLeading} at ${one.getServer() || "no server yet"}`,
        );
        throw new Error(states.join("; "));
      },
      LED_WITHIN,
    );
  }

  /** Has a series followed by way of the first of some addresses that answers. */
  async follow(
    pair: string,
    since: number,
    addresses: readonly { readonly url: string }[],
  ): Promise<Follower> {
    const connection = await connectTo(addresses, { noRandomize: true });
    const follower = Follower.over(connection, seriesOf(pair), since);
    this.connections.push(connection);
    this.followers.push(follower);
    return follower;
  }

  async allLive(): Promise<void> {
    await until("all are live", () => {
      const last = this.followers.map(({ statuses }) => statuses.at(-1));
      if (last.every((status) => status?.state === "live")) return true;
      throw new Error(last.map((status) => `${status?.state}: ${status?.lastError?.message}`).join("; "));
    });
  }

  /** Waits until every follower knows candles that began after this call. */
  async allGoOn(): Promise<void> {
    const began = thisSecond();
    const isNewer = () => this.followers.every(({ newest }) => newest > began);
    await until("newer candles", isNewer, ELECTED_WITHIN);
  }

  /** Waits until all followers are live, and know what the service says. */
  async allAgree(): Promise<void> {
    await this.allLive();
    await Promise.all(this.followers.map((follower) => follower.agreesWith(this.#market)));
  }

  /** The most requests that any window of the limit has seen. */
  get worstWindow(): number {
    return this.#market.worstWindow();
  }

  /** What has gone wrong so far. */
  wrongs(): readonly string[] {
    const tooMany = this.worstWindow > LIMIT.requests ? [`${this.worstWindow} requests in a window`] : [];
    return [
      ...this.followers.flatMap(({ breaches }) => breaches),
      ...this.collectors.map(({ errors }) => errors).filter((errors) => errors !== ""),
      ...tooMany,
    ];
  }

  async close(): Promise<void> {
    for (const follower of this.followers) follower.leave();
    await Promise.all(this.collectors.map((collector) => collector.kill()));
    await Promise.all(this.connections.map((connection) => connection.close()));
    await this.way.close();
    await this.#market.close();
    await Promise.all(this.#servers.map((server) => server.remove()));
  }
}

export function thisSecond(): number {
  return Math.floor(Date.now() / 1_000) * 1_000;
}
