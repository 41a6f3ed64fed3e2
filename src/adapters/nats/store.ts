import type {
  ConsumerConfig,
  JetStreamClient,
  JetStreamManager,
  StreamConfig,
  StreamInfo,
} from "@nats-io/jetstream";
import type { SchedulerLike } from "rxjs";
import { sleepUntil } from "../../client/timers.js";
import { NetworkError, PairstreamError } from "../../errors.js";
import { PlainNetworkError } from "../wire/error.js";
import { Lanes } from "./lanes.js";
import { type NatsConnection, type NatsLibrary, natsLibrary } from "./nats.js";
import type { NatsSettings } from "./options.js";
import type { StreamSubjects } from "./subjects.js";

/** A message as it is stored. */
export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  /** By the server's clock, in ms since the epoch. */
  readonly time: number;
  readonly text: string;
}

/**
 * Error codes of JetStream: a stream, a consumer or a message does not exist, or a subject holds another message than
 * expected.
 */
const STREAM_NOT_FOUND = 10_059;
const CONSUMER_NOT_FOUND = 10_014;
const MESSAGE_NOT_FOUND = 10_037;
const WRONG_LAST_SEQUENCE = 10_071;
/**
 * Error codes that JetStream reports as its own failures, but that last: an impossible configuration, or replicas
 * without a cluster.
 */
const LASTING: ReadonlySet<number> = new Set([10_052, 10_074]);
/**
 * Error codes that JetStream reports as mistakes of the client, but that pass, from version 2.11 on: another message on
 * the subject is being stored, or too many wait to be.
 */
const BEING_STORED = 10_164;
const TOO_MANY = 10_167;

/** How long the servers may take to answer, in ms. A request to a server that has just died is lost, and sent again. */
const TIMEOUT = 1_000;
/** How long the servers may take to set something up, in ms, because a cluster has to agree on it first. */
const SETUP_TIMEOUT = 5_000;

/** The NATS client's names for failures that may pass if it asks again. */
const PASSING: ReadonlySet<string> = new Set([
  "TimeoutError",
  "RequestError",
  "NoResponders",
  "JetStreamNotEnabled",
  "ConnectionError",
]);

/** The waits before JetStream is asked again, in ms. */
const FIRST_RETRY = 50;
const LONGEST_RETRY = 1_000;

/** How long to wait after so many failures in a row, in ms. The time since the last attempt began is a part of it. */
export function retryAfter(failures: number): number {
  return Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** (failures - 1));
}

/** How to wait for JetStream. */
export interface WaitOptions {
  readonly scheduler: SchedulerLike;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called with the reason for each new attempt. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
}

/** Asks JetStream until it answers. Rejects if asking again cannot help, or with the signal's reason if that aborts. */
export async function persist<T>(
  store: Store,
  { scheduler, signal, onTrouble }: WaitOptions,
  ask: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted();
    const begun = scheduler.now();
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!store.isPassing(error)) throw failureOver(store.connection, "JetStream refused", error);
      onTrouble?.(error);
    }
    await sleepUntil(scheduler, Math.min(begun, scheduler.now()) + retryAfter(failures), signal);
  }
}

/** The error for a failure on a connection. If the connection is closed, the error says so. */
export function failureOver(connection: NatsConnection, what: string, cause: unknown): PairstreamError {
  if (!connection.isClosed()) return asPairstreamError(what, cause);
  return new PlainNetworkError("The NATS connection was closed", cause ? { cause } : {});
}

/** A failure of the server, with its name. As it holds a host, it is no `PlainNetworkError`: those may leave the process. */
export function serverFailure(connection: NatsConnection, cause: unknown): PairstreamError {
  if (cause instanceof PairstreamError) return cause;
  const isSilent = cause instanceof Error && cause.name === "TimeoutError";
  const what = isSilent ? "does not answer" : "failed";
  const { message } = asPairstreamError(`The NATS server ${connection.getServer()} ${what}`, cause);
  return new NetworkError(message, { cause });
}

