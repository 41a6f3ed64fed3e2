import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { SchedulerLike } from "rxjs";
import { type Kept, KeptMessages, matches } from "./kept.js";
import { Consumer, type ConsumerConfig } from "./push-consumer.js";

/** A message between a client and the servers. */
export interface Packet {
  readonly subject: string;
  readonly text: string;
  readonly reply?: string | undefined;
  readonly headers?: MsgHdrs | undefined;
}

/** What JetStream needs of the servers that it runs on. */
export interface Ground {
  readonly scheduler: SchedulerLike;
  /** Whether the servers are of version 2.`minor`.`micro` or of a later one. */
  isFrom(minor: number, micro?: number): boolean;
  /** The clock of the server that leads, in ms since the epoch. */
  serverTime(): number;
  /** Sends a message to all who listen on a subject, which need not be its own. */
  send(to: string, packet: Packet): void;
  hasListeners(subject: string): boolean;
  /** Whether a new consumer gets to the server that is behind. */
  isPlacedBehind(): boolean;
  /** Notes that a message is stored, and which one it replaces. */
  noteStored(kept: Kept, before: Kept | undefined): void;
}

interface StreamConfig {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly max_msgs_per_subject: number;
  /** In ns, 0 for ever. */
  readonly max_age: number;
  readonly num_replicas: number;
  readonly duplicate_window: number;
  readonly allow_direct: boolean;
  /** Where what is stored is told, on the subjects of the stream behind another beginning. */
  readonly republish?: { readonly src: string; readonly dest: string };
}

/** An answer of the API that says what is wrong. */
class Refusal {
  constructor(
    readonly code: number,
    readonly err_code: number,
    readonly description: string,
  ) {}
}

const NO_STREAM = new Refusal(404, 10_059, "stream not found");
const NO_MESSAGE = new Refusal(404, 10_037, "no message found");
const NO_CONSUMER = new Refusal(404, 10_014, "consumer not found");
const CONSUMER_NAME_TAKEN = new Refusal(400, 10_013, "consumer name already in use");
const CONSUMER_EXISTS = new Refusal(400, 10_148, "consumer already exists");
const NAME_TAKEN = new Refusal(400, 10_058, "stream name already in use with a different configuration");
const OVERLAPS = new Refusal(400, 10_065, "subjects overlap with an existing stream");
const BEING_STORED = new Refusal(400, 10_164, "wrong last sequence");
const OVERLAPPING_FILTERS = new Refusal(400, 10_138, "consumer subject filters cannot overlap");
const TWO_KINDS_OF_FILTERS = new Refusal(400, 10_136, "both FilterSubject and FilterSubjects specified");

/** From these versions on, without the 2, servers do so. */
const CREATES_WITHOUT_CHANGES = [10] as const;
const TAKES_SEVERAL_FILTERS = [10] as const;
const STORES_ONE_OF_MANY = [9, 21] as const;
const REFUSES_WHAT_IS_BEING_STORED = [11] as const;

/** How long the nodes take to agree on a message, in ms. */
const AGREED_AFTER = 1;
const EXPECTED = "Nats-Expected-Last-Subject-Sequence";

/** The parts of JetStream that this library uses, in memory: the API as it goes over the wire. */
export class JetStream {
  readonly streams = new Map<string, Stream>();
  readonly #ground: Ground;
  #count = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** Whether a message on this subject is for JetStream. */
  takes(subject: string): boolean {
    return subject.startsWith("$JS.API.") || subject.startsWith("$JS.FC.") || this.#of(subject) !== undefined;
  }

