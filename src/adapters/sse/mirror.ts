import { ContractError, PairstreamError } from "../../errors.js";
import { type FeedStatus, isSameStatus } from "../../feed-status.js";
import { fromWireError } from "../wire/error.js";
import { fromWireStatus, makeStatus, STARTING } from "../wire/status.js";
import { type ChannelMessage, type DataOf, readMessage } from "./wire.js";

/** A server-sent event, as `EventReader` gives it. */
export interface ParsedMessage {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

/** What a channel tells besides its status, as its subscriber knows it: it makes events of messages. */
export interface Part<E> {
  /** Notes that a connection begins. */
  connect(): void;
  /** `now`: the receiver's own clock. `isEnd`: whether it is the last of what is told at once. */
  take(message: ChannelMessage, now: number, isEnd: boolean): readonly E[];
  /** What a status of the channel is to the subscriber; absent: the same. */
  shown?(status: FeedStatus): FeedStatus;
}

/** The result of some messages. */
export interface Turn<E> {
  readonly events: readonly (E | FeedStatus)[];
  /** Whether nothing more will come, with the error if that is the reason. */
  readonly isOver: boolean;
  readonly error?: PairstreamError;
}

/** The longest id of a message, in characters; a channel's ids have about seventy. */
const LONGEST_ID = 200;

/** Refuses an id that a request could not send back in its header. */
function checkId(id: string): string {
  if (id.length <= LONGEST_ID && /^[ -~]*$/.test(id)) return id;
  throw new ContractError(["id"], `not 1 to ${LONGEST_ID} visible ASCII characters`);
}

/** The channel as the subscriber of a receiver knows it, across connections. */
export class Mirror<E> {
  readonly #part: Part<E>;
  #lastEventId: string | undefined;
  /** The first message of this connection. */
  #hello: DataOf<"hello"> | undefined;
  /** Whether this connection has told the whole state. */
  #isReady = false;
  /** The last known status of the channel's stream. */
  #status: FeedStatus | undefined;
  /** Whether this connection has sent a status. */
  #isStatusNew = false;
  /** The last status that the subscriber got. */
  #told: FeedStatus | undefined;

  constructor(part: Part<E>) {
    this.#part = part;
  }

  /** The id after which the next connection asks to go on. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** Time between two heartbeats in ms; `undefined` until this connection has announced it. */
  get heartbeat(): number | undefined {
    return this.#hello?.heartbeat;
  }

  /** Notes that a connection begins. */
  connect(): void {
    this.#hello = undefined;
    this.#isReady = false;
    this.#isStatusNew = false;
    this.#part.connect();
  }

  /** Notes that a connection was lost or could not be made, for the `failures`th time in a row. */
  lose(lastError: PairstreamError, failures: number): FeedStatus {
    const { coveredFrom, coveredUntil } = this.#status ?? STARTING;
    this.#told = this.#shown(
      makeStatus({ state: "stalled", coveredFrom, coveredUntil, failures, lastError }),
    );
    return this.#told;
  }

  /** Takes messages that have come by `now` on the receiver's own clock. */
  take(messages: readonly ParsedMessage[], now: number): Turn<E> {
    const events: (E | FeedStatus)[] = [];
    try {
      for (const { id, event, data } of messages) {
        const message = readMessage(event, data);
        if (message.name === "complete") return { events, isOver: true };
        if (message.name === "error") return { events, isOver: true, error: fromWireError(message.data) };
        for (const change of this.#takeOne(message, now, id !== undefined)) events.push(change);
        if (id !== undefined) this.#lastEventId = checkId(id);
      }
      return { events, isOver: false };
    } catch (error) {
      if (error instanceof PairstreamError) return { events, isOver: true, error };
      throw error;
    }
  }

  #takeOne(message: ChannelMessage, now: number, isEnd: boolean): readonly (E | FeedStatus)[] {
    const { name } = message;
    if (name === "hello") {
      if (this.#hello !== undefined) throw new ContractError(["hello"], "a second hello came");
      this.#hello = message.data;
    }
    if (this.#hello === undefined) throw new ContractError([], `a message "${name}" came before hello`);
    const events = this.#part.take(message, now, isEnd);
    switch (name) {
      case "waiting": {
        const waiting = fromWireStatus(message.data);
        if (waiting.state === "starting") return this.#tell(waiting);
        // One that is through with its history would have told what is covered.
        const { coveredFrom, coveredUntil, ...trouble } = waiting;
        return this.#tell(Object.freeze(trouble));
      }
      case "snapshot":
        this.#isReady = false;
        return events;
      case "status":
        this.#status = fromWireStatus(message.data);
        this.#isStatusNew = true;
        return this.#isReady ? [...events, ...this.#tell(this.#status)] : [];
      case "ready": {
        this.#isReady = true;
        const restored = this.#told?.state === "stalled" ? STARTING : undefined;
        const status = this.#isStatusNew ? this.#status : restored;
        return status === undefined ? events : [...events, ...this.#tell(status)];
      }
      default:
        return events;
    }
  }

  #shown(status: FeedStatus): FeedStatus {
    return this.#part.shown?.(status) ?? status;
  }

  #tell(told: FeedStatus): readonly FeedStatus[] {
    const status = this.#shown(told);
    if (this.#told !== undefined && isSameStatus(this.#told, status)) return [];
    this.#told = status;
    return [status];
  }
}
