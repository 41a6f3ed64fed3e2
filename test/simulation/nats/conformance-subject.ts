import type { NatsConnection } from "@nats-io/transport-node";
import type { SchedulerLike } from "rxjs";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers, type Wire } from "./servers.js";
import type { Version } from "./versions.js";

/** What a case has, of the model or of a real server. */
export interface Subject {
  readonly scheduler: SchedulerLike;
  connect(): Promise<NatsConnection>;
  /** Lets a connection break, and come back. */
  reconnect(connection: NatsConnection): Promise<void>;
  /** Lets time pass until a promise has settled. */
  settled<T>(promise: Promise<T>): Promise<T>;
  /** Lets time pass until something is so. */
  until(look: () => boolean): Promise<void>;
  /** Lets some time pass. */
  pass(ms: number): Promise<void>;
}

export function ofModel(version: Version): Subject {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const servers = new Servers(clock, version);
  const wire: Wire = {
    up: (arrive) => clock.schedule(arrive, 1),
    down: (arrive) => clock.schedule(arrive, 1),
  };
  let count = 0;
  return {
    scheduler: clock,
    connect: async () => {
      count += 1;
      return new ModelConnection(servers, wire, clock, count).asConnection;
    },
    reconnect: async (connection) => {
      const broken = connection as unknown as ModelConnection;
      broken.disconnect();
      broken.reconnect();
    },
    settled: async (promise) => {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      promise.then(end, end);
      for (let at = 0; at < 10_000 && !isOver; at += 1) await clock.advanceBy(1);
      return promise;
    },
    until: async (look) => {
      for (let at = 0; at < 40_000; at += 1) {
        if (look()) return;
        await clock.advanceBy(1);
      }
      throw new Error("it is not so within 40 s");
    },
    pass: (ms) => clock.advanceBy(ms),
  };
}