/** The failure as an error of this library. */
export function asPairstreamError(what: string, cause: unknown): PairstreamError {
  if (cause instanceof PairstreamError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PairstreamError(`${what}: ${reason}`, { cause });
}

const READERS_AT_ONCE = 32;
/** How often a server sends a consumer's heartbeat when there are no messages, in ms. If two are missing, the consumer is lost. */
export const CONSUMER_HEARTBEAT = 2_000;
/** How long a server keeps a consumer that nobody listens to, in ms. */
const ABANDONED_AFTER = 30_000;
/**
 * The version from which on a server may be asked for a message of a stream while it sets that up; older ones crash. A cluster has
 * to be newer than that anyway.
 */
const READ_WHILE_SET_UP = "2.9.15";
/** The version from which on a cluster stores one of several messages that expect the same at once; older ones store all. */
const ONE_LEASE = "2.9.21";
const STORES = /* @__PURE__ */ new WeakMap<NatsConnection, Promise<Store>>();

/** JetStream over one connection. */
export class Store {
  readonly connection: NatsConnection;
  /** How many snapshots are read at once, as servers create consumers slowly. */
  readonly readers = new Lanes(READERS_AT_ONCE);
  readonly library: NatsLibrary;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #setup: JetStreamManager;
  /** The streams that are known to be set up, of a server that crashes where one is not. */
  readonly #found = new Set<string>();

  /** That of a connection, which all share who use the connection. */
  static open(connection: NatsConnection): Promise<Store> {
    const known = STORES.get(connection) ?? Store.#make(connection);
    STORES.set(connection, known);
    return known;
  }

  static async #make(connection: NatsConnection): Promise<Store> {
    const library = await natsLibrary();
    const managerOf = (timeout: number) => library.jetstreamManager(connection, { checkAPI: false, timeout });
    return new Store(connection, library, await managerOf(TIMEOUT), await managerOf(SETUP_TIMEOUT));
  }

  private constructor(
    connection: NatsConnection,
    library: NatsLibrary,
    manager: JetStreamManager,
    setup: JetStreamManager,
  ) {
    this.connection = connection;
    this.library = library;
    this.#manager = manager;
    this.#setup = setup;
    this.#client = library.jetstream(connection, { timeout: TIMEOUT });
  }

  async #info(name: string): Promise<StreamInfo | undefined> {
    try {
      return await this.#manager.streams.info(name);
    } catch (error) {
      if (this.#codeOf(error) === STREAM_NOT_FOUND) return undefined;
      throw error;
    }
  }

  /**
   * Creates a stream, or changes an existing one to what was asked for. Resolves with its retention in ms, 0 for
   * forever. Rejects with a `PairstreamError` if the existing one keeps something else.
   *
   * `more`: what else a new one is set up with.
   */
  async ensureStream(
    { stream, subjects, told }: StreamSubjects,
    settings: NatsSettings,
    more: Partial<StreamConfig> = { discard: "old" },
  ): Promise<number> {
    const { nanos } = this.library;
    const asked = {
      ...(settings.replicas === undefined ? {} : { num_replicas: settings.replicas }),
      ...(settings.retention === undefined ? {} : { max_age: nanos(settings.retention) }),
    };
    const existing = await this.#info(stream);
    if (existing === undefined) {
      const made = await this.#setup.streams.add({
        name: stream,
        subjects: [subjects],
        storage: "file",
        retention: "limits",
        max_msgs_per_subject: 1,
        ...(told === undefined ? {} : { republish: { src: subjects, dest: told } }),
        ...more,
        ...asked,
      });
      return made.config.max_age / 1e6;
    }
    const { config } = existing;
    if (config.max_msgs_per_subject !== 1 || !config.subjects.includes(subjects)) {
      const problem = `exists, but is not set to keep one message for each subject of ${subjects}`;
      throw new PairstreamError(`The stream ${stream} ${problem}: edit it, or choose another name`);
    }
    if (told !== undefined && config.republish?.dest !== told) {
      const problem = `exists, but does not republish what it keeps to ${told}`;
      throw new PairstreamError(`The stream ${stream} ${problem}: delete it, or choose another name`);
    }
    const { num_replicas, max_age } = { ...config, ...asked };
    if (num_replicas === config.num_replicas && max_age === config.max_age) return max_age / 1e6;
    // The server recognizes duplicates at most for as long as it keeps messages.
    const duplicate_window = Math.min(config.duplicate_window, max_age || Infinity);
    const updated = await this.#setup.streams.update(stream, {
      ...config,
      ...asked,
      duplicate_window,
    });
    return updated.config.max_age / 1e6;
  }

  /**
   * Stores a message if the last one on its subject has the expected sequence (0: if there is none). Resolves with the
   * new sequence, or with `undefined` if another message is stored there. Whether another one will be that is being stored
   * at this moment, is not known: that is a failure that passes.
   */
  async publish(subject: string, text: string, expected: number): Promise<number | undefined> {
    try {
      const { seq } = await this.#client.publish(subject, text, {
        timeout: TIMEOUT,
        expect: { lastSubjectSequence: expected },
      });
      return seq;
    } catch (error) {
      if (this.#codeOf(error) === WRONG_LAST_SEQUENCE) return undefined;
      throw error;
    }
  }

  /** The last message on a subject, or on all that fit a pattern, as the leader of the stream has it. */
  async last(stream: string, pattern: string): Promise<StoredMessage | undefined> {
    try {
      if (this.#mayCrash(stream)) await this.#find(stream);
      const message = await this.#manager.streams.getMessage(stream, { last_by_subj: pattern });
      if (message === null) return undefined;
      const { subject, seq: sequence, timestamp } = message;
      return { subject, sequence, time: Date.parse(timestamp), text: message.string() };
    } catch (error) {
      if (this.#codeOf(error) === MESSAGE_NOT_FOUND) return undefined;
      if (this.isStreamGone(error)) this.#found.delete(stream);
      throw error;
    }
  }

  /** Whether the server may crash where it is asked for a message of a stream. */
  #mayCrash(stream: string): boolean {
    const isAlone = this.connection.info?.cluster === undefined;
    return isAlone && !this.#isSince(READ_WHILE_SET_UP) && !this.#found.has(stream);
  }

  /** Makes sure that a stream is set up: a server adds a consumer to no other one. */
  async #find(stream: string): Promise<void> {
    const name = this.library.nuid.next();
    await this.addConsumer(stream, { name, deliver_subject: this.inbox(), deliver_policy: "new" });
    this.removeConsumer(stream, name);
    this.#found.add(stream);
  }

  /**
   * Creates a consumer that gives each message once, and is soon forgotten. Resolves with how many messages wait for it. One
   * that nobody has answered for is deleted.
   */
  async addConsumer(
    stream: string,
    config: Partial<ConsumerConfig> & { readonly name: string },
  ): Promise<number> {
    try {
      const { nanos } = this.library;
      const { num_pending } = await this.#manager.consumers.add(stream, {
        ...config,
        ack_policy: "none",
        max_deliver: 1,
        flow_control: true,
        idle_heartbeat: nanos(CONSUMER_HEARTBEAT),
        inactive_threshold: nanos(ABANDONED_AFTER),
        mem_storage: true,
        num_replicas: 1,
      });
      return num_pending;
    } catch (error) {
      // It may be there all the same. While a cluster still agrees on it, it is not found: then it is deleted again.
      if (error instanceof Error && error.name === "TimeoutError")
        this.removeConsumer(stream, config.name, 2);
      throw error;
    }
  }

  /** What is wrong with leases that so many nodes keep. */
  troubleWith(replicas = 1): PairstreamError | undefined {
    if (replicas === 1 || this.#isSince(ONE_LEASE)) return undefined;
    const problem = `are of version ${this.#version}: in a cluster, two collectors may get the same lease`;
    return new PairstreamError(`The servers ${problem}. Those from ${ONE_LEASE} on give it to one`);
  }

  get #version(): string {
    return this.connection.info?.version ?? "";
  }

  /** Whether the server is of a version or a later one. */
  #isSince(version: string): boolean {
    return this.#version.localeCompare(version, "en", { numeric: true }) >= 0;
  }

  /**
   * Deletes a consumer. If it cannot be reached, it ends by itself because nobody listens.
   *
   * `tries`: how often it is looked for, as servers find one only a moment after they were asked for it.
   */
  removeConsumer(stream: string, name: string, tries = 1): void {
    this.#manager.consumers.delete(stream, name).catch((error) => {
      if (tries > 1 && this.#codeOf(error) === CONSUMER_NOT_FOUND)
        this.removeConsumer(stream, name, tries - 1);
    });
  }

  /** Whether asking again can help, because JetStream has no leader, no room or no answer at present. */
  isPassing(error: unknown): boolean {
    if (this.connection.isClosed() || error instanceof PairstreamError) return false;
    if (error instanceof this.library.JetStreamApiError) {
      const { status, code } = error;
      if (code === TOO_MANY || this.isBeingStored(error) || this.isStreamGone(error)) return true;
      return status >= 500 && !LASTING.has(code);
    }
    if (!(error instanceof Error)) return false;
    const isForbidden = error.cause instanceof this.library.PermissionViolationError;
    return PASSING.has(error.name) && !isForbidden;
  }

  /** Whether the stream does not exist; then it is created again. */
  isStreamGone(error: unknown): boolean {
    return this.#codeOf(error) === STREAM_NOT_FOUND;
  }

  /** Whether another message on the same subject was being stored. */
  isBeingStored(error: unknown): boolean {
    return this.#codeOf(error) === BEING_STORED;
  }

  /** Whether nobody listens on the subject of a question. */
  isUnanswered(error: unknown): boolean {
    return error instanceof Error && (error.name === "NoResponders" || this.isUnanswered(error.cause));
  }

  /** A new inbox, with the prefix that the connection is allowed to use. */
  inbox(): string {
    const { options } = this.connection as { options?: { inboxPrefix?: string } };
    return this.library.createInbox(options?.inboxPrefix);
  }

  #codeOf(error: unknown): number | undefined {
    return error instanceof this.library.JetStreamApiError ? error.code : undefined;
  }
}
