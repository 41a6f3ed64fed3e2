import type { NatsConnection } from "@nats-io/transport-node";
import { asyncScheduler } from "rxjs";
import { Lanes } from "../../../src/adapters/nats/lanes.js";
import {
  candleBody,
  readCandleMessage,
  readStatusMessage,
  readWalletMessage,
  statusBody,
} from "../../../src/adapters/nats/message.js";
import { persist, Store } from "../../../src/adapters/nats/store.js";
import { aliveSubject, type FeedSubjects, STATUS } from "../../../src/adapters/nats/subjects.js";
import { Writer } from "../../../src/adapters/nats/writer.js";
import type { CandleEvent, FeedStatus } from "../../../src/index.js";

const FOR_EVER = { scheduler: asyncScheduler, signal: new AbortController().signal };
const STARTING: FeedStatus = { state: "starting", failures: 0 };

/** One run of a feed, whose messages a test makes up. */
export class HandPublisher {
  readonly #writer: Writer;
  readonly #id: string;
  readonly #stop: () => void;

  static async open(
    connection: NatsConnection,
    feed: FeedSubjects,
    epoch: number,
    { lanes = new Lanes(256), name = "pairstream" } = {},
  ): Promise<HandPublisher> {
    const store = await Store.open(connection);
    const settings = { name, scheduler: asyncScheduler, replicas: undefined, retention: undefined };
    const ensureStream = () => store.ensureStream(feed, settings);
    await persist(store, FOR_EVER, ensureStream);
    const means = {
      ...{ store, scheduler: asyncScheduler, lanes, ensureStream, mayWrite: () => true },
      tell: () => {},
    };
    const fail = (error: unknown) => {
      throw error;
    };
    const read = (last: string, text: string) => {
      const place = last === STATUS ? readStatusMessage(text) : anyMessage(text);
      return { ...place, body: "", isRemoval: false, isOver: false };
    };
    const writer = new Writer(means, { fail, lost: () => {}, outranked: () => {} }, { feed, epoch, read });
    const known = await persist(store, FOR_EVER, () => store.last(feed.stream, `${feed.key}.${STATUS}`));
    if (known !== undefined) writer.learn(STATUS, { ...read(STATUS, known.text), sequence: known.sequence });
    return new HandPublisher(connection, writer, epoch, name, store.library.nuid.next());
  }

  private constructor(connection: NatsConnection, writer: Writer, epoch: number, name: string, id: string) {
    this.#writer = writer;
    this.#id = id;
    const answering = connection.subscribe(aliveSubject(name, id), {
      callback: (_, message) => {
        message.respond(JSON.stringify({ epoch, number: writer.stored }));
      },
    });
    this.#stop = () => {
      answering.unsubscribe();
      writer.stop();
    };
  }

  candle({ type, candle, status, live, observedAt }: CandleEvent): void {
    const isRemoval = type === "removed";
    const more = { due: observedAt, ...(live ? {} : { late: true }) };
    const body = candleBody({ candle, status, removed: isRemoval ? true : undefined });
    const isOver = isRemoval || status === "final";
    this.#writer.offer(String(candle.timestamp), { body, observedAt, isRemoval, isOver, more });
  }

  status(status: FeedStatus = STARTING): void {
    const rules = { every: 60_000 };
    const of = { publisher: this.#id, rules };
    this.#writer.offerStatus(() => statusBody({ ...of, status }));
  }

  /** Resolves once all is stored. */
  async whenStored(): Promise<void> {
    await new Promise<void>((resolve) => this.#writer.whenIdle(resolve));
  }

  die(): void {
    this.#stop();
  }
}

function anyMessage(text: string) {
  try {
    return readCandleMessage(text);
  } catch {
    return readWalletMessage(text);
  }
}
