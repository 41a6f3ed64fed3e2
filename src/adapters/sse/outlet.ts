import type { Feed, Viewer } from "./feed.js";
import { WIRE_VERSION, writeMessage } from "./wire.js";

/** Where a viewer's state begins, and up to which version it has it. */
interface Position {
  readonly start: number;
  readonly version: number;
}

/** What a `Last-Event-ID` says: the channel that gave it, and the position there. */
export interface Resumption extends Position {
  readonly channel: string;
}

/** Reads a `Last-Event-ID`; `undefined` if no channel could have given it. */
export function readId(id: string | null): Resumption | undefined {
  const [, channel = "", start, version] = /^([\w-]{1,60})-(\d{1,15})-(\d{1,15})$/.exec(id ?? "") ?? [];
  return start === undefined ? undefined : { channel, start: Number(start), version: Number(version) };
}

interface OutletOptions {
  /** Identifies the channel among all channels, past ones included. */
  readonly channel: string;
  readonly heartbeat: number;
  readonly viewer: Viewer;
  /** What the viewer has had before. */
  readonly resumed: Resumption | undefined;
}

/**
 * What one viewer still has to get. It is not a queue but a position among the versions of the feed, so a slow reader costs no
 * memory: what gathers until it asks is one change a candle or wallet.
 */
export class Outlet {
  readonly #feed: Feed;
  readonly #channel: string;
  readonly #viewer: Viewer;
  #opening: string;
  /** The messages that lead to `#position`, and how many of them have been taken. */
  #batch: readonly string[] = [];
  #taken = 0;
  #position: Position | undefined;
  /** Whether the viewer was told that it has the state. */
  #isReady = false;
  #status: string | undefined;
  #hasEnding = false;

  constructor(feed: Feed, { channel, heartbeat, viewer, resumed }: OutletOptions) {
    this.#feed = feed;
    this.#channel = channel;
    this.#viewer = viewer;
    this.#opening = writeMessage("hello", { version: WIRE_VERSION, heartbeat, now: feed.now });
    // Its last version may be older than what is known of removals: then it gets a whole state.
    if (resumed?.channel === channel) this.#position = resumed;
  }

  /** Whether the channel has ended and everything was taken. */
  get isDone(): boolean {
    return this.#hasEnding;
  }

  /**
   * The next messages: at least `length` characters of them, or fewer if there are no more for now. It may be empty.
   */
  take(length: number): string {
    let text = this.#opening;
    this.#opening = "";
    while (text.length < length && (this.#batch.length > 0 || this.#load())) {
      text += this.#batch[this.#taken]!;
      this.#taken += 1;
      if (this.#taken === this.#batch.length) {
        this.#batch = [];
        this.#taken = 0;
      }
    }
    return text;
  }

  /** Takes up what has come since the last batch. Returns `false` if there is nothing. */
  #load(): boolean {
    this.#batch = this.#next();
    if (this.#batch.length > 0) return true;
    const { ending } = this.#feed;
    if (ending === undefined || this.#hasEnding) return false;
    this.#hasEnding = true;
    this.#batch = [ending];
    return true;
  }

  #next(): readonly string[] {
    const { version } = this.#feed;
    const before = this.#position;
    const start = before?.start ?? this.#feed.startFor(this.#viewer);
    const status = this.#feed.status(this.#viewer, start);
    const told = status === undefined || status === this.#status ? [] : [status];
    this.#status = status;
    if (start === undefined) return told;
    this.#position = { start, version };
    const changes = before && this.#feed.since(before.version, start);
    const messages = changes ?? this.#feed.snapshot(start);
    const isWhole = changes === undefined || !this.#isReady;
    this.#isReady = true;
    if (isWhole) return this.#identified([...messages, ...(status === undefined ? [] : [status]), READY]);
    return messages.length === 0 ? told : this.#identified([...messages, ...told]);
  }

  /** Puts the id of the position on the last of some messages. */
  #identified(messages: string[]): readonly string[] {
    const { start, version } = this.#position!;
    messages.push(`id: ${this.#channel}-${start}-${version}\n${messages.pop()}`);
    return messages;
  }
}

const READY = writeMessage("ready", {});
