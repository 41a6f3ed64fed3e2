import type { NatsConnection } from "@nats-io/transport-node";
import { PairstreamError } from "../../errors.js";

export type { NatsConnection };

/** The NATS client. */
export type NatsLibrary = Awaited<ReturnType<typeof load>>;

let loaded: Promise<NatsLibrary> | undefined;

/** The packages of the NATS client, which only users of this door need. Rejects if one is missing. */
export function natsLibrary(): Promise<NatsLibrary> {
  loaded ??= load();
  return loaded;
}

async function load() {
  try {
    const parts = [import("@nats-io/transport-node"), import("@nats-io/jetstream")] as const;
    const [core, jetstream] = await Promise.all(parts);
    return { ...core, ...jetstream };
  } catch (cause) {
    const names = "@nats-io/transport-node @nats-io/jetstream";
    throw new PairstreamError(`pairstream/nats needs the NATS client: npm install ${names}`, { cause });
  }
}
