import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Unsubscribable } from "rxjs";
import type { Lease } from "../../../src/adapters/nats/lease.js";

/** How often a lease is renewed by hand, in ms. */
const BEAT = 100;

/** Takes the lease of a group over, again and again, as collectors do that lead after one another; renews it meanwhile. */
export async function handLeader(connection: NatsConnection, name: string, running: Unsubscribable[]) {
  const bucket = await new Kvm(connection).open(`${name}-leases`);
  let lease: Lease = (await bucket.get("default"))!.json();
  const write = (more: Partial<Lease>) => {
    lease = { ...lease, beat: lease.beat + 1, ...more };
    return bucket.put("default", JSON.stringify(lease));
  };
  const beating = setInterval(() => void write({}).catch(() => {}), BEAT);
  running.push({ unsubscribe: () => clearInterval(beating) });
  return {
    bucket,
    /** The list of the leader before. */
    list: lease.list!,
    next: async (list: number) => {
      const term = lease.term + 1;
      await write({ holder: `leader of term ${term}`, term, list });
    },
    /** Waits for a while, in which those who stand by look. */
    renewed: async () => {
      const { beat } = lease;
      while (lease.beat < beat + 10) await new Promise((resolve) => setTimeout(resolve, BEAT));
    },
  };
}
