import type { CandleEvent, CandleStatus } from "../../candles/event.js";
import { isSame } from "../../candles/live/book.js";
import type { Candle, Series, Sniper } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import type { SniperEvent } from "../../snipers/diff.js";
import { toWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import { addressOf, foldWallet, isNews, walletChanges } from "../wire/wallets.js";
import { CandleTable } from "./candle-table.js";
import { ReplayLog } from "./replay-log.js";
import {
  keyOf,
  seriesOf,
  WIRE_VERSION,
  writeCandle,
  writeMessage,
  writeSniper,
  writeStatus,
  writeWallet,
} from "./wire.js";

/** What is sent, as the protocol has it. */
export interface Message {
  readonly text: string;
}

/** What a channel does not change. */
export interface ChannelSettings {
  /** Names this channel among all that there are and were. */
  readonly channel: string;
  /** How many changes can be told again. */
  readonly buffer: number;
  /** How many candles of a series are known. */
  readonly keep: number;
  /** ms. */
  readonly heartbeat: number;
  readonly hasStatus: boolean;
  now(): number;
}

type Entry = CandleEntry | SniperEntry | (Message & { readonly kind: "settled" | "status" });

interface CandleEntry extends Message {
  readonly kind: "candle";
  /** Names the candle among all of the channel. */
  readonly key: string;
  readonly timestamp: number;
}

interface SniperEntry {
  readonly kind: "sniper";
  readonly pair: PairState;
  readonly address: string;
  /** Absent where the change has no event of its own. */
  readonly event?: SniperEvent;
}

interface SeriesState {
  readonly key: string;
  readonly series: Series;
  readonly table: CandleTable<CandleRow>;
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
}

const READY: Message = { text: writeMessage("ready", {}) };

/**
 * What the sources of a channel have told so far, folded, and the last changes by number.
 *
 * Bounded by `keep` candles a series, `buffer` changes and the wallets that there are, however many receivers there
 * may be and however slowly they read.
 */
export class ChannelState {
  readonly #settings: ChannelSettings;
  readonly #log: ReplayLog<Entry>;
  readonly #series = new Map<string, SeriesState>();
  readonly #pairs = new Map<string, PairState>();
  readonly #clock = new HeardClock();
  #status: { readonly isLive: boolean; readonly message: Message } | undefined;
  #ending: Message | undefined;
  /** The last snapshot, which all receivers that come before the next change share. */
  #snapshot: { readonly head: number; readonly batch: readonly Message[] } | undefined;
  /** The last text of a sniper event, for which every connection asks in turn. */
  #sniperText: { readonly event: SniperEvent; readonly text: string } | undefined;

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
    this.#log = new ReplayLog(settings.buffer);
  }

  /** The number of the last change. */
  get head(): number {
    return this.#log.head;
  }

  /** What is sent last; absent while the sources go on. */
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
    // A close that is handed over after a history may be live, while the running candle is still to come.
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

  /** `true` where it is the first of its pair, which is to be settled once all that come with it have been taken. */
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
      const changes = walletChanges(listOf(before), listOf(after), event);
      if (changes.events.length === 0) return;
      this.#log.append({ kind: "sniper", pair, address });
    }
    if (after === undefined) pair.wallets.delete(address);
    else pair.wallets.set(address, after);
  }

  /** Says that the first report about the snipers of a pair has been told to its end. */
  settlePair(pairAddress: string): void {
    const pair = this.#pairs.get(pairAddress);
    if (pair === undefined || pair.isSettled) return;
    pair.isSettled = true;
    const { observedAt } = pair;
    this.#log.append({ kind: "settled", text: writeMessage("settled", { pairAddress, observedAt }) });
  }

  takeStatus(status: FeedStatus): void {
    const isLive = status.state === "live";
    if (isLive) for (const series of this.#series.values()) this.#settleSeries(series);
    const message = { kind: "status", text: writeStatus(status) } as const;
    this.#status = { isLive, message };
    this.#log.append(message);
  }

  /** Ends the channel, with an error where there is one. */
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

  /** The number of the change after which a `Last-Event-ID` asks to go on; `undefined` where that cannot be done. */
  resumable(lastEventId: string | null): number | undefined {
    const { channel } = this.#settings;
    if (!lastEventId?.startsWith(`${channel}-`)) return undefined;
    const digits = lastEventId.slice(channel.length + 1);
    const number = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
    return number === undefined || this.#log.after(number) === undefined ? undefined : number;
  }

  /**
   * What has changed since the change of a number: of each candle and each wallet the last, candles ascending, then
   * wallets, then the status. `undefined` where the log does not reach back so far.
   *
   * As with all that follows, the last message carries the id of the state to which they lead.
   */
  since(number: number): readonly Message[] | undefined {
    const entries = this.#log.after(number);
    return entries === undefined ? undefined : this.#identified(this.#conflate(entries));
  }

  /** The same for a receiver that has just connected, which is told the status in any case, and where this ends. */
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

  #conflate(entries: readonly Entry[]): Message[] {
    const candles = new Map<string, CandleEntry>();
    const wallets = new Map<PairState, Map<string, Message>>();
    const settled: Message[] = [];
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
          // What has changed more than once is told as it now is.
          const isFirst = !ofPair.delete(address);
          ofPair.set(address, isFirst ? this.#messageOf(entry) : this.#walletNow(pair, address));
          break;
        }
        case "settled":
          settled.push(entry);
          break;
        case "status":
          status = entry;
          break;
      }
    }
    return [
      ...[...candles.values()].sort((a, b) => a.timestamp - b.timestamp),
      ...[...wallets.values()].flatMap((ofPair) => [...ofPair.values()]),
      ...settled,
      ...listOf(status),
    ];
  }

  #wholeState(): Message[] {
    const series = [...this.#series.values()];
    const pairs = [...this.#pairs.values()];
    const opening = writeMessage("snapshot", {
      series: series.map(({ series, table, observedAt, isSettled }) => {
        return { series, after: table.after ?? null, observedAt, isSettled };
      }),
      pairs: pairs.map(({ pairAddress, observedAt, isSettled }) => ({ pairAddress, observedAt, isSettled })),
    });
    return [
      { text: opening },
      ...series.flatMap(({ table }) => table.rows.map(({ message }) => message)),
      ...pairs.flatMap((pair) => [...pair.wallets.keys()].map((address) => this.#walletNow(pair, address))),
      ...listOf(this.#status?.message),
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
    const key = keyOf(series);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const table = new CandleTable<CandleRow>(this.#settings.keep);
    const state: SeriesState = { key, series: seriesOf(series), table, observedAt, isSettled: false };
    this.#series.set(key, state);
    if (this.#status?.isLive) this.#settleSeries(state);
    return state;
  }

  #settleSeries(state: SeriesState): void {
    if (state.isSettled) return;
    state.isSettled = true;
    const { series, observedAt } = state;
    this.#log.append({ kind: "settled", text: writeMessage("settled", { series, observedAt }) });
  }

  #pairOf({ pairAddress, observedAt }: SniperEvent): PairState {
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

function listOf<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