  /** Takes a message that `takes` accepts, and answers it if there is an answer. */
  take(packet: Packet, answer: (answer: object) => void): void {
    const { subject } = packet;
    const say = (said: object | Refusal) => {
      if (!(said instanceof Refusal)) return answer(said);
      const { code, err_code, description } = said;
      answer({ error: { code, err_code, description } });
    };
    if (subject.startsWith("$JS.FC.")) {
      const [, , stream, consumer] = subject.split(".");
      this.streams.get(stream!)?.consumers.get(consumer!)?.confirm(subject);
    } else if (subject.startsWith("$JS.API.")) say(this.#ask(packet));
    else this.#of(subject)!.store(packet, say);
  }

  /** Takes all consumers away, as a server does that ends. */
  forgetConsumers(): void {
    for (const stream of this.streams.values()) stream.dropConsumers();
  }

  /** Lets one of the servers stand still; consumers may get to it all the same. */
  fallBehind(): void {
    for (const stream of this.streams.values()) stream.fallBehind();
  }

  /** Lets that server have what all others have. */
  catchUp(): void {
    for (const stream of this.streams.values()) stream.catchUp();
  }

  drop(name: string): boolean {
    this.streams.get(name)?.dropConsumers();
    return this.streams.delete(name);
  }

  get consumers(): number {
    return [...this.streams.values()].reduce((sum, { consumers }) => sum + consumers.size, 0);
  }

  #of(subject: string): Stream | undefined {
    for (const stream of this.streams.values()) if (stream.keeps(subject)) return stream;
    return undefined;
  }

  #ask({ subject, text }: Packet): object | Refusal {
    const [, , family, verb, ...rest] = subject.split(".");
    if (family === "INFO") return { type: "account_info", memory: 0, storage: 0, streams: this.streams.size };
    const asked = text === "" ? {} : JSON.parse(text);
    const call = `${family}.${verb}`;
    if (call === "STREAM.CREATE") return this.#create(asked);
    const name = (call === "STREAM.MSG" ? rest[1] : rest[0]) ?? "";
    const stream = this.streams.get(name);
    if (stream === undefined) return NO_STREAM;
    if (call === "STREAM.INFO") return stream.info();
    if (call === "STREAM.UPDATE") return stream.change(asked);
    if (call === "STREAM.DELETE") return { success: this.drop(name) };
    if (call === "STREAM.PURGE") return { success: true, purged: stream.purge() };
    if (call === "STREAM.MSG") return stream.read(asked.last_by_subj);
    if (call === "CONSUMER.CREATE") {
      this.#count += 1;
      const { filter_subject, filter_subjects, ...config } = asked.config;
      const several = this.#ground.isFrom(...TAKES_SEVERAL_FILTERS) ? filter_subjects : undefined;
      if (several !== undefined && filter_subject !== undefined) return TWO_KINDS_OF_FILTERS;
      if (
        several?.some((one: string) => several.some((other: string) => one !== other && matches(one, other)))
      ) {
        return OVERLAPPING_FILTERS;
      }
      return stream.follow(asked.config.name ?? `c${this.#count}`, {
        ...config,
        filters: several ?? [filter_subject ?? ">"],
      });
    }
    if (call === "CONSUMER.DELETE") return stream.unfollow(rest[1]!);
    throw new Error(`The model has no ${subject}`);
  }

  #create(asked: Partial<StreamConfig>): object | Refusal {
    const made = configOf(asked);
    const existing = this.streams.get(made.name);
    if (existing !== undefined) return existing.isSet(made) ? existing.info() : NAME_TAKEN;
    for (const { config } of this.streams.values()) {
      if (config.subjects.some((subject) => made.subjects.includes(subject))) return OVERLAPS;
    }
    const stream = new Stream(made, this.#ground);
    this.streams.set(made.name, stream);
    return stream.info();
  }
}

function configOf(asked: Partial<StreamConfig>): StreamConfig {
  return {
    ...asked,
    name: asked.name!,
    subjects: asked.subjects ?? [],
    max_msgs_per_subject: asked.max_msgs_per_subject ?? -1,
    max_age: asked.max_age ?? 0,
    num_replicas: asked.num_replicas ?? 1,
    duplicate_window: asked.duplicate_window ?? Math.min(120e9, asked.max_age || 120e9),
    allow_direct: asked.allow_direct ?? false,
  };
}

