import { readFileSync } from "node:fs";
import type { NatsConnection } from "@nats-io/transport-node";
import { firstValueFrom, type Observable, Subscription } from "rxjs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { collect, natsSource } from "../../../src/adapters/nats/index.js";
import { type CandleEvent, createClient } from "../../../src/index.js";
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
    return collect(connection, client, [{ ...SERIES, ...WATCH, since: { candles: 1_000 } }], {
      name: NAME,
      lease: 1_000,
    });
  };

  it("as documented, collectors and bots can do what they have to", async () => {
    running.add(collecting(await connectAs("collector")).subscribe());
    const bot = await connectAs("bot");
    const events: CandleEvent[] = [];
    running.add(
      natsSource(bot, { name: NAME })
        .candles({ ...SERIES, since: 0 })
        .subscribe((event) => events.push(event)),
    );
    const now = Date.now();
    await until(
      "a history, and what follows",
      () => events.length > 20 && events.at(-1)!.candle.timestamp > now,
    );
    const late: CandleEvent[] = [];
    running.add(
      natsSource(bot, { name: NAME })
        .candles({ ...SERIES, since: 0 })
        .subscribe((event) => late.push(event)),
    );
    await until("the same for one who comes later", () => late.length > 20);
    const states: string[] = [];
    running.add(
      natsSource(bot, { name: NAME, heartbeat: 400 })
        .status(SERIES)
        .subscribe(({ state }) => states.push(state)),
    );
    await until("its status", () => states.at(-1) === "live");
  });

  it.each(["mute", "deaf"])(
    "that are missing end every stream of who is %s, with the reason",
    async (user) => {
      const connection = await connectAs(user);
      const streams: Observable<unknown>[] = [
        natsSource(connection, { name: NAME }).candles(SERIES),
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
