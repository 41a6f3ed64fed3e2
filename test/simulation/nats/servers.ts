import {
  ClosedConnectionError,
  Features,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from "@nats-io/transport-node";
import type { SchedulerLike, Subscription } from "rxjs";
import type { VirtualClock } from "../../../src/index.js";
import { type Dialect, OURS } from "./dialect.js";
import { type Ground, JetStream, type Packet } from "./jetstream.js";
import { matches } from "./kept.js";
import { isFrom, nameOf, V2_9, type Version } from "./versions.js";

/** The way between one client and the servers. */
export interface Wire {
  /** Calls `arrive` when what is sent now to the servers gets there: once, never or more often. */
  up(arrive: () => void): void;
  /** The same for what the servers send. */
  down(arrive: () => void): void;
}

/** The servers, seen as one: they route messages, and keep those that are for JetStream. */
export class Servers implements Ground {
  readonly scheduler: VirtualClock;
  /** The version that it announces, and does as. */
  version: Version;
  readonly jetstream: JetStream;
  readonly #connections = new Set<ModelConnection>();
  /** How far the clock of the server that leads is ahead, in ms. */
  ahead = 0;
  /** Whether JetStream has a leader, and so answers. */
  hasLeader = true;
  /** Whether the next consumer gets to a server that is behind, where one is. */
  isPlacedBehind: Ground["isPlacedBehind"] = () => true;
  /** Called with every message that is stored, and the one that it replaces. */
  noteStored: Ground["noteStored"] = () => {};
  /** Called with every message that reaches JetStream. */
  noteTaken: (packet: Packet) => void = () => {};

  constructor(clock: VirtualClock, version = V2_9) {
    this.scheduler = clock;
    this.version = version;
    this.jetstream = new JetStream(this);
  }

  isFrom(minor: number, micro = 0): boolean {
    return isFrom(this.version, minor, micro);
  }

  serverTime(): number {
    return this.scheduler.now() + this.ahead;
  }

  attach(connection: ModelConnection): void {
    this.#connections.add(connection);
  }

  detach(connection: ModelConnection): void {
    this.#connections.delete(connection);
  }

  hasListeners(subject: string): boolean {
    for (const connection of this.#connections) if (connection.listensTo(subject)) return true;
    return false;
  }

  send(to: string, packet: Packet): void {
    for (const connection of [...this.#connections])
      if (connection.listensTo(to)) connection.push(to, packet);
  }

  /** Takes a message of a client. */
  take(packet: Packet): void {
    const { subject, reply } = packet;
    if (this.jetstream.takes(subject)) {
      if (!this.hasLeader) return;
      this.noteTaken(packet);
      // Who listens to a subject of a stream hears of it, stored or not.
      if (!subject.startsWith("$JS.")) this.send(subject, { ...packet, reply: undefined });
      this.jetstream.take(packet, (answer) => {
        if (reply !== undefined) this.send(reply, { subject: reply, text: JSON.stringify(answer) });
      });
    } else if (this.hasListeners(subject)) {
      this.send(subject, packet);
    } else if (reply !== undefined) {
      this.send(reply, { subject: reply, text: "", headers: headers(503, "No Responders") });
    }
  }
}

type Listener = (error: Error | null, message: Msg) => void;

/** Who listens, found by subject without a look at all who listen to another one. */
class Listeners {
  readonly #bySubject = new Map<string, Set<Listener>>();
  /** Those of them that are patterns, of which there are few, but for those that leave the last part alone open. */
  readonly #patterns = new Set<string>();

  add(subject: string, listener: Listener): void {
    const listeners = this.#bySubject.get(subject) ?? new Set();
    this.#bySubject.set(subject, listeners.add(listener));
    if (/[*>]./.test(subject) || subject.endsWith(">")) this.#patterns.add(subject);
  }

  remove(subject: string, listener: Listener): void {
    const listeners = this.#bySubject.get(subject);
    listeners?.delete(listener);
    if (listeners?.size !== 0) return;
    this.#bySubject.delete(subject);
    this.#patterns.delete(subject);
  }

  clear(): void {
    this.#bySubject.clear();
    this.#patterns.clear();
  }

  has(subject: string): boolean {
    if (this.#bySubject.has(subject) || this.#bySubject.has(openOf(subject))) return true;
    for (const pattern of this.#patterns) if (matches(pattern, subject)) return true;
    return false;
  }

  of(subject: string): Listener[] {
    const fitting = [...this.#patterns].filter((pattern) => pattern !== subject && matches(pattern, subject));
    return [subject, openOf(subject), ...fitting].flatMap((each) => [...(this.#bySubject.get(each) ?? [])]);
  }
}

/** The pattern of a subject that leaves its last part open. */
const openOf = (subject: string) => `${subject.slice(0, subject.lastIndexOf(".") + 1)}*`;

interface Waiting {
  resolve(message: Msg): void;
  reject(error: Error): void;
  readonly timer: Subscription;
}

/** A client's connection to the model; it has what this library and the NATS packages use of one. */
export class ModelConnection {
  readonly options: { readonly inboxPrefix?: string } = {};
  /** How many messages of streams have come. */
  received = 0;
  readonly #servers: Servers;
  readonly #wire: Wire;
  readonly #scheduler: SchedulerLike;
  /** What the subjects begin with on which answers come. */
  readonly #answers: string;
  readonly #listeners = new Listeners();
  readonly #dialect: Dialect;
  readonly #waiting = new Map<string, Waiting>();
  readonly #statuses = new Set<StatusQueue>();
  readonly #closed: Promise<undefined>;
  #close: () => void = () => {};
  /** What is sent once the connection is there again. */
  #held: Packet[] = [];
  #isConnected = true;
  #isClosed = false;
  #isDropped = false;
  #count = 0;

  /** `number`: different for each connection to the same servers. */
  constructor(servers: Servers, wire: Wire, scheduler: SchedulerLike, number: number, dialect = OURS) {
    this.#servers = servers;
    this.#wire = wire;
    this.#scheduler = scheduler;
    this.#dialect = dialect;
    this.#answers = `_INBOX.answers${number}.`;
    this.#closed = new Promise((resolve) => {
      this.#close = () => resolve(undefined);
    });
    servers.attach(this);
  }

  /** The connection as the library takes it. */
  get asConnection(): NatsConnection {
    return this as unknown as NatsConnection;
  }

  /** How many answers it waits for. */
  get waiting(): number {
    return this.#isDropped ? 0 : this.#waiting.size;
  }

  getServerVersion() {
    return this.#servers.version;
  }

  get info() {
    return { version: nameOf(this.#servers.version), cluster: "model" };
  }

  get features() {
    return new Features(this.#servers.version);
  }

  getServer(): string {
    return "model";
  }

  listensTo(subject: string): boolean {
    if (!this.#isConnected) return false;
    return subject.startsWith(this.#answers) || this.#listeners.has(subject);
  }

  /** A message of the servers on its way. */
  push(to: string, packet: Packet): void {
    this.#wire.down(() => this.#arrive(to, packet));
  }

  subscribe(subject: string, { callback }: { callback: Listener }) {
    // One listener may subscribe twice.
    const listener: Listener = (error, message) => callback(error, message);
    this.#listeners.add(subject, listener);
    return { unsubscribe: () => this.#listeners.remove(subject, listener) };
  }

  publish(subject: string, text: string | Uint8Array = "", more: { headers?: MsgHdrs; reply?: string } = {}) {
    if (this.#isClosed) throw new ClosedConnectionError();
    this.#send({ subject, text: textOf(text), ...more });
  }

  request(
    subject: string,
    text: string | Uint8Array = "",
    { timeout = 1_000, headers: said }: { timeout?: number; headers?: MsgHdrs } = {},
  ): Promise<Msg> {
    if (this.#isClosed) return Promise.reject(new ClosedConnectionError());
    if (this.#isDropped) return new Promise(() => {});
    this.#count += 1;
    const reply = `${this.#answers}${this.#count}`;
    return new Promise((resolve, reject) => {
      const timer = this.#scheduler.schedule(() => {
        this.#waiting.delete(reply);
        reject(new TimeoutError());
      }, timeout);
      this.#waiting.set(reply, { resolve, reject, timer });
      this.#send({ subject, text: textOf(text), reply, headers: said });
    });
  }

  status() {
    const queue = new StatusQueue(() => this.#statuses.delete(queue));
    this.#statuses.add(queue);
    return queue;
  }

  /** Notices that the servers cannot be reached. */
  disconnect(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    for (const queue of this.#statuses) queue.push({ type: "disconnect" });
  }

  /** Finds the servers again. */
  reconnect(): void {
    if (this.#isDropped || this.#isConnected) return;
    this.#isConnected = true;
    const held = this.#held;
    this.#held = [];
    for (const packet of held) this.#send(packet);
    for (const queue of this.#statuses) queue.push({ type: "reconnect" });
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  closed(): Promise<undefined> {
    return this.#closed;
  }

  async close(): Promise<void> {
    this.drop();
    this.#isClosed = true;
    for (const { timer, reject } of this.#waiting.values()) {
      timer.unsubscribe();
      reject(new ClosedConnectionError());
    }
    this.#waiting.clear();
    for (const queue of this.#statuses) queue.stop();
    this.#close();
  }

  /** Ends it as the death of its process does: nobody is told, and nothing comes or goes any more. */
  drop(): void {
    this.#isDropped = true;
    this.#isConnected = false;
    this.#listeners.clear();
    this.#servers.detach(this);
  }

  #send(packet: Packet): void {
    if (this.#isDropped) return;
    if (!this.#isConnected) {
      this.#held.push(packet);
      return;
    }
    for (const said of this.#dialect.out(packet)) this.#wire.up(() => this.#servers.take(said));
  }

  #arrive(to: string, said: Packet): void {
    if (this.#isDropped) return;
    const packet = this.#dialect.in(said);
    if (packet.reply?.startsWith("$JS.ACK.")) this.received += 1;
    const waiting = this.#waiting.get(to);
    if (waiting !== undefined) {
      this.#waiting.delete(to);
      waiting.timer.unsubscribe();
      if (packet.headers?.code === 503) {
        waiting.reject(new RequestError("no responders", { cause: new NoRespondersError(to) }));
      } else {
        waiting.resolve(this.#messageOf(packet));
      }
      return;
    }
    for (const listener of this.#listeners.of(to)) listener(null, this.#messageOf(packet));
  }

  #messageOf({ subject, text, reply, headers: said }: Packet): Msg {
    const data = new TextEncoder().encode(text);
    const message = {
      subject,
      data,
      reply,
      headers: said,
      string: () => text,
      json: () => JSON.parse(text),
      respond: (answer: string | Uint8Array = "") => {
        if (reply === undefined || this.#isClosed) return false;
        this.publish(reply, answer);
        return true;
      },
    };
    return message as unknown as Msg;
  }
}

/** What a connection tells of itself, as an async iterable that can be stopped. */
class StatusQueue {
  readonly #told: { readonly type: string }[] = [];
  readonly #leave: () => void;
  #wake: () => void = () => {};
  #isOver = false;

  /** `leave`: called once nobody waits for more. */
  constructor(leave: () => void) {
    this.#leave = leave;
  }

  push(status: { readonly type: string }): void {
    this.#told.push(status);
    this.#wake();
  }

  stop(): void {
    this.#isOver = true;
    this.#leave();
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      const next = this.#told.shift();
      if (next !== undefined) yield next;
      else if (this.#isOver) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/** A copy: what is sent shares no memory with what is kept. */
function textOf(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString();
}
