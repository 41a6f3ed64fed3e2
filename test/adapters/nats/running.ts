import type { NatsConnection } from "@nats-io/transport-node";
import type { Observable, Unsubscribable } from "rxjs";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { CollectorActivity } from "../../../src/adapters/nats/index.js";
import { connectTo, type NatsServer, startServer } from "./servers.js";

/** A server for the tests of a block, and what runs against it: each test ends what it has started. */
export function serverOfBlock() {
  let server: NatsServer;
  let connection: NatsConnection;
  const running: Unsubscribable[] = [];
  beforeAll(async () => {
    server = await startServer();
    connection = await connectTo([server]);
  });
  afterEach(() => {
    server.thaw();
    for (const one of running.splice(0)) one.unsubscribe();
  });
  afterAll(async () => {
    await connection?.close();
    await server?.remove();
  });
  return {
    running,
    get server() {
      return server;
    },
    get connection() {
      return connection;
    },
  };
}

/** Runs a collector, and notes what it tells and how it ends. */
export function runningCollector(collecting: Observable<CollectorActivity>, running: Unsubscribable[]) {
  const told: CollectorActivity[] = [];
  const last = () => told.findLast(({ type }) => type === "leading" || type === "standing-by");
  const collector = { told, leads: () => last()?.type === "leading", ended: "" };
  running.push(
    collecting.subscribe({
      next: (activity) => told.push(activity),
      error: (error) => {
        collector.ended = String(error);
      },
      complete: () => {
        collector.ended = "completed";
      },
    }),
  );
  return collector;
}
