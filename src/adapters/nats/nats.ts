import type { NatsConnection } from "@nats-io/transport-node";
import { PairstreamError } from "../../errors.js";

export type { NatsConnection };

/** What this door uses of the NATS client. */
export type NatsLibrary = Awaited<ReturnType<typeof natsLibrary>>;

/** The NATS client's packages, which only those who use this door have; rejects where one is missing. */
export async function natsLibrary() {
  try {
    const [
      { createInbox, nanos, nuid, PermissionViolationError },
      { jetstream, jetstreamManager, JetStreamApiError },
      { Kvm },
    ] = await Promise.all([
      import("@nats-io/transport-node"),
      import("@nats-io/jetstream"),
      import("@nats-io/kv"),
    ]);
    return {
      createInbox,
      nanos,
      nuid,
      PermissionViolationError,
      jetstream,
      jetstreamManager,
      JetStreamApiError,
      Kvm,
    };
  } catch (cause) {
    const names = "@nats-io/transport-node @nats-io/jetstream @nats-io/kv";
    throw new PairstreamError(`pairstream/nats needs the NATS client: npm install ${names}`, { cause });
  }
}
