import type { Candle } from "../../contract/model.js";
import { type AnyPairstreamError, ContractError, PairstreamError } from "../../errors.js";
import { type FeedStatus, isSameStatus } from "../../feed-status.js";
import type { SniperLook, SniperQueried } from "../../snipers/look.js";
import type { ReportHead } from "../../snipers/view.js";
import { fromWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import { CandleMirror } from "./candle-mirror.js";
import type { ChannelEvent } from "./events.js";
import { SniperMirror } from "./sniper-mirror.js";
import {
  type CandleMessage,
  type ChannelMessage,
  type DataOf,
  readMessage,
  readStatus,
  seriesKeyOf,
  type WalletMessage,
} from "./wire.js";

/** A message, as the parser of the protocol gives it. */
export interface ParsedMessage {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

/** What a subscriber gets: the events of the channel, and looks if it has asked for them. */
export type MirrorEvent = ChannelEvent | SniperLook;

export function isChannelEvent(event: MirrorEvent): event is ChannelEvent {
  return !("report" in event);
}

/** The result of some messages. */
export interface Turn {
  readonly events: readonly MirrorEvent[];
  /** Whether nothing more will come, with the error if that is the reason. */
  readonly isOver: boolean;
  readonly error?: PairstreamError;
}

/**
 * Where what is told begins, by what a channel has for a subscriber who comes to it: its candles, ascending, whose history
 * is complete. `now`: the service's clock.
 */
export type StartRule = (candles: readonly Candle[], now: number) => number;

/** What one subscriber asks of a mirror besides the events. */
export interface MirrorRules {
  /** Where what is told begins; default: with all that the channel has. */
  readonly startAt?: StartRule | undefined;
  /** The snipers of which looks are told. */
  readonly looksOf?: SniperQueried | undefined;
}

export const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });
const LIVE: FeedStatus = Object.freeze({ state: "live", failures: 0 });

/** The longest id of a message, in characters; a channel's ids have about forty. */
const LONGEST_ID = 200;

/** Refuses an id that a request could not send back in its header. */
function checkId(id: string): string {
  if (id.length <= LONGEST_ID && /^[ -~]*$/.test(id)) return id;
  throw new ContractError(["id"], `not 1 to ${LONGEST_ID} visible ASCII characters`);
}

/** The channel as the subscriber of a receiver knows it, across connections. */
export class Mirror {
  readonly #series = new Map<string, CandleMirror>();
  readonly #pairs = new Map<string, SniperMirror>();
  #lastEventId: string | undefined;
  /** The channel whose state this is. */
  #channel: string | undefined;
  /** The first message of this connection. */
  #hello: DataOf<"hello"> | undefined;
  /** The part of an incomplete snapshot that has come so far. */
  #snapshot: Snapshot | undefined;
  /** The last known status of the channel's stream. */
  #status: FeedStatus | undefined;
  /** Whether this connection has sent a status. */
  #isStatusNew = false;
  /** The last status that the subscriber got. */
  #told: FeedStatus | undefined;
  /** The service's clock, as far as this connection has told it. */
  #clock = new HeardClock();
  /** The receiver's own clock. */
  #now = 0;
  readonly #startAt: StartRule;
  readonly #looksOf: SniperQueried | undefined;
  /** No older candle is told; `undefined` until the first state has come. */
  #start: number | undefined;

  constructor({ startAt = () => -Infinity, looksOf }: MirrorRules = {}) {
    this.#startAt = startAt;
    this.#looksOf = looksOf;
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
    this.#snapshot = undefined;
    this.#isStatusNew = false;
    this.#clock = new HeardClock();
  }

