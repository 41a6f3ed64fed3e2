import { ContractError, PairstreamError } from "../../errors.js";
import { type FeedStatus, isSameStatus } from "../../feed-status.js";
import { fromWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import { CandleMirror } from "./candle-mirror.js";
import type { ChannelEvent } from "./events.js";
import { SniperMirror } from "./sniper-mirror.js";
import {
  type CandleMessage,
  type ChannelMessage,
  type DataOf,
  keyOf,
  readMessage,
  readStatus,
  type WalletMessage,
} from "./wire.js";

/** A message as a parser of the protocol gives it. */
export interface ParsedMessage {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

/** What some messages have led to. */
export interface Turn {
  readonly events: readonly ChannelEvent[];
  /** Whether there is nothing more to come; with an error where that is the reason. */
  readonly isOver: boolean;
  readonly error?: PairstreamError;
}

const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });
const LIVE: FeedStatus = Object.freeze({ state: "live", failures: 0 });

/** The longest identifier of a message; a channel's have some thirty characters. */
const LONGEST_ID = 200;

/** Refuses what no request could name again in its header. */
function checkId(id: string): string {
  if (id.length <= LONGEST_ID && /^[ -~]*$/.test(id)) return id;
  throw new ContractError(["id"], `not of at most ${LONGEST_ID} visible ASCII characters`);
}

/** The channel as a receiver has told it to its subscriber, from one connection to the next. */
export class Mirror {
  readonly #series = new Map<string, CandleMirror>();
  readonly #pairs = new Map<string, SniperMirror>();
  #lastEventId: string | undefined;
  /** The channel whose state this is. */
  #channel: string | undefined;
  /** What this connection has opened with. */
  #hello: DataOf<"hello"> | undefined;
  /** What has come of a snapshot that is not complete yet. */
  #snapshot: Snapshot | undefined;
  /** How the channel's stream stands, as far as is known. */
  #status: FeedStatus | undefined;
  /** Whether this connection has told. */
  #isStatusNew = false;
  /** The last status that the subscriber was told. */
  #told: FeedStatus | undefined;
  /** The service's clock, by what this connection has told. */
  #clock = new HeardClock();
  /** The receiver's own clock. */
  #now = 0;

  /** What the next connection is to go on after. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** ms between two signs of life; `undefined` while this connection has not told. */
  get heartbeat(): number | undefined {
    return this.#hello?.heartbeat;
  }

  /** A connection begins. */
  connect(): void {
    this.#hello = undefined;
    this.#snapshot = undefined;
    this.#isStatusNew = false;
    this.#clock = new HeardClock();
  }

