import { headers, type MsgHdrs } from "@nats-io/transport-node";
import type { SchedulerLike, Subscription } from "rxjs";
import { type Kept, KeptMessages, matches } from "./kept.js";

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
  /** Whether a consumer may have several filters. */
  readonly hasManyFilters: boolean;
  /** The clock of the server that leads, in ms since the epoch. */
  serverTime(): number;
  /** Sends a message to all who listen on a subject, which need not be its own. */
  send(to: string, packet: Packet): void;
  hasListeners(subject: string): boolean;
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
}

interface ConsumerConfig {
  readonly deliver_policy: "last_per_subject" | "new" | "by_start_time" | "by_start_sequence";
  readonly deliver_subject: string;
  /** The subjects that it gives, however many the client has named. */
  readonly filters: readonly string[];
  readonly opt_start_seq?: number;
  readonly opt_start_time?: string;
  readonly idle_heartbeat: number;
  readonly inactive_threshold: number;
  readonly flow_control?: boolean;
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
const NAME_TAKEN = new Refusal(400, 10_058, "stream name already in use with a different configuration");
const OVERLAPS = new Refusal(400, 10_065, "subjects overlap with an existing stream");
const TWO_KINDS_OF_FILTERS = new Refusal(400, 10_136, "both FilterSubject and FilterSubjects specified");

/** After so many messages a consumer with flow control waits until its reader confirms them. */
const UNCONFIRMED = 64;
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

  /** The answer to a message that `takes` accepts; `undefined` if there is none. */
  take(packet: Packet): object | undefined {
    const { subject } = packet;
    if (subject.startsWith("$JS.FC.")) {
      const [, , stream, consumer] = subject.split(".");
      this.streams.get(stream!)?.consumers.get(consumer!)?.confirm(subject);
      return undefined;
    }
    const answer = subject.startsWith("$JS.API.") ? this.#ask(packet) : this.#of(subject)!.store(packet);
    if (!(answer instanceof Refusal)) return answer;
    const { code, err_code, description } = answer;
    return { error: { code, err_code, description } };
  }

