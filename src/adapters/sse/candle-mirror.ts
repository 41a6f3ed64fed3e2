import type { CandleEvent } from "../../candles/event.js";
import { atOnce, ReaderFold, type Seen } from "../../candles/reader-fold.js";
import type { Series } from "../../contract/model.js";
import { HeardClock } from "../wire/heard-clock.js";
import type { Part } from "./mirror.js";
import type { ChannelMessage, DataOf } from "./wire.js";

/** How many candles the subscriber's fold holds for each that the channel keeps: those from before a fresh start find room. */
const ROOM = 2;

/** A series as the subscriber of a receiver knows it, across connections. */
export class CandleMirror implements Part<CandleEvent> {
  readonly fold: ReaderFold;
  /** All candles from here on are known. */
  from = -Infinity;
  /** How long after its end a candle of the channel is due as closed, in ms. */
  #settle: number | undefined;
  /** What has come so far of what is told at once. */
  #snapshot: DataOf<"snapshot"> | undefined;
  #rows: DataOf<"candle">[] = [];
  /** Whether a whole state was told. */
  #isTold = false;
  /** The channel's clock when this connection began; `-Infinity`: it had not begun itself. */
  #connectedAt = -Infinity;
  /** The service's clock, as far as this connection has told it. */
  #clock = new HeardClock();
  /** The receiver's own clock. */
  #now = 0;

  constructor(series: Series) {
    this.fold = new ReaderFold(series, Infinity, () => this.now);
  }

  /** The service's clock. */
  get now(): number {
    return this.#clock.at(this.#now);
  }

  connect(): void {
    this.#snapshot = undefined;
    this.#rows = [];
    this.#clock = new HeardClock();
  }

  take(message: ChannelMessage, now: number, isEnd: boolean): readonly CandleEvent[] {
    this.#now = now;
    if (message.name === "hello") {
      this.#connectedAt = message.data.now ?? -Infinity;
      this.#hear(message.data.now);
    } else if (message.name === "snapshot") {
      this.#hear(message.data.now);
      this.#snapshot = message.data;
    } else if (message.name === "candle") {
      // When the channel got those of a snapshot tells nothing of how long they were on their way.
      if (this.#snapshot === undefined) this.#hear(message.data.received);
      this.#rows.push(message.data);
    }
    return isEnd ? this.#tell() : [];
  }

  #hear(service: number | null): void {
    if (service !== null) this.#clock.hear(service, this.#now);
  }

  /** The events of what has come at once. */
  #tell(): readonly CandleEvent[] {
    const { fold } = this;
    const snapshot = this.#snapshot;
    this.#settle = snapshot?.settle ?? this.#settle;
    const isNews = ({ received }: DataOf<"candle">) => this.#isTold || received > this.#connectedAt;
    const rows = this.#rows.map((row) => ({ ...row, live: row.live && isNews(row) }));
    const told = atOnce(fold, rows, this.#settle);
    this.#rows = [];
    this.#snapshot = undefined;
    if (snapshot !== undefined) return this.#adopt(snapshot, told);
    return told.flatMap((row) => fold.take(row) ?? []);
  }

  /**
   * The events that lead to the state of a channel, which may be another one than before. Candles from before its beginning
   * stay if the two meet, so that there is never a hole.
   */
  #adopt({ from, keep, observedAt }: DataOf<"snapshot">, candles: readonly Seen[]): readonly CandleEvent[] {
    const { fold } = this;
    // All candles of the channel have to find room beside those that are known already.
    fold.resize(keep);
    fold.resize(ROOM * keep);
    const isMeeting = (fold.newest?.candle.timestamp ?? -Infinity) >= from - 1;
    if (!isMeeting) this.from = from;
    this.#isTold = true;
    return adopted(fold, isMeeting ? from : -Infinity, candles, observedAt);
  }
}

/** The events that lead to these candles, ascending: of those from an instant on, all others are gone. */
export function adopted(
  fold: ReaderFold,
  from: number,
  candles: readonly Seen[],
  observedAt: number,
): readonly CandleEvent[] {
  fold.doubt();
  const events: (CandleEvent | undefined)[] = [];
  for (const seen of candles) {
    const { timestamp } = seen.candle;
    events.push(...fold.settle({ from, until: timestamp }, observedAt), fold.take(seen));
    from = timestamp;
  }
  events.push(...fold.settle({ from }, observedAt));
  return events.filter((event) => event !== undefined);
}