  /** The connection is lost, or does not come about, for the `failures`th time in a row. */
  lose(lastError: PairstreamError, failures: number): FeedStatus {
    const { coveredFrom, coveredUntil } = this.#status ?? {};
    this.#told = Object.freeze({
      state: "stalled",
      ...(coveredFrom === undefined ? {} : { coveredFrom }),
      ...(coveredUntil === undefined ? {} : { coveredUntil }),
      failures,
      lastError,
    });
    return this.#told;
  }

  /** Takes what has come by `now` of the receiver's own clock. */
  take(messages: readonly ParsedMessage[], now: number): Turn {
    this.#now = now;
    const events: ChannelEvent[] = [];
    try {
      for (const { id, event, data } of messages) {
        const message = readMessage(event, data);
        if (message.name === "complete") return { events, isOver: true };
        if (message.name === "error") return { events, isOver: true, error: fromWireError(message.data) };
        for (const change of this.#takeOne(message)) events.push(change);
        if (id !== undefined) this.#lastEventId = checkId(id);
      }
      return { events, isOver: false };
    } catch (error) {
      if (error instanceof PairstreamError) return { events, isOver: true, error };
      throw error;
    }
  }

  #takeOne(message: ChannelMessage): readonly ChannelEvent[] {
    if (message.name === "hello") return this.#open(message.data);
    if (this.#hello === undefined) throw new ContractError([], `${message.name} before hello`);
    const { keep } = this.#hello;
    const snapshot = this.#snapshot;
    switch (message.name) {
      case "candle": {
        const { data } = message;
        this.#clock.hear(data.received, this.#now);
        if (snapshot === undefined) return this.#seriesOf(data, keep).take(data);
        snapshot.candles.push(data);
        return [];
      }
      case "sniper":
        return this.#pairOf(message.data).take(message.data);
      case "wallet": {
        const { data } = message;
        if (snapshot === undefined) return this.#pairOf(data).takeWallet(data);
        snapshot.wallets.push(data);
        return [];
      }
      case "settled": {
        const { data } = message;
        const { observedAt } = data;
        return "series" in data
          ? this.#seriesOf(data, keep).settle(observedAt)
          : this.#pairOf(data).settle(observedAt);
      }
      case "status":
        this.#status = readStatus(message.data);
        this.#isStatusNew = true;
        return snapshot === undefined ? this.#tell(this.#status) : [];
      case "snapshot":
        this.#snapshot = { places: message.data, candles: [], wallets: [] };
        return [];
      case "ready":
        return this.#getReady(this.#hello);
      default:
        return [];
    }
  }

  #open(hello: DataOf<"hello">): readonly ChannelEvent[] {
    if (this.#hello !== undefined) throw new ContractError(["hello"], "a second one");
    this.#hello = hello;
    if (hello.now !== null) this.#clock.hear(hello.now, this.#now);
    return [];
  }

  #getReady(hello: DataOf<"hello">): readonly ChannelEvent[] {
    const snapshot = this.#snapshot;
    const events: ChannelEvent[] = [];
    if (snapshot !== undefined) {
      const isForeign = hello.channel !== this.#channel;
      this.#snapshot = undefined;
      this.#channel = hello.channel;
      for (const change of this.#adopt(snapshot, hello.keep, isForeign)) events.push(change);
    }
    // A channel that has no status of its own, or none yet, ends a stall all the same.
    const restored = this.#told?.state === "stalled" ? (hello.hasStatus ? STARTING : LIVE) : undefined;
    const status = this.#isStatusNew ? this.#status : restored;
    return status === undefined ? events : [...events, ...this.#tell(status)];
  }

  #adopt({ places, candles, wallets }: Snapshot, keep: number, isForeign: boolean): readonly ChannelEvent[] {
    for (const mirror of this.#series.values()) mirror.restart(keep, isForeign);
    for (const mirror of this.#pairs.values()) mirror.restart();
    const ofSeries = groupBy(candles, ({ series }) => keyOf(series));
    const ofPair = groupBy(wallets, ({ pairAddress }) => pairAddress);
    return [
      ...places.series.flatMap((place) =>
        this.#seriesOf(place, keep).adopt(ofSeries.get(keyOf(place.series)) ?? [], place),
      ),
      ...places.pairs.flatMap((place) =>
        this.#pairOf(place).adopt(ofPair.get(place.pairAddress) ?? [], place),
      ),
    ];
  }

  #tell(status: FeedStatus): readonly FeedStatus[] {
    if (this.#told !== undefined && isSameStatus(this.#told, status)) return [];
    this.#told = status;
    return [status];
  }

  #seriesOf({ series }: Pick<CandleMessage, "series">, keep: number): CandleMirror {
    const key = keyOf(series);
    const mirror = this.#series.get(key) ?? new CandleMirror(series, keep, () => this.#clock.at(this.#now));
    this.#series.set(key, mirror);
    return mirror;
  }

  #pairOf({ pairAddress }: { readonly pairAddress: string }): SniperMirror {
    const mirror = this.#pairs.get(pairAddress) ?? new SniperMirror(pairAddress);
    this.#pairs.set(pairAddress, mirror);
    return mirror;
  }
}

interface Snapshot {
  readonly places: DataOf<"snapshot">;
  readonly candles: CandleMessage[];
  readonly wallets: WalletMessage[];
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
