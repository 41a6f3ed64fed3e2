// A collector in a process of its own, for tests that kill it or put it to sleep.
import { connect } from "@nats-io/transport-node";
import { collect } from "../../../src/adapters/nats/index.js";
import { createClient, type FetchLike } from "../../../src/index.js";
import { LIMIT, seriesOf, WATCH } from "./busy-service.js";
import type { CollectorOrder } from "./rig.js";

const { servers, baseUrl, pairs, replicas, lease }: CollectorOrder = JSON.parse(process.argv[2]!);
const connection = await connect({
  servers: [...servers],
  maxReconnectAttempts: -1,
  reconnectTimeWait: 100,
  pingInterval: 1_000,
  maxPingOut: 2,
  timeout: 1_000,
  noRandomize: true,
});
const tell = (told: object) => process.stdout.write(`${JSON.stringify(told)}\n`);
const tellServer = () => tell({ type: "connected", server: connection.getServer() });
tellServer();
void (async () => {
  for await (const { type } of connection.status()) if (type === "reconnect") tellServer();
})();

/** Tells the service when each request went out. */
const dated: FetchLike = (url, init) => {
  return fetch(url, { ...init, headers: { ...init?.headers, "x-sent": String(Date.now()) } });
};
const client = createClient({ baseUrl, apiKey: "test", fetch: dated, rateLimit: LIMIT });
const watches = pairs.map((pair) => ({ ...seriesOf(pair), ...WATCH, since: { candles: 10 } }));
collect(connection, client, watches, { lease, replicas }).subscribe({
  next: (activity) => {
    tell("error" in activity ? { ...activity, error: String(activity.error) } : activity);
  },
  error: (error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
    void connection.close();
  },
});