  /** Takes all consumers away, as a server does that ends. */
  forgetConsumers(): void {
    for (const stream of this.streams.values()) stream.dropConsumers();
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
      const several = this.#ground.hasManyFilters ? filter_subjects : undefined;
      if (several !== undefined && filter_subject !== undefined) return TWO_KINDS_OF_FILTERS;
      return stream.follow(`c${this.#count}`, { ...config, filters: several ?? [filter_subject ?? ">"] });
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

class Stream {
  config: StreamConfig;
  readonly consumers = new Map<string, Consumer>();
  readonly messages = new KeptMessages();
  readonly #ground: Ground;
  readonly #created: string;
  #sequence = 0;

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

  store({ subject, text, headers: said }: Packet): object | Refusal {
    this.#expire();
    const last = this.messages.last(subject);
    const expected = said?.get(EXPECTED);
    if (expected !== undefined && expected !== "" && Number(expected) !== (last?.sequence ?? 0)) {
      return new Refusal(400, 10_071, `wrong last sequence: ${last?.sequence ?? 0}`);
    }
    this.#sequence += 1;
    const kept = { sequence: this.#sequence, subject, text, time: this.#ground.serverTime() };
    if (this.config.max_msgs_per_subject === 1 && last !== undefined) this.messages.remove(last);
    this.messages.add(kept);
    this.#ground.noteStored(kept, last);
    for (const consumer of this.consumers.values()) consumer.stored(kept);
    return { stream: this.config.name, seq: kept.sequence };
  }

  read(subject: string): object | Refusal {
    this.#expire();
    const kept = this.messages.last(subject);
    if (kept === undefined) return NO_MESSAGE;
    const time = new Date(kept.time).toISOString();
    return { message: { subject, seq: kept.sequence, time, data: btoa(kept.text) } };
  }

  follow(name: string, config: ConsumerConfig): object {
    this.#expire();
    const found = this.#found(config);
    const num_pending = found.length;
    const consumer = new Consumer(name, config, found, this, this.#ground, () => this.unfollow(name));
    this.consumers.set(name, consumer);
    consumer.start();
    const created = new Date(this.#ground.serverTime()).toISOString();
    return { type: "consumer_info", stream_name: this.config.name, name, config, created, num_pending };
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

  /** The sequences that a new consumer begins with. */
  #found({ deliver_policy, filters, opt_start_seq, opt_start_time }: ConsumerConfig): number[] {
    const from = opt_start_time === undefined ? Number.NEGATIVE_INFINITY : Date.parse(opt_start_time);
    const isFound = ({ sequence, subject, time }: Kept) => {
      if (deliver_policy === "by_start_time" && time < from) return false;
      if (deliver_policy === "by_start_sequence" && sequence < opt_start_seq!) return false;
      return deliver_policy !== "last_per_subject" || this.messages.last(subject)?.sequence === sequence;
    };
    if (deliver_policy === "new") return [];
    const matching = new Set(filters.flatMap((filter) => this.messages.matching(filter)));
    const sequences = [...matching].filter(isFound).map(({ sequence }) => sequence);
    return sequences.sort((a, b) => a - b);
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

/** A consumer that pushes what is stored to a subject. */
class Consumer {
  readonly #name: string;
  readonly #config: ConsumerConfig;
  readonly #stream: Stream;
  readonly #ground: Ground;
  readonly #end: () => void;
  /** The sequences that wait, from the place of the next one on. */
  #waiting: number[];
  #next = 0;
  #delivered = 0;
  #unconfirmed = 0;
  /** The subject on which its reader has to confirm before more is sent. */
  #stalled: string | undefined;
  #beating: Subscription | undefined;
  #lastSent: number;
  #unheardSince: number | undefined;

  constructor(
    name: string,
    config: ConsumerConfig,
    found: number[],
    stream: Stream,
    ground: Ground,
    end: () => void,
  ) {
    this.#name = name;
    this.#config = config;
    this.#stream = stream;
    this.#ground = ground;
    this.#waiting = found;
    this.#end = end;
    this.#lastSent = ground.scheduler.now();
  }

  start(): void {
    this.#pump();
    this.#beat();
  }

  stop(): void {
    this.#beating?.unsubscribe();
    this.#beating = undefined;
    this.#waiting = [];
    this.#next = 0;
  }

  stored({ sequence, subject }: Kept): void {
    if (!this.#config.filters.some((filter) => matches(filter, subject))) return;
    this.#waiting.push(sequence);
    this.#pump();
  }

  confirm(subject: string): void {
    if (this.#stalled !== subject) return;
    this.#stalled = undefined;
    this.#unconfirmed = 0;
    this.#pump();
  }

  #pump(): void {
    const { deliver_subject, flow_control } = this.#config;
    if (!this.#ground.hasListeners(deliver_subject)) return;
    while (this.#next < this.#waiting.length && this.#stalled === undefined) {
      const kept = this.#stream.messages.at(this.#waiting[this.#next]!);
      this.#next += 1;
      if (kept === undefined) continue;
      this.#delivered += 1;
      this.#unconfirmed += 1;
      const place = `${kept.sequence}.${this.#delivered}.${kept.time * 1e6}.${this.#waiting.length - this.#next}`;
      const reply = `$JS.ACK.${this.#stream.config.name}.${this.#name}.1.${place}`;
      this.#send({ subject: kept.subject, text: kept.text, reply });
      if (!flow_control || this.#unconfirmed < UNCONFIRMED) continue;
      this.#stalled = `$JS.FC.${this.#stream.config.name}.${this.#name}.${this.#delivered}`;
      this.#send({
        subject: deliver_subject,
        text: "",
        reply: this.#stalled,
        headers: headers(100, "FlowControl Request"),
      });
    }
    // Now and then, as what comes first in a long list is costly to take out.
    if (2 * this.#next <= this.#waiting.length) return;
    this.#waiting.splice(0, this.#next);
    this.#next = 0;
  }

  #send(packet: Packet): void {
    this.#lastSent = this.#ground.scheduler.now();
    this.#ground.send(this.#config.deliver_subject, packet);
  }

  #beat(): void {
    const { scheduler } = this.#ground;
    const every = this.#config.idle_heartbeat / 1e6;
    this.#beating = scheduler.schedule(() => {
      const now = scheduler.now();
      if (this.#ground.hasListeners(this.#config.deliver_subject)) {
        this.#unheardSince = undefined;
        this.#pump();
        if (now - this.#lastSent >= every) {
          const said = headers(100, "Idle Heartbeat");
          if (this.#stalled !== undefined) said.set("Nats-Consumer-Stalled", this.#stalled);
          this.#send({ subject: this.#config.deliver_subject, text: "", headers: said });
        }
      } else {
        this.#unheardSince ??= now;
        if (now - this.#unheardSince >= this.#config.inactive_threshold / 1e6) {
          this.#end();
          return;
        }
      }
      if (this.#beating !== undefined) this.#beat();
    }, every);
  }
}
