import type { NatsConnection } from "@nats-io/transport-node";
import { createGateway, type Gateway, gatewaySource } from "pairstream/sse";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { natsSource } from "../../../src/adapters/nats/index.js";
import { listen } from "../../../src/service/index.js";
import { type BusyService, LIMIT, openBusyService, seriesOf } from "./busy-service.js";
import { CollectorProcess, Follower, openWay } from "./rig.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";
import { thisSecond } from "./stage.js";

const PAIR = "one";
const SERIES = seriesOf(PAIR);
/** How long processes may take that start beside other programs, in ms; it only ends a run that hangs. */
const PATIENCE = 90_000;

/** A gateway before NATS, in a place where another one may stand later. */
class Place {
  port = 0;
  #connection: NatsConnection | undefined;
  #gateway: Gateway | undefined;
  #http: Awaited<ReturnType<typeof listen>> | undefined;

  async open(server: NatsServer): Promise<NatsConnection> {
    this.#connection = await connectTo([server]);
    this.#gateway = createGateway(natsSource(this.#connection), { allow: () => true });
    const { fetch } = this.#gateway;
    this.#http = await listen({ fetch } as Parameters<typeof listen>[0], { port: 0 });
    this.port = Number(new URL(this.#http.url).port);
    return this.#connection;
  }

  async close(): Promise<void> {
    await this.#connection?.close();
    this.#gateway?.close();
    await this.#http?.close();
  }
}

describe.skipIf(!hasServer)(
  "a page behind a gateway behind NATS behind two collectors before a service",
  () => {
    let server: NatsServer;
    let market: BusyService;
    let toNats: Awaited<ReturnType<typeof openWay>>;
    let toGateway: Awaited<ReturnType<typeof openWay>>;
    let page: Follower;
    const place = new Place();
    const collectors: CollectorProcess[] = [];

    const startCollector = (url: string) => {
      const order = { servers: [url], baseUrl: market.url, pairs: [PAIR], replicas: 1, lease: 2_000 };
      const collector = new CollectorProcess(order);
      collectors.push(collector);
      return collector;
    };
    const leads = (one: CollectorProcess) => until("it leads", () => one.isLeading === true, PATIENCE);
    const standsBy = (one: CollectorProcess) =>
      until("it stands by", () => one.isLeading === false, PATIENCE);
    /** The page has what the service has, and heard nothing twice. */
    const agrees = async () => {
      await until("it is live", () => page.state === "live", PATIENCE);
      await page.agreesWith(market);
      expect(page.breaches).toEqual([]);
      expect(market.worstWindow()).toBeLessThanOrEqual(LIMIT.requests);
    };

    beforeAll(async () => {
      server = await startServer();
      market = await openBusyService([PAIR]);
      toNats = await openWay(server);
      toGateway = await openWay(place);
      await leads(startCollector(server.url));
      await standsBy(startCollector(toNats.url));
      await place.open(server);
      const source = gatewaySource(`http://${toGateway.url}/`);
      const since = thisSecond();
      page = new Follower(source.candles({ ...SERIES, since }), source.status(SERIES), SERIES, since);
      await agrees();
    }, 2 * PATIENCE);
    afterEach(() => {
      expect(collectors.map(({ errors }) => errors)).toEqual(collectors.map(() => ""));
    });
    afterAll(async () => {
      page?.leave();
      await Promise.all(collectors.map((one) => one.kill()));
      await toGateway?.close();
      await place.close();
      await toNats?.close();
      await market?.close();
      await server?.remove();
    });

    it("ends with what the service has, each event once, though each part is killed once", {
      timeout: 5 * PATIENCE,
    }, async () => {
      const [leader, other] = collectors as [CollectorProcess, CollectorProcess];
      toNats.cut();
      await agrees();
      toNats.mend();

      await leader.kill();
      await leads(other);
      await standsBy(startCollector(server.url));
      await agrees();

      toGateway.cut();
      await place.close();
      await place.open(server);
      toGateway.mend();
      await agrees();

      const told = page.events;
      toGateway.cut();
      toGateway.mend();
      await until("it hears on", () => page.events > told);
      await agrees();

      await server.end("SIGKILL");
      await until("nothing is heard", () => page.state === "stalled", PATIENCE);
      server.start();
      await agrees();
      expect(page.events).toBeGreaterThan(page.candles().size);
    });

    it("says of what could not be reached that it is NATS", async () => {
      const second = new Place();
      const connection = await second.open(server);
      const source = gatewaySource(`http://127.0.0.1:${second.port}/`);
      let failure: unknown;
      let events = 0;
      const reading = source.candles(SERIES).subscribe({
        next: () => {
          events += 1;
        },
        error: (error) => {
          failure = error;
        },
      });
      await until("it hears", () => events > 0, PATIENCE);
      await connection.close();
      await until("it fails", () => failure);
      expect(failure).toMatchObject({ name: "NetworkError", message: "The NATS connection was closed" });
      reading.unsubscribe();
      await second.close();
    });
  },
);
