import { headers } from "@nats-io/transport-node";
import type { Subscription } from "rxjs";
import type { Ground, Packet } from "./jetstream.js";
import { type Kept, type KeptMessages, matches } from "./kept.js";

export interface ConsumerConfig {
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

/** What a consumer has of its stream. */
interface Source {
  readonly config: { readonly name: string };
  /** What its server has. */
  readonly messages: KeptMessages;
}

/** After so many messages a consumer with flow control waits until its reader confirms them. */
const UNCONFIRMED = 64;

/** A consumer that pushes what is stored to a subject. */
export class Consumer {
  readonly #name: string;
  readonly #config: ConsumerConfig;
  #stream: Source;
  readonly #ground: Ground;
  readonly #end: () => void;
  readonly #created: string;
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
    stream: Source,
    ground: Ground,
    end: () => void,
  ) {
    this.#name = name;
    this.#config = config;
    this.#stream = stream;
    this.#ground = ground;
    this.#waiting = found;
    this.#end = end;
    this.#created = new Date(ground.serverTime()).toISOString();
    this.#lastSent = ground.scheduler.now();
  }

  isSet(other: ConsumerConfig): boolean {
    return JSON.stringify(this.#config) === JSON.stringify(other);
  }

  isFor(deliverSubject: string): boolean {
    return this.#config.deliver_subject === deliverSubject;
  }

  info(): object {
    const [config, created, num_pending] = [this.#config, this.#created, this.#waiting.length - this.#next];
    return {
      type: "consumer_info",
      stream_name: this.#stream.config.name,
      name: this.#name,
      config,
      created,
      num_pending,
    };
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

  reads(messages: KeptMessages): boolean {
    return this.#stream.messages === messages;
  }

  goOnIn(messages: KeptMessages): void {
    this.#stream = { ...this.#stream, messages };
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
          said.set("Nats-Last-Consumer", String(this.#delivered));
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
