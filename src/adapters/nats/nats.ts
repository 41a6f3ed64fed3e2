import type { NatsConnection } from "@nats-io/transport-node";
import type { SchedulerLike } from "rxjs";
import { PairstreamError } from "../../errors.js";

export type { NatsConnection };

/** The parts of the NATS client that this door uses. */
export type NatsLibrary = Awaited<ReturnType<typeof load>>;

let loaded: Promise<NatsLibrary> | undefined;

/** The packages of the NATS client, which only users of this door need. Rejects if one is missing. */
export function natsLibrary(): Promise<NatsLibrary> {
  loaded ??= load();
  return loaded;
}

async function load() {
  try {
    const [
      { createInbox, nanos, nuid, PermissionViolationError },
      { jetstream, jetstreamManager, JetStreamApiError },
    ] = await Promise.all([import("@nats-io/transport-node"), import("@nats-io/jetstream")]);
    return {
      createInbox,
      nanos,
      nuid,
      PermissionViolationError,
      jetstream,
      jetstreamManager,
      JetStreamApiError,
    };
  } catch (cause) {
    const names = "@nats-io/transport-node @nats-io/jetstream";
    throw new PairstreamError(`pairstream/nats needs the NATS client: npm install ${names}`, { cause });
  }
}

/** What is shared by all who use one connection and one scheduler, by a key. */
export class SharedOnConnection<T> {
  readonly #shared = new WeakMap<NatsConnection, WeakMap<SchedulerLike, Map<string, T>>>();

  of(connection: NatsConnection, scheduler: SchedulerLike): Map<string, T> {
    const onConnection = this.#shared.get(connection) ?? new WeakMap<SchedulerLike, Map<string, T>>();
    this.#shared.set(connection, onConnection);
    const shared = onConnection.get(scheduler) ?? new Map<string, T>();
    onConnection.set(scheduler, shared);
    return shared;
  }
}
