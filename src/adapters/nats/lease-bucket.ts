import type { Subscription } from "rxjs";
import { type Lease, readLease } from "./lease.js";
import type { NatsSettings } from "./options.js";
import type { Store } from "./store.js";
import { leaseBucket, type StreamSubjects } from "./subjects.js";

/** A value as it was read. */
interface ReadText {
  /** Empty if there is none. */
  readonly text: string;
  /** The revision to name when it is written. */
  readonly revision: number;
}

/** How the stream of a bucket is set up, besides what all streams have. */
const BUCKET = { discard: "new", allow_rollup_hdrs: true } as const;

/**
 * The lease of a group of collectors, and the feeds that the group was asked for: two values of a bucket, each the last message on
 * a subject of its stream. They are read from the leader of the stream, never from a replica that lags behind.
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

  /** The lease, if there is one, and the revision to name when it is written. */
  async read(): Promise<{ readonly lease: Lease | undefined; readonly revision: number }> {
    const { text, revision } = await this.#last(this.#subject);
    return { lease: text === "" ? undefined : readLease(text), revision };
  }

  /**
   * Writes the lease, unless somebody else has written it since it was read. Resolves with its revision, or with
   * `undefined` if it was not written.
   */
  write(lease: Lease, revision: number): Promise<number | undefined> {
    return this.#put(this.#subject, JSON.stringify(lease), revision);
  }

  /** The feeds that the group was asked for, as text; empty if there are none. */
  readAsked(): Promise<ReadText> {
    return this.#last(`${this.#subject}.feeds`);
  }

  /** Writes them as `write` does the lease. */
  writeAsked(text: string, revision: number): Promise<number | undefined> {
    return this.#put(`${this.#subject}.feeds`, text, revision);
  }

  /** Calls back when a holder leaves, as far as that is heard. */
  watch(left: () => void): Pick<Subscription, "unsubscribe"> {
    return this.#store.connection.subscribe(this.#subject, {
      callback: (error, message) => {
        if (error === null && message.string().includes('"holder":null')) left();
      },
    });
  }

  async #last(subject: string): Promise<ReadText> {
    if (!this.#isOpen) await this.#store.ensureStream(this.#bucket, this.#settings, BUCKET);
    this.#isOpen = true;
    const value = await this.#store.last(this.#bucket.stream, subject).catch((error) => {
      // The next call creates the bucket again.
      if (this.#store.isStreamGone(error)) this.#isOpen = false;
      throw error;
    });
    // A value that was deleted leaves a message without content.
    return { text: value?.text ?? "", revision: value?.sequence ?? 0 };
  }

  async #put(subject: string, text: string, revision: number): Promise<number | undefined> {
    try {
      return await this.#store.publish(subject, text, revision);
    } catch (error) {
      if (this.#store.isBeingStored(error)) return undefined;
      throw error;
    }
  }
}
