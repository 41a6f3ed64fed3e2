import type { KV } from "@nats-io/kv";
import { type LeaseTable, readTable } from "./leases.js";
import type { NatsSettings } from "./options.js";
import type { Store } from "./store.js";

/** The error code of JetStream for a key that has changed since it was read. */
const WRONG_LAST_SEQUENCE = 10_071;

/** A lease table as it was read. */
export interface ReadLeases {
  /** Absent if there is none yet. */
  readonly table: LeaseTable | undefined;
  /** The revision to name when the table is written. */
  readonly revision: number;
}

/** The leases of a group of collectors, stored as one value of a bucket. */
export class LeaseBucket {
  readonly #store: Store;
  readonly #settings: NatsSettings;
  readonly #key: string;
  #bucket: Promise<KV> | undefined;

  constructor(store: Store, settings: NatsSettings, key: string) {
    this.#store = store;
    this.#settings = settings;
    this.#key = key;
  }

  async read(): Promise<ReadLeases> {
    const bucket = await this.#open();
    const entry = await bucket.get(this.#key).catch((error) => {
      // The next call creates the bucket again.
      if (this.#store.isStreamGone(error)) this.#bucket = undefined;
      throw error;
    });
    if (entry === null) return { table: undefined, revision: 0 };
    const table = entry.operation === "PUT" ? readTable(entry.string()) : undefined;
    return { table, revision: entry.revision };
  }

  /** Writes the table, unless somebody else has written it since it was read. Resolves with whether it was written. */
  async write(table: LeaseTable, revision: number): Promise<boolean> {
    const bucket = await this.#open();
    try {
      await bucket.put(this.#key, JSON.stringify(table), { previousSeq: revision });
      return true;
    } catch (error) {
      const { JetStreamApiError } = this.#store.library;
      if (error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE) return false;
      throw error;
    }
  }

  #open(): Promise<KV> {
    const { name, replicas } = this.#settings;
    this.#bucket ??= this.#store.bucket(`${name}-leases`, replicas);
    this.#bucket.catch(() => {
      this.#bucket = undefined;
    });
    return this.#bucket;
  }
}