/** The sequence of the last message on its subject, as a message expects it. */
function expectedBy({ headers: said }: Packet): number | undefined {
  return said?.get(EXPECTED) ? Number(said.get(EXPECTED)) : undefined;
}

class Stream {
  config: StreamConfig;
  readonly consumers = new Map<string, Consumer>();
  readonly messages = new KeptMessages();
  /** The subjects on which the nodes agree about a message at this moment. */
  readonly #beingStored = new Set<string>();
  readonly #ground: Ground;
  readonly #created: string;
  #sequence = 0;
  /** What the server has that is behind, if one is. */
  #behind: { readonly messages: KeptMessages; readonly sequence: number } | undefined;

  constructor(config: StreamConfig, ground: Ground) {
    this.config = config;
    this.#ground = ground;
    this.#created = new Date(ground.serverTime()).toISOString();
  }

  get sequence(): number {
    return this.#sequence;
  }

  keeps(subject: string): boolean {
    return this.config.subjects.some((pattern) => matches(pattern, subject));
  }

  isSet(other: StreamConfig): boolean {
    return JSON.stringify(this.config) === JSON.stringify(other);
  }

  info(): object {
    this.#expire();
    const [messages, consumer_count] = [this.messages.size, this.consumers.size];
    const state = { messages, last_seq: this.#sequence, consumer_count };
    return { type: "stream_info", config: this.config, created: this.#created, state };
  }

  change(asked: Partial<StreamConfig>): object {
    this.config = configOf(asked);
    return this.info();
  }

  purge(): number {
    const { size } = this.messages;
    this.messages.clear();
    return size;
  }

  /** Stores a message, at once or when several nodes have agreed on it. */
  store(packet: Packet, say: (said: object | Refusal) => void): void {
    const { subject } = packet;
    const refusal = this.#refusalOf(packet);
    if (this.#beingStored.has(subject) && this.#ground.isFrom(...REFUSES_WHAT_IS_BEING_STORED)) {
      say(BEING_STORED);
    } else if (refusal !== undefined || this.config.num_replicas === 1) {
      say(refusal ?? this.#keep(packet));
    } else {
      this.#beingStored.add(subject);
      this.#ground.scheduler.schedule(() => {
        this.#beingStored.delete(subject);
        const looksAgain = this.#ground.isFrom(...STORES_ONE_OF_MANY) || expectedBy(packet) === 0;
        say((looksAgain ? this.#refusalOf(packet) : undefined) ?? this.#keep(packet));
      }, AGREED_AFTER);
    }
  }

  #refusalOf(packet: Packet): Refusal | undefined {
    this.#expire();
    const last = this.messages.last(packet.subject)?.sequence ?? 0;
    const isExpected = (expectedBy(packet) ?? last) === last;
    return isExpected ? undefined : new Refusal(400, 10_071, `wrong last sequence: ${last}`);
  }

  #keep({ subject, text }: Packet): object {
    const last = this.messages.last(subject);
    this.#sequence += 1;
    const kept = { sequence: this.#sequence, subject, text, time: this.#ground.serverTime() };
    if (this.config.max_msgs_per_subject === 1 && last !== undefined) this.messages.remove(last);
    this.messages.add(kept);
    this.#ground.noteStored(kept, last);
    this.#republish(kept, last);
    for (const consumer of this.consumers.values()) if (!this.#isBehind(consumer)) consumer.stored(kept);
    return { stream: this.config.name, seq: kept.sequence };
  }

  #republish({ subject, text, sequence }: Kept, last: Kept | undefined): void {
    const { republish, name } = this.config;
    if (republish === undefined) return;
    const [from, to] = [republish.src, republish.dest].map((pattern) => pattern.replace(/>$/, ""));
    const told = subject.replace(from!, to!);
    const said = headers();
    said.set("Nats-Stream", name);
    said.set("Nats-Subject", subject);
    said.set("Nats-Sequence", String(sequence));
    said.set("Nats-Last-Sequence", String(last?.sequence ?? 0));
    this.#ground.send(told, { subject: told, text, headers: said });
  }

  /** The last message on the subjects that fit a pattern. */
  read(pattern: string): object | Refusal {
    this.#expire();
    const kept = /[*>]/.test(pattern)
      ? this.messages.matching(pattern).reduce<Kept | undefined>(laterOf, undefined)
      : this.messages.last(pattern);
    if (kept === undefined) return NO_MESSAGE;
    const time = new Date(kept.time).toISOString();
    return { message: { subject: kept.subject, seq: kept.sequence, time, data: btoa(kept.text) } };
  }

  follow(name: string, config: ConsumerConfig): object | Refusal {
    const existing = this.consumers.get(name);
    if (existing?.isSet(config)) return existing.info();
    if (existing !== undefined) {
      if (this.#ground.isFrom(...CREATES_WITHOUT_CHANGES)) return CONSUMER_EXISTS;
      if (!existing.isFor(config.deliver_subject)) return CONSUMER_NAME_TAKEN;
      throw new Error("The model has no changes of consumers");
    }
    this.#expire();
    const { messages } = (this.#ground.isPlacedBehind() ? this.#behind : undefined) ?? this;
    const found = foundIn(messages, config);
    const source = { config: this.config, messages };
    const consumer = new Consumer(name, config, found, source, this.#ground, () => this.unfollow(name));
    this.consumers.set(name, consumer);
    const info = consumer.info();
    consumer.start();
    return info;
  }

  unfollow(name: string): object | Refusal {
    const consumer = this.consumers.get(name);
    if (consumer === undefined) return NO_CONSUMER;
    consumer.stop();
    this.consumers.delete(name);
    return { success: true };
  }

  dropConsumers(): void {
    for (const consumer of this.consumers.values()) consumer.stop();
    this.consumers.clear();
  }

  fallBehind(): void {
    if (this.#behind !== undefined) return;
    const messages = new KeptMessages();
    for (const kept of this.messages.values()) messages.add(kept);
    this.#behind = { messages, sequence: this.#sequence };
  }

  catchUp(): void {
    const { sequence } = this.#behind ?? {};
    const late = [...this.consumers.values()].filter((consumer) => this.#isBehind(consumer));
    this.#behind = undefined;
    for (const consumer of late) {
      consumer.goOnIn(this.messages);
      for (const kept of this.messages.values()) if (kept.sequence > sequence!) consumer.stored(kept);
    }
  }

  #isBehind(consumer: Consumer): boolean {
    return this.#behind !== undefined && consumer.reads(this.#behind.messages);
  }

  #expire(): void {
    if (this.config.max_age === 0) return;
    const oldest = this.#ground.serverTime() - this.config.max_age / 1e6;
    for (const kept of this.messages.values()) {
      if (kept.time > oldest) return;
      this.messages.remove(kept);
    }
  }
}

const laterOf = (a: Kept | undefined, b: Kept): Kept => (a === undefined || a.sequence < b.sequence ? b : a);

/** The sequences that a new consumer begins with. */
function foundIn(
  messages: KeptMessages,
  { deliver_policy, filters, opt_start_seq, opt_start_time }: ConsumerConfig,
): number[] {
  const from = opt_start_time === undefined ? Number.NEGATIVE_INFINITY : Date.parse(opt_start_time);
  const isFound = ({ sequence, subject, time }: Kept) => {
    if (deliver_policy === "by_start_time" && time < from) return false;
    if (deliver_policy === "by_start_sequence" && sequence < opt_start_seq!) return false;
    return deliver_policy !== "last_per_subject" || messages.last(subject)?.sequence === sequence;
  };
  if (deliver_policy === "new") return [];
  const matching = new Set(filters.flatMap((filter) => messages.matching(filter)));
  const sequences = [...matching].filter(isFound).map(({ sequence }) => sequence);
  return sequences.sort((a, b) => a - b);
}