  /** Notes that a connection was lost or could not be made, for the `failures`th time in a row. */
  lose(lastError: PairstreamError, failures: number): FeedStatus {
    const { coveredFrom, coveredUntil } = this.#status ?? {};
    this.#told = Object.freeze({
      state: "stalled",
      ...(coveredFrom === undefined ? {} : { coveredFrom }),
      ...(coveredUntil === undefined ? {} : { coveredUntil }),
      failures,
      lastError: lastError as AnyPairstreamError,
    });
    return this.#told;
  }

  /** Takes messages that have come by `now` on the receiver's own clock. */
  take(messages: readonly ParsedMessage[], now: number): Turn {
    this.#now = now;
    const events: MirrorEvent[] = [];
    try {
      for (const { id, event, data } of messages) {
        const message = readMessage(event, data);
        if (message.name === "complete") return { events, isOver: true };
        if (message.name === "error") return { events, isOver: true, error: fromWireError(message.data) };
        for (const change of this.#takeOne(message)) if (this.#isTold(change)) events.push(change);
        if (id !== undefined) this.#lastEventId = checkId(id);
      }
      return { events, isOver: false };
    } catch (error) {
      if (error instanceof PairstreamError) return { events, isOver: true, error };
      throw error;
    }
  }

  #isTold(event: MirrorEvent): boolean {
    return !("series" in event) || event.candle.timestamp >= (this.#start ?? -Infinity);
  }

  #takeOne(message: ChannelMessage): readonly MirrorEvent[] {
    if (message.name === "hello") return this.#open(message.data);
    if (this.#hello === undefined)
      throw new ContractError([], `a message "${message.name}" came before hello`);
    const { keep } = this.#hello;
    const snapshot = this.#snapshot;
    switch (message.name) {
      case "candle": {
        const { data } = message;
        if (snapshot !== undefined) {
          // When the channel got these tells nothing of how long they were on their way.
          snapshot.candles.push(data);
          return [];
        }
        this.#clock.hear(data.received, this.#now);
        return this.#seriesOf(data, keep).take(data);
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
          : [...this.#pairOf(data).settle(observedAt), ...this.#lookAt(data)];
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
    if (this.#hello !== undefined) throw new ContractError(["hello"], "a second hello came");
    this.#hello = hello;
    if (hello.now !== null) this.#clock.hear(hello.now, this.#now);
    return [];
  }

  #getReady(hello: DataOf<"hello">): readonly MirrorEvent[] {
    const snapshot = this.#snapshot;
    const events: MirrorEvent[] = [];
    if (snapshot !== undefined) {
      this.#start ??= this.#startOf(snapshot, hello);
      const isForeign = hello.channel !== this.#channel;
      this.#snapshot = undefined;
      this.#channel = hello.channel;
      for (const change of this.#adopt(snapshot, hello.keep, isForeign)) events.push(change);
    }
    // A channel without a status, or without one yet, still ends a stall.
    const restored = this.#told?.state === "stalled" ? (hello.hasStatus ? STARTING : LIVE) : undefined;
    const status = this.#isStatusNew ? this.#status : restored;
    return status === undefined ? events : [...events, ...this.#tell(status)];
  }

  /** A channel whose history is not complete has begun with this subscriber, or just before: it has nothing older. */
  #startOf({ places, candles }: Snapshot, { now }: DataOf<"hello">): number {
    const isComplete = now !== null && places.series.some(({ isSettled }) => isSettled);
    if (!isComplete) return -Infinity;
    return this.#startAt(
      candles.map(({ candle }) => candle),
      now,
    );
  }

  /** A look, if looks are told and this one is of them. */
  #lookAt(place: LookEnd): readonly SniperLook[] {
    const query = this.#looksOf;
    if (query?.pairAddress !== place.pairAddress) return [];
    return this.#pairOf(place).look(query, place.head, place.observedAt);
  }

  #adopt({ places, candles, wallets }: Snapshot, keep: number, isForeign: boolean): readonly MirrorEvent[] {
    for (const mirror of this.#series.values()) mirror.restart(keep, isForeign);
    for (const mirror of this.#pairs.values()) mirror.restart();
    const ofSeries = groupBy(candles, ({ series }) => seriesKeyOf(series));
    const ofPair = groupBy(wallets, ({ pairAddress }) => pairAddress);
    return [
      ...places.series.flatMap((place) =>
        this.#seriesOf(place, keep).adopt(ofSeries.get(seriesKeyOf(place.series)) ?? [], place),
      ),
      ...places.pairs.flatMap((place) => [
        ...this.#pairOf(place).adopt(ofPair.get(place.pairAddress) ?? [], place),
        // Reports that have changed nothing since are told by the status alone.
        ...(place.isSettled
          ? this.#lookAt({ ...place, observedAt: Math.max(place.observedAt, this.#lastReportAt) })
          : []),
      ]),
    ];
  }

  /** When the last report was made of which this connection has told. */
  get #lastReportAt(): number {
    return (this.#isStatusNew ? this.#status?.coveredUntil : undefined) ?? -Infinity;
  }

  #tell(status: FeedStatus): readonly FeedStatus[] {
    if (this.#told !== undefined && isSameStatus(this.#told, status)) return [];
    this.#told = status;
    return [status];
  }

  #seriesOf({ series }: Pick<CandleMessage, "series">, keep: number): CandleMirror {
    const key = seriesKeyOf(series);
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

/** Where a look ends. */
interface LookEnd {
  readonly pairAddress: string;
  readonly observedAt: number;
  readonly head?: ReportHead | undefined;
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
