import type { CandleEvent } from "../../candles/event.js";
import { dueIn, ReaderFold, type Seen } from "../../candles/reader-fold.js";
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
  /** The part of a snapshot that has come so far. */
  #snapshot: (DataOf<"snapshot"> & { readonly rows: DataOf<"candle">[] }) | undefined;
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
    this.#clock = new HeardClock();
  }

  take(message: ChannelMessage, now: number): readonly CandleEvent[] {
    this.#now = now;
    switch (message.name) {
      case "hello":
        this.#connectedAt = message.data.now ?? -Infinity;
        this.#hear(message.data.now);
        return [];
      case "snapshot":
        this.#hear(message.data.now);
        this.#snapshot = { ...message.data, rows: [] };
        return [];
      case "candle": {
        const { data } = message;
        if (this.#snapshot === undefined) {
          this.#hear(data.received);
          return this.#apply(data);
        }
        // When the channel got these tells nothing of how long they were on their way.
        this.#snapshot.rows.push(data);
        return [];
      }
      case "ready":
        return this.#adopt();
      default:
        return [];
    }
  }

  #hear(service: number | null): void {
    if (service !== null) this.#clock.hear(service, this.#now);
  }

  #apply(row: DataOf<"candle">): readonly CandleEvent[] {
    const seen = this.#seen(row);
    const event = row.isRemoved ? this.fold.remove(row.candle.timestamp, seen) : this.fold.take(seen);
    return event === undefined ? [] : [event];
  }

  #seen(row: DataOf<"candle">): Seen {
    const isNews = this.#isTold || row.received > this.#connectedAt;
    return { ...row, due: dueIn(this.fold, row, this.#settle), live: row.live && isNews };
  }

  /**
   * The events that lead to the state of a channel, which may be another one than before. Candles from before its beginning
   * stay if the two meet, so that there is never a hole.
   */
  #adopt(): readonly CandleEvent[] {
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return [];
    const { from, keep, observedAt, settle, rows } = snapshot;
    this.#snapshot = undefined;
    const { fold } = this;
    this.#settle = settle;
    // All candles of the channel have to find room beside those that are known already.
    fold.resize(keep);
    fold.resize(ROOM * keep);
    const isMeeting = (fold.newest?.candle.timestamp ?? -Infinity) >= from - 1;
    if (!isMeeting) this.from = from;
    const seen = rows.map((row) => this.#seen(row));
    this.#isTold = true;
    return adopted(fold, isMeeting ? from : -Infinity, seen, observedAt);
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
  return newestCloseAlone(events.filter((event) => event !== undefined));
}

/** If several closes are told at once, only the newest is live. */
function newestCloseAlone(events: readonly CandleEvent[]): CandleEvent[] {
  const isClose = ({ type, status }: CandleEvent) => type !== "removed" && status !== "open";
  const newest = events.findLast(isClose);
  return events.map((event) =>
    event.live && isClose(event) && event !== newest ? Object.freeze({ ...event, live: false }) : event,
  );
}
