import type { Subscription } from "rxjs";
import { type Lease, readLease } from "./lease.js";
import type { NatsSettings } from "./options.js";
import type { Store } from "./store.js";
import { leaseBucket, type StreamSubjects } from "./subjects.js";

/** A lease as it was read. */
interface ReadLease {
  /** Absent if there is none. */
  readonly lease: Lease | undefined;
  /** The revision to name when it is written. */
  readonly revision: number;
}

/** How the stream of a bucket is set up, besides what all streams have. */
const BUCKET = { discard: "new", allow_rollup_hdrs: true } as const;

/**
 * The lease of a group of collectors, one value of a bucket: the last message on a subject of its stream. It is read from the
 * leader of the stream, never from a replica that lags behind.
 */
export class LeaseBucket {
  readonly #store: Store;
  readonly #settings: NatsSettings;
  readonly #bucket: StreamSubjects;
  readonly #subject: string;
  #isOpen = false;

  constructor(store: Store, settings: NatsSettings, group: string) {
    const bucket = leaseBucket(settings.name);
    this.#store = store;
    this.#settings = { ...settings, retention: undefined };
    this.#bucket = bucket;
    this.#subject = `${bucket.key}.${group}`;
  }

  async read(): Promise<ReadLease> {
    if (!this.#isOpen) await this.#store.ensureStream(this.#bucket, this.#settings, BUCKET);
    this.#isOpen = true;
    const value = await this.#store.last(this.#bucket.stream, this.#subject).catch((error) => {
      // The next call creates the bucket again.
      if (this.#store.isStreamGone(error)) this.#isOpen = false;
      throw error;
    });
    if (value === undefined) return { lease: undefined, revision: 0 };
    const { sequence, text } = value;
    // A value that was deleted leaves a message without content.
    return { lease: text === "" ? undefined : readLease(text), revision: sequence };
  }

  /**
   * Writes the lease, unless somebody else has written it since it was read. Resolves with its revision, or with
   * `undefined` if it was not written.
   */
  async write(lease: Lease, revision: number): Promise<number | undefined> {
    try {
      return await this.#store.publish(this.#subject, JSON.stringify(lease), revision);
    } catch (error) {
      if (this.#store.isBeingStored(error)) return undefined;
      throw error;
    }
  }

  /** Calls back when a holder leaves, as far as that is heard. */
  watch(left: () => void): Pick<Subscription, "unsubscribe"> {
    return this.#store.connection.subscribe(this.#subject, {
      callback: (error, message) => {
        if (error === null && message.string().includes('"holder":null')) left();
      },
    });
  }
}
