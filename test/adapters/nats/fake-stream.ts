import { Lanes } from "../../../src/adapters/nats/lanes.js";
import { readRecord, writeMessage } from "../../../src/adapters/nats/message.js";
import { type Publication, Publisher, type PublisherMeans } from "../../../src/adapters/nats/publisher.js";
import type { Proposal, StoredRecord } from "../../../src/adapters/nats/records.js";
import type { Store } from "../../../src/adapters/nats/store.js";
import { VirtualClock } from "../../../src/index.js";

/** The subject of its status is `x.status`; those of its other messages are whatever a test says. */
const FEED = { key: "x", stream: "p", subjects: "x.>" };

/** What becomes of a message on its way: it is stored, stored without anyone hearing of it, at once or late, or lost. */
export type Fate = "stored" | "unheard" | "late" | "lost" | "refused";

/** How much later than its publisher gives it up a late message comes, in ms. */
const LATENESS = 65;

/** A stream that keeps the last message of each subject, and takes 10 ms for everything. */
export class FakeStream {
  readonly clock = new VirtualClock();
  readonly kept = new Map<string, { sequence: number; text: string }>();
  /** Subjects in the order in which they were stored. */
  readonly order: string[] = [];
  readonly publications: Publication[] = [];
  readonly failures: unknown[] = [];
  /** The subjects that were told of each time when stored messages were gone. */
  readonly losses: (readonly string[])[] = [];
  fates: Fate[] = [];
  mayPublish = true;
  setups = 0;
  /** How often an earlier lease has stored another status than the one that was learned of. */
  overtaken = 0;
  /** The epochs of later leases that were found stored. */
  readonly outranked: number[] = [];
  /** Messages that expected what was not there. */
  refusals = 0;
  /** The most messages that were on their way at once: to one subject, and to all. */
  most = { subject: 0, all: 0 };
  readonly #underWay: string[] = [];
  #sequence = 0;

  put(subject: string, record: Omit<StoredRecord, "sequence" | "isOwn">): void {
    this.#keep(subject, writeMessage(record));
  }

  read(subject: string) {
    const kept = this.kept.get(subject);
    return kept && readRecord(kept.text);
  }

  publisher(lanes = new Lanes(256)): Publisher {
    const store = {
      publish: (subject: string, text: string, expected: number) => this.#publish(subject, text, expected),
      last: async (_: string, subject: string) => {
        await this.#wait();
        return this.kept.get(subject);
      },
      isPassing: (error: unknown) => error !== REFUSED,
    };
    const means: PublisherMeans = {
      store: store as unknown as Store,
      scheduler: this.clock,
      lanes,
      ensureStream: async () => {
        this.setups += 1;
      },
      mayPublish: () => this.mayPublish,
      tell: (publication) => this.publications.push(publication),
      fail: (error) => this.failures.push(error),
      lost: (open) => this.losses.push(open),
      outranked: (epoch) => this.outranked.push(epoch),
      overtaken: () => {
        this.overtaken += 1;
      },
    };
    return new Publisher(means, FEED);
  }

  async #publish(subject: string, text: string, expected: number): Promise<number | undefined> {
    this.#underWay.push(subject);
    this.most = {
      subject: Math.max(this.most.subject, this.#underWay.filter((one) => one === subject).length),
      all: Math.max(this.most.all, this.#underWay.length),
    };
    await this.#wait();
    this.#underWay.splice(this.#underWay.indexOf(subject), 1);
    const fate = this.fates.shift() ?? "stored";
    if (fate === "refused") throw REFUSED;
    if (fate === "lost") throw new Error("lost");
    if (fate === "late") {
      this.clock.schedule(() => void this.#take(subject, text, expected), LATENESS);
      throw new Error("late");
    }
    const isTaken = this.#take(subject, text, expected);
    if (isTaken && fate === "unheard") throw new Error("unheard");
    return isTaken ? this.#sequence : undefined;
  }

  #take(subject: string, text: string, expected: number): boolean {
    if ((this.kept.get(subject)?.sequence ?? 0) !== expected) {
      this.refusals += 1;
      return false;
    }
    this.#keep(subject, text);
    return true;
  }

  #keep(subject: string, text: string): void {
    this.#sequence += 1;
    this.kept.set(subject, { sequence: this.#sequence, text });
    this.order.push(subject);
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.clock.schedule(() => resolve(), 10));
  }
}

const REFUSED = new Error("refused");

/** Its value is `from`, a field of messages that a publisher has no use for. */
export function proposalOf(value: number, more: Partial<Proposal> = {}): Proposal {
  const body = JSON.stringify(more.isRemoval ? { from: value, removed: true } : { from: value });
  return { epoch: 1, observedAt: value, body, isRemoval: false, ...more };
}

/** The value that is stored on a subject. */
export function keptValue(stream: FakeStream, last: string) {
  const record = stream.read(last);
  return record && JSON.parse(record.body).from;
}
