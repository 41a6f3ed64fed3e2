import { type LeaseTable, readTable } from "./leases.js";
import type { NatsSettings } from "./options.js";
import type { Store } from "./store.js";
import type { StreamSubjects } from "./subjects.js";

/** A lease table as it was read. */
export interface ReadLeases {
  /** Absent if there is none yet. */
  readonly table: LeaseTable | undefined;
  /** The revision to name when the table is written. */
  readonly revision: number;
}

/** How the stream of a bucket is set up, besides what all streams have. */
const BUCKET = { discard: "new", allow_rollup_hdrs: true } as const;

/**
 * The leases of a group of collectors, stored as one value of a bucket: the last message on a subject of its stream. It
 * is read from the leader of the stream, never from a replica that lags behind.
 */
export class LeaseBucket {
  readonly #store: Store;
  readonly #settings: NatsSettings;
  readonly #bucket: StreamSubjects;
  readonly #subject: string;
  #isOpen = false;

  constructor(store: Store, settings: NatsSettings, key: string) {
    const name = `${settings.name}-leases`;
    this.#store = store;
    this.#settings = { ...settings, retention: undefined };
    this.#bucket = { stream: `KV_${name}`, subjects: `$KV.${name}.>` };
    this.#subject = `$KV.${name}.${key}`;
  }

  async read(): Promise<ReadLeases> {
    if (!this.#isOpen) await this.#store.ensureStream(this.#bucket, this.#settings, BUCKET);
    this.#isOpen = true;
    const value = await this.#store.last(this.#bucket.stream, this.#subject).catch((error) => {
      // The next call creates the bucket again.
      if (this.#store.isStreamGone(error)) this.#isOpen = false;
      throw error;
    });
    if (value === undefined) return { table: undefined, revision: 0 };
    const { sequence, text } = value;
    // A value that was deleted leaves a message without content.
    return { table: text === "" ? undefined : readTable(text), revision: sequence };
  }

  /** Writes the table, unless somebody else has written it since it was read. Resolves with whether it was written. */
  async write(table: LeaseTable, revision: number): Promise<boolean> {
    try {
      return (await this.#store.publish(this.#subject, JSON.stringify(table), revision)) !== undefined;
    } catch (error) {
      if (this.#store.isBeingStored(error)) return false;
      throw error;
    }
  }
}
