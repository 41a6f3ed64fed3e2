import { asyncScheduler } from "rxjs";
import { connectTo, type NatsServer, until } from "../../adapters/nats/servers.js";
import type { Subject } from "./conformance-subject.js";

export const ofServers = (servers: readonly NatsServer[]): Subject => ({
  scheduler: asyncScheduler,
  connect: () => connectTo(servers),
  reconnect: async (connection) => {
    const isBack = async () => {
      for await (const { type } of connection.status()) if (type === "reconnect") return;
    };
    await Promise.all([isBack(), connection.reconnect()]);
  },
  settled: (promise) => promise,
  until: async (look) => {
    await until("it", look);
  },
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
});
