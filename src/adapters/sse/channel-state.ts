import type { CandleEvent, CandleStatus } from "../../candles/event.js";
import { isSame } from "../../candles/event.js";
import type { Candle, Series, Sniper } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/event.js";
import type { SniperLook } from "../../snipers/look.js";
import type { ReportHead } from "../../snipers/view.js";
import { toWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import { addressOf, foldWallet, isNews, walletChanges } from "../wire/wallets.js";
import { CandleRows } from "./candle-rows.js";
import { ReplayLog } from "./replay-log.js";
import {
  seriesKeyOf,
  seriesOf,
  WIRE_VERSION,
  writeCandle,
  writeMessage,
  writeSniper,
  writeStatus,
  writeWallet,
} from "./wire.js";

/** A message in the text format of the protocol. */
export interface Message {
  readonly text: string;
}

/** The settings of a channel, which never change. */
export interface ChannelSettings {
  /** Identifies this channel among all channels, past ones included. */
  readonly channel: string;
  /** How many changes can be sent again. */
  readonly buffer: number;
  /** How many candles of a series the channel keeps. */
  readonly keep: number;
  /** Time between two heartbeats, in ms. */
  readonly heartbeat: number;
  readonly hasStatus: boolean;
  now(): number;
}

type ChannelEntry = ChannelCandle | SniperEntry | SettledEntry | (Message & { readonly kind: "status" });

interface SettledEntry extends Message {
  readonly kind: "settled";
  /** Identifies the series or the pair among all of the channel. */
  readonly key: string;
}

interface ChannelCandle extends Message {
  readonly kind: "candle";
  /** Identifies the candle among all candles of the channel. */
  readonly key: string;
  readonly timestamp: number;
}

interface SniperEntry {
  readonly kind: "sniper";
  readonly pair: PairState;
  readonly address: string;
  /** Absent if the change has no event of its own. */
  readonly event?: SniperEvent;
}

interface SeriesState {
  readonly key: string;
  readonly series: Series;
  readonly table: CandleRows<CandleRow>;
  /** The instant of the last event. */
  observedAt: number;
  /** Whether its history has been delivered. */
  isSettled: boolean;
}

interface CandleRow {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly life: number;
  readonly message: Message;
}

interface PairState {
  readonly pairAddress: string;
  readonly wallets: Map<string, Sniper>;
  /** The instant of the last event. */
  observedAt: number;
  /** Whether its first report has been delivered. */
  isSettled: boolean;
  /** What the last look says of the pair itself; absent where there are no looks. */
  head?: ReportHead;
}

const READY: Message = { text: writeMessage("ready", {}) };

/**
 * The present state of a channel's sources, and its last changes by number.
 *
 * Its size is bounded by `keep` candles per series, `buffer` changes and the number of wallets. It does not depend on
 * how many receivers there are or how slowly they read.
 */
export class ChannelState {
  readonly #settings: ChannelSettings;
  readonly #log: ReplayLog<ChannelEntry>;
  readonly #series = new Map<string, SeriesState>();
  readonly #pairs = new Map<string, PairState>();
  readonly #clock = new HeardClock();
  #status: { readonly isLive: boolean; readonly message: Message } | undefined;
  #ending: Message | undefined;
  /** The last snapshot. All receivers that connect before the next change share it. */
  #snapshot: { readonly head: number; readonly batch: readonly Message[] } | undefined;
  /** The text of the last sniper event, kept because every connection asks for it in turn. */
  #sniperText: { readonly event: SniperEvent; readonly text: string } | undefined;

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
    this.#log = new ReplayLog(settings.buffer);
  }

  /** The number of the last change. */
  get head(): number {
    return this.#log.head;
  }

  /** The last message; absent while the sources go on. */
  get ending(): Message | undefined {
    return this.#ending;
  }

  takeCandle(event: CandleEvent): void {
    const { candle, status } = event;
    const { timestamp } = candle;
    const known = this.#seriesOf(event);
    const { key, series, table } = known;
    known.observedAt = event.observedAt;
    const now = this.#settings.now();
    this.#clock.hear(event.observedAt, now);
    const received = this.#clock.at(now);
    // After a history, a close may be live although the running candle is still to come.
    if (event.live && (status === "open" || event.lateBy === 0)) this.#settleSeries(known);
    const row = table.get(timestamp);
    if (event.type === "removed") {
      if (row === undefined) return;
      table.delete(timestamp);
      const text = writeCandle(event, "removed", row.life, received);
      this.#log.append({ kind: "candle", key: `${key} ${timestamp}`, timestamp, text });
      return;
    }
    if (table.isForgotten(timestamp)) return;
    if (row !== undefined && row.status === status && isSame(row.candle, candle)) return;
    const life = row?.life ?? this.#log.head + 1;
    const type = row === undefined ? "new" : "updated";
    const text = writeCandle({ ...event, series }, type, life, received);
    const message = { kind: "candle", key: `${key} ${timestamp}`, timestamp, text } as const;
    table.set({ candle, status, life, message });
    if (!table.isForgotten(timestamp)) this.#log.append(message);
  }

  /**
   * Returns `true` for the first event of a pair. Then `settlePair` has to be called once all events of the same report
   * are taken.
   */
  takeSniper(event: SniperEvent): boolean {
    const isFirst = !this.#pairs.has(event.pairAddress);
    this.#foldSniper(this.#pairOf(event), event);
    return isFirst;
  }

  #foldSniper(pair: PairState, event: SniperEvent): void {
    const address = addressOf(event);
    const before = pair.wallets.get(address);
    const after = foldWallet(before, event);
    pair.observedAt = event.observedAt;
    if (isNews(before, event)) {
      this.#log.append({ kind: "sniper", pair, address, event });
    } else {
      const changes = walletChanges(oneOrNone(before), oneOrNone(after), event);
      if (changes.events.length === 0) return;
      this.#log.append({ kind: "sniper", pair, address });
    }
    if (after === undefined) pair.wallets.delete(address);
    else pair.wallets.set(address, after);
  }

  /** Notes that the first report about the snipers of a pair is complete. */
  settlePair(pairAddress: string): void {
    const pair = this.#pairs.get(pairAddress);
    if (pair === undefined || pair.isSettled) return;
    pair.isSettled = true;
    this.#appendSettled(pair);
  }

  /** Takes all that a look tells, as its events do, and marks its end. */
  takeLook({ pairAddress, report, events, observedAt }: SniperLook): void {
    const pair = this.#pairOf({ pairAddress, observedAt });
    for (const event of events) this.#foldSniper(pair, event);
    const { blockNumber, blockTimestamp, transactionHash } = report;
    pair.head = { blockNumber, blockTimestamp, transactionHash };
    pair.observedAt = observedAt;
    pair.isSettled = true;
    this.#appendSettled(pair);
  }

  #appendSettled({ pairAddress, observedAt, head }: PairState): void {
    const text = writeMessage("settled", { pairAddress, observedAt, head });
    this.#log.append({ kind: "settled", key: pairAddress, text });
  }

  takeStatus(status: FeedStatus): void {
    const isLive = status.state === "live";
    if (isLive) for (const series of this.#series.values()) this.#settleSeries(series);
    const message = { kind: "status", text: writeStatus(status) } as const;
    this.#status = { isLive, message };
    this.#log.append(message);
  }

  /** Ends the channel, with an error if there is one. */
  end(ending: { error: unknown } | "complete"): void {
    if (ending === "complete") {
      for (const series of this.#series.values()) this.#settleSeries(series);
      for (const pairAddress of this.#pairs.keys()) this.settlePair(pairAddress);
    }
    const text =
      ending === "complete" ? writeMessage("complete", {}) : writeMessage("error", toWireError(ending.error));
    this.#ending = { text };
  }

  hello(isResumed: boolean): Message {
    const { channel, heartbeat, keep, hasStatus } = this.#settings;
    const heard = this.#clock.at(this.#settings.now());
    const now = Number.isFinite(heard) ? heard : null;
    const rest = { channel, heartbeat, keep, hasStatus, isResumed, now };
    return { text: writeMessage("hello", { version: WIRE_VERSION, ...rest }) };
  }

  /** The number of the change after which a `Last-Event-ID` asks to go on; `undefined` if that is not possible. */
  resumable(lastEventId: string | null): number | undefined {
    const { channel } = this.#settings;
    if (!lastEventId?.startsWith(`${channel}-`)) return undefined;
    const digits = lastEventId.slice(channel.length + 1);
    const number = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
    return number === undefined || this.#log.after(number) === undefined ? undefined : number;
  }

  /**
   * The changes since the change with this number. Of each candle and each wallet it gives only the last change:
   * candles ascending, then wallets, then what is settled, then the status. It is `undefined` if the log does not reach
   * back that far.
   *
   * As in the methods below, the last message carries the id of the state to which the messages lead.
   */
  since(number: number): readonly Message[] | undefined {
    const entries = this.#log.after(number);
    return entries === undefined ? undefined : this.#identified(this.#conflate(entries));
  }

  /** The same for a receiver that has just connected. It always gets the status, and a message that marks the end. */
  resume(number: number): readonly Message[] {
    const messages = this.#conflate(this.#log.after(number) ?? []);
    const status = this.#status?.message;
    if (status !== undefined && messages.at(-1) !== status) messages.push(status);
    return this.#identified([...messages, READY]);
  }

  /** The whole state. */
  snapshot(): readonly Message[] {
    const { head } = this.#log;
    if (this.#snapshot?.head !== head) {
      this.#snapshot = { head, batch: this.#identified(this.#wholeState()) };
    }
    return this.#snapshot.batch;
  }

  /** Puts the id of the present state on the last of some messages. */
  #identified(messages: Message[]): readonly Message[] {
    const last = messages.pop();
    const id = `${this.#settings.channel}-${this.#log.head}`;
    if (last !== undefined) messages.push(lazily(() => `id: ${id}\n${last.text}`));
    return messages;
  }

  #conflate(entries: readonly ChannelEntry[]): Message[] {
    const candles = new Map<string, ChannelCandle>();
    const wallets = new Map<PairState, Map<string, Message>>();
    const settled = new Map<string, Message>();
    let status: Message | undefined;
    for (const entry of entries) {
      switch (entry.kind) {
        case "candle":
          candles.set(entry.key, entry);
          break;
        case "sniper": {
          const { pair, address } = entry;
          const ofPair = wallets.get(pair) ?? new Map<string, Message>();
          wallets.set(pair, ofPair);
          // If a wallet has changed more than once, only its present state is sent.
          const isFirst = !ofPair.delete(address);
          ofPair.set(address, isFirst ? this.#messageOf(entry) : this.#walletNow(pair, address));
          break;
        }
        case "settled":
          settled.set(entry.key, entry);
          break;
        case "status":
          status = entry;
          break;
      }
    }
    return [
      ...[...candles.values()].sort((a, b) => a.timestamp - b.timestamp),
      ...[...wallets.values()].flatMap((ofPair) => [...ofPair.values()]),
      ...settled.values(),
      ...oneOrNone(status),
    ];
  }

  #wholeState(): Message[] {
    const series = [...this.#series.values()];
    const pairs = [...this.#pairs.values()];
    const opening = writeMessage("snapshot", {
      series: series.map(({ series, table, observedAt, isSettled }) => {
        return { series, after: table.after ?? null, observedAt, isSettled };
      }),
      pairs: pairs.map(({ pairAddress, observedAt, isSettled, head }) => {
        return { pairAddress, observedAt, isSettled, head };
      }),
    });
    return [
      { text: opening },
      ...series.flatMap(({ table }) => table.rows.map(({ message }) => message)),
      ...pairs.flatMap((pair) => [...pair.wallets.keys()].map((address) => this.#walletNow(pair, address))),
      ...oneOrNone(this.#status?.message),
      READY,
    ];
  }

  #messageOf({ pair, address, event }: SniperEntry): Message {
    return event === undefined ? this.#walletNow(pair, address) : lazily(() => this.#textOf(event));
  }

  /** The wallet as of now, whenever it is sent. */
  #walletNow({ pairAddress, wallets, observedAt }: PairState, walletAddress: string): Message {
    const wallet = wallets.get(walletAddress) ?? null;
    return lazily(() => writeWallet({ pairAddress, walletAddress, wallet, observedAt }));
  }

  #textOf(event: SniperEvent): string {
    if (this.#sniperText?.event !== event) this.#sniperText = { event, text: writeSniper(event) };
    return this.#sniperText.text;
  }

  #seriesOf({ series, observedAt }: CandleEvent): SeriesState {
    const key = seriesKeyOf(series);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const table = new CandleRows<CandleRow>(this.#settings.keep);
    const state: SeriesState = { key, series: seriesOf(series), table, observedAt, isSettled: false };
    this.#series.set(key, state);
    if (this.#status?.isLive) this.#settleSeries(state);
    return state;
  }

  #settleSeries(state: SeriesState): void {
    if (state.isSettled) return;
    state.isSettled = true;
    const { series, observedAt } = state;
    const text = writeMessage("settled", { series, observedAt });
    this.#log.append({ kind: "settled", key: state.key, text });
  }

  #pairOf({ pairAddress, observedAt }: Pick<SniperEvent, "pairAddress" | "observedAt">): PairState {
    const known = this.#pairs.get(pairAddress);
    if (known !== undefined) return known;
    const state: PairState = { pairAddress, wallets: new Map(), observedAt, isSettled: false };
    this.#pairs.set(pairAddress, state);
    return state;
  }
}

function lazily(write: () => string): Message {
  return {
    get text() {
      return write();
    },
  };
}

function oneOrNone<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
