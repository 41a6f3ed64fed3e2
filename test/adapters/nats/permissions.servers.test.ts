import { readFileSync } from "node:fs";
import type { NatsConnection } from "@nats-io/transport-node";
import { firstValueFrom, from, lastValueFrom, type Observable, Subscription, toArray } from "rxjs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  collect,
  publishCandles,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { type CandleEvent, createClient } from "../../../src/index.js";
import { flatCandle } from "../../candles/minute-candles.js";
import { openBusyService, seriesOf, WATCH } from "./busy-service.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";

const NAME = "permitted";

/** What the documents say that users of a kind need. */
function documented(kind: string): { readonly publish: string[]; readonly subscribe: string[] } {
  const page = readFileSync(new URL("../../../docs/nats.md", import.meta.url), "utf8");
  const [, ...cells] = page.match(new RegExp(`^\\| ${kind} +\\|(.*)\\|(.*)\\|$`, "m"))!;
  const [publish, subscribe] = cells.map((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, subject]) => subject!.replace("NAME", NAME)),
  );
  return { publish: publish!, subscribe: subscribe! };
}

const userOf = (user: string, { publish, subscribe }: ReturnType<typeof documented>) => {
  const permissions = { publish: { allow: publish }, subscribe: { allow: subscribe } };
  return JSON.stringify({ user, password: "secret", permissions });
};
const USERS = [
  JSON.stringify({ user: "admin", password: "secret" }),
  userOf("bot", documented("a bot")),
  userOf("collector", documented("a collector")),
  userOf("mute", { publish: ["nothing"], subscribe: ["_INBOX.>"] }),
  userOf("deaf", { publish: [">"], subscribe: ["nothing"] }),
];
const SERIES = seriesOf("pair");

function candle(timestamp: number): CandleEvent {
  const candle = flatCandle(timestamp);
  const told = { revision: 0, live: true, lateBy: 0, observedAt: timestamp + 5_000, series: SERIES } as const;
  return { type: "new", candle, status: "final", ...told };
}

describe.skipIf(!hasServer)("with permissions", () => {
  let server: NatsServer;
  let market: Awaited<ReturnType<typeof openBusyService>>;
  let running: Subscription;
  const connections: NatsConnection[] = [];

  beforeAll(async () => {
    market = await openBusyService(["pair"]);
    server = await startServer(`authorization { users = [${USERS.join("\n")}] }\nno_auth_user: admin\n`);
    running = new Subscription();
  });
  afterEach(() => {
    running.unsubscribe();
    running = new Subscription();
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await server?.remove();
    await market?.close();
  });

  const connectAs = async (user: string) => {
    const connection = await connectTo([server], { user, pass: "secret" });
    connections.push(connection);
    return connection;
  };
  const collecting = (connection: NatsConnection) => {
    const client = createClient({ baseUrl: market.url, apiKey: "key" });
    return collect(connection, client, [{ ...SERIES, ...WATCH }], {
      name: NAME,
      rateLimit: false,
      lease: 1_000,
    });
  };

  it("as documented, collectors and bots can do what they have to", async () => {
    // More than a server sends before it asks whether that has been read.
    const newest = Math.floor(Date.now() / 1_000) * 1_000;
    const stored = Array.from({ length: 12_000 }, (_, at) => candle(newest - 1_000 * (at + 5)));
    await lastValueFrom(
      publishCandles(await connectAs("admin"), from(stored), { name: NAME }).pipe(toArray()),
    );
    running.add(collecting(await connectAs("collector")).subscribe());
    const bot = await connectAs("bot");
    const events: CandleEvent[] = [];
    running.add(
      watchPublishedCandles(bot, SERIES, { name: NAME, since: 0 }).subscribe((event) => events.push(event)),
    );
    // From version 2.10 on a consumer of several series is asked for in another way.
    running.add(watchPublishedCandles(bot, seriesOf("other"), { name: NAME }).subscribe());
    await until(
      "a history, and what follows",
      () => events.length > 12_000 && events.at(-1)!.candle.timestamp > newest,
    );
    const states: string[] = [];
    running.add(
      watchPublishedFeedStatus(bot, SERIES, { name: NAME, heartbeat: 400 }).subscribe(({ state }) =>
        states.push(state),
      ),
    );
    await until("its status", () => states.at(-1) === "live");
  });

  it.each(["mute", "deaf"])(
    "that are missing end every stream of who is %s, with the reason",
    async (user) => {
      const connection = await connectAs(user);
      const streams: Observable<unknown>[] = [
        watchPublishedCandles(connection, SERIES, { name: NAME }),
        publishCandles(connection, from([candle(0)]), { name: NAME }),
        collecting(connection),
      ];
      for (const stream of streams) {
        await expect(firstValueFrom(stream)).rejects.toMatchObject({
          name: "PairstreamError",
          message: expect.stringContaining("Permissions Violation"),
        });
      }
    },
  );
});
