import type { PlantedFault } from "../planted-faults.js";
import { purgedInLoss } from "./calm.js";
import type { NatsPlan } from "./plan.js";

export interface PlantedNatsFault extends PlantedFault {
  /** The monitor of the promise that it breaks. */
  readonly monitor: string;
  /** The world that shows it, where no seed draws one: then it has no seeds. */
  readonly plan?: NatsPlan;
}

/** Bugs that a protocol of leases may have; the simulation of collectors is good for what of them it catches. */
export const PLANTED_NATS_FAULTS: readonly PlantedNatsFault[] = [
  {
    name: "writes the lease without compare-and-set",
    monitor: "fences",
    file: "adapters/nats/lease-bucket.ts",
    find: "JSON.stringify(lease), revision)",
    replace: "JSON.stringify(lease), undefined as never)",
    seeds: [10],
  },
  {
    name: "goes on after its lease has run out",
    monitor: "holders",
    file: "adapters/nats/lease.ts",
    find: "renew: 1 / 8, act: 1 / 2,",
    replace: "renew: 1 / 8, act: 2,",
    seeds: [270, 10],
  },
  {
    name: "asks as soon as it leads",
    monitor: "windows",
    file: "adapters/nats/lease.ts",
    find: "return isQuiet ? limit.per : limit.timeout + limit.per;",
    replace: "return 0;",
    seeds: [71],
  },
  {
    name: "takes the leader for dead by its own clock",
    monitor: "holders",
    file: "adapters/nats/lease.ts",
    find: "const isOver = now - seen.since >=",
    replace: "const isOver = now - (lease?.beat ?? now) >=",
    seeds: [14],
  },
  {
    name: "never takes over from the dead",
    monitor: "takeovers",
    file: "adapters/nats/lease.ts",
    find: "if (lease.holder === id || isOver) return take(false);",
    replace: "if (lease.holder === id) return take(false);",
    seeds: [34, 55],
  },
  {
    name: "reads on from the newest candle that may still change, and not from the oldest",
    monitor: "agreement",
    file: "adapters/nats/feed-run.ts",
    find: "const first = Math.min(",
    replace:
      "const first = open.length > 0 ? Math.max(...open.map(({ last }) => timestampOf(last))) : Math.min(",
    seeds: [34],
  },
  {
    name: "counts as covered what a purge has taken",
    monitor: "agreement",
    file: "adapters/nats/writer.ts",
    find: "if (known !== undefined || isForgotten) return this.#events.lost();",
    replace: "if (isForgotten) return this.#events.lost();\n        known = undefined;",
    seeds: [42],
  },
  {
    name: "stores without the sequence that it expects",
    monitor: "fences",
    file: "adapters/nats/writer.ts",
    find: "await store.publish(subject, text, known?.sequence ?? 0);",
    replace: "await store.publish(subject, text, undefined as never);",
    seeds: [22377, 1],
  },
  {
    name: "gives all runs of a feed one epoch",
    monitor: "epochs",
    file: "adapters/nats/collector.ts",
    find: "this.#epoch = Math.max(this.#epoch + 1, this.#held! * EPOCHS_A_TERM);",
    replace: "this.#epoch = 1;",
    seeds: [62],
  },
  {
    name: "begins revisions anew",
    monitor: "revisions",
    file: "adapters/nats/writer.ts",
    find: "return known.body === body ? known.revision : known.revision + 1;",
    replace: "return 0;",
    seeds: [62],
  },
  {
    name: "takes a message of another version for one of its own",
    monitor: "versions",
    file: "adapters/nats/message.ts",
    find: "if (message.version !== VERSION) throw",
    replace: "if (message.version > 1e6) throw",
    seeds: [568],
  },
  {
    name: "shares a lease with another version",
    monitor: "versions",
    file: "adapters/nats/lease.ts",
    find: "version: z.literal(VERSION)",
    replace: "version: z.int() as never",
    seeds: [568],
  },
  {
    name: "keeps every message of a candle",
    monitor: "memory",
    file: "adapters/nats/store.ts",
    find: "max_msgs_per_subject: 1,",
    replace: "max_msgs_per_subject: 2,",
    seeds: [2, 3],
  },
  {
    name: "asks on whether a collector lives when nobody wants to know",
    monitor: "memory",
    file: "adapters/nats/pulse.ts",
    find: "if (subscriber.closed) return;",
    replace: "",
    seeds: [8, 9],
  },
  {
    name: "publishes the higher one of a candle's open and close as its highest price",
    monitor: "agreement",
    file: "adapters/nats/message.ts",
    find: "candle: { timestamp, open, high, low, close, volume, swaps },",
    replace:
      "candle: { timestamp, open, high: high > 0 ? Math.max(open, close) : high, low, close, volume, swaps },",
    seeds: [2, 4],
  },
  {
    name: "publishes volumes without their fraction",
    monitor: "finals",
    file: "adapters/nats/message.ts",
    find: "candle: { timestamp, open, high, low, close, volume, swaps },",
    replace: "candle: { timestamp, open, high, low, close, volume: Math.floor(volume), swaps },",
    seeds: [1, 4],
  },
  {
    name: "tells readers of nothing that comes",
    monitor: "hearing",
    file: "adapters/nats/feed-reader.ts",
    find: 'if (record !== undefined) this.#tell({ type: "message", record });',
    replace: "if (record !== undefined) return;",
    seeds: [7, 9],
  },
  {
    name: "gives one candle of the past less than it was asked for",
    monitor: "histories",
    file: "adapters/nats/candle-table.ts",
    find: "older[Math.max(0, older.length - since.candles)]",
    replace: "older[Math.max(0, older.length - since.candles + 1)]",
    seeds: [185],
  },
  {
    name: "counts as covered what it has not stored after a lost stream",
    monitor: "covered",
    file: "adapters/nats/writer.ts",
    find: "const body = this.#hasBegun ? this.#makeStatus!() : this.#makeFirst!();",
    replace: "const body = this.#makeStatus!();",
    plan: purgedInLoss(5),
    seeds: [],
  },
];
