import type { NatsConnection } from "@nats-io/transport-node";
import { firstValueFrom, Subscription } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect, natsSource } from "../../../src/adapters/nats/index.js";
import { checkNatsOptions } from "../../../src/adapters/nats/options.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { leaseBucket } from "../../../src/adapters/nats/subjects.js";
import { applyCandleEvent, type Candle, clientSource, createClient } from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { seriesOf, WATCH } from "./busy-service.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";

const market = simulatedMarket({ seed: 7, createdAt: Date.now() - 3_600_000, pairs: 1 });
const pairAddress = market.pairs[0]!;
const series = { ...seriesOf(pairAddress), timeframe: "1min" } as const;

describe.skipIf(!hasServer)("a source over NATS", () => {
  let server: NatsServer;
  let connection: NatsConnection;
  const running = new Subscription();
  const { fetch } = createPairService({ source: market });
  const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch, rateLimit: false });

  beforeAll(async () => {
    server = await startServer();
    connection = await connectTo([server]);
    const watch = { ...series, settle: WATCH.settle, every: 1_000, since: { candles: 20 } };
    running.add(collect(connection, client, [watch, { pairAddress, every: 1_000 }]).subscribe());
    const source = natsSource(connection);
    await until("it is live", async () => {
      return (await firstValueFrom(source.status(series))).state !== undefined;
    });
  });
  afterAll(async () => {
    running.unsubscribe();
    await connection?.close();
    await server?.remove();
  });

  it("gives what the client's source gives", async () => {
    const [ours, theirs] = [natsSource(connection), clientSource(client)];
    const candles = new Map<number, Candle>();
    const states: string[] = [];
    const following = ours.candles({ ...series, since: { candles: 10 } }).subscribe((event) => {
      applyCandleEvent(candles, event);
    });
    following.add(ours.status(series).subscribe(({ state }) => states.push(state)));
    await until("a history", () => candles.size >= 10 && states.includes("live"));
    // A minute that has just ended, or a swap, is published with the collector's next poll.
    await until("the same history", async () => {
      const history = await ours.history({ ...series, count: 8 });
      expect(history).toEqual(await theirs.history({ ...series, count: 8 }));
      return true;
    });
    await until("the same snipers", async () => {
      const look = await firstValueFrom(ours.sniperReport({ pairAddress }));
      expect(look.initial).toBe(true);
      const wanted = await firstValueFrom(theirs.sniperReport({ pairAddress }));
      expect(look.report.result.map(({ walletAddress }) => walletAddress)).toEqual(
        wanted.report.result.map(({ walletAddress }) => walletAddress),
      );
      return true;
    });
    following.unsubscribe();
  });

  it("refuses options that the collector has fixed in another way, and those that nobody has over NATS", async () => {
    const source = natsSource(connection);
    await expect(firstValueFrom(source.candles({ ...series, settle: 7 }))).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter: "settle",
      allowed: "100, as the collector has it",
    });
    const refused = (parameter: string) => expect.objectContaining({ name: "InvalidInputError", parameter });
    expect(() => source.candles({ ...series, fillGaps: true })).toThrow(refused("fillGaps"));
    const asked = { pairAddress, missingPace: 1_000, whenMissing: "wait" } as const;
    expect(() => source.snipers(asked)).toThrow(refused("missingPace"));
    expect(() => natsSource(connection, { history: {} as never })).toThrow(refused("history"));
  });

  it("gives all that there is where that is fewer than are wanted, and the beginning is published", async () => {
    const whole = { ...series, timeframe: "5min", since: 0, every: 1_000 } as const;
    running.add(collect(connection, client, [whole], { group: "whole", name: "whole" }).subscribe());
    const source = natsSource(connection, { name: "whole" });
    const { timeframe } = whole;
    const theirs = await clientSource(client).history({ ...series, timeframe });
    expect(theirs.length).toBeGreaterThan(5);
    for (const count of [undefined, 1_000, 200])
      await until("all of them", async () => {
        const query = { ...series, timeframe, ...(count === undefined ? {} : { count }) };
        expect((await source.history(query)).length).toBeGreaterThanOrEqual(theirs.length);
        return true;
      });
  });

  it("reads a range that is not published from another source, or refuses it", async () => {
    const older = { ...series, from: Date.now() - 3_500_000, to: Date.now() - 3_000_000 };
    await expect(natsSource(connection).history(older)).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter: "from",
    });
    const source = natsSource(connection, { history: clientSource(client) });
    expect((await source.history(older)).length).toBeGreaterThan(0);
  });
});

describe.skipIf(!hasServer)("a stream that is read while a server sets it up", () => {
  it("is waited for, also on a server that crashes where a message of such a stream is asked for", async () => {
    const server = await startServer();
    const connections = [await connectTo([server]), await connectTo([server])];
    const [maker, reader] = await Promise.all(connections.map((connection) => Store.open(connection)));
    const settings = checkNatsOptions({}, []);
    try {
      for (let made = 0; made < 30; made += 1) {
        const bucket = leaseBucket(`made-${made}`);
        const making = maker!.ensureStream(bucket, settings);
        for (let isThere = false; !isThere; ) {
          isThere = await reader!.last(bucket.stream, `${bucket.key}.none`).then(
            () => true,
            (error) => {
              if (!reader!.isPassing(error) || server.hasEnded) throw error;
              return false;
            },
          );
        }
        await making;
      }
    } finally {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.remove();
    }
  });
});

describe.skipIf(!hasServer)("a source over a NATS server that is gone", () => {
  it("names it, without user and password, and says that nobody publishes only where the server says so", async () => {
    const users = "authorization { users = [{ user: reader, password: secret }] }\nno_auth_user: reader\n";
    const server = await startServer(users);
    const connection = await connectTo([server], { user: "reader", pass: "secret" });
    await server.end();
    const told: string[] = [];
    const reading = natsSource(connection, { heartbeat: 250 })
      .status(series)
      .subscribe(({ lastError }) => told.push(`${lastError?.name}: ${lastError?.message}`));
    await until("it is told of", () => told.length > 1);
    server.start();
    await until("nobody publishes", () => told.at(-1)!.includes("Nobody"));
    expect(new Set(told)).toEqual(
      new Set([
        "undefined: undefined",
        `NetworkError: The NATS server ${server.url} does not answer: timeout`,
        "NetworkError: Nobody publishes this feed",
      ]),
    );
    reading.unsubscribe();
    await connection.close();
    await server.remove();
  });
});
