import type { CandleEvent } from "../../candles/event.js";
import { ReaderFold } from "../../candles/reader-fold.js";
import type { Series } from "../../contract/model.js";
import { HeardClock } from "../wire/heard-clock.js";
import type { Part } from "./mirror.js";
import type { ChannelMessage, DataOf } from "./wire.js";

/** How many candles the subscriber's fold holds for each that the channel keeps: those from before a fresh start find room. */
const ROOM = 2;

/** A series as the subscriber of a receiver knows it, across connections. */
export class CandleMirror implements Part<CandleEvent> {
  readonly #fold: ReaderFold;
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
    this.#fold = new ReaderFold(series, Infinity, () => this.#clock.at(this.#now));
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

  #apply({ isRemoved, ...row }: DataOf<"candle">): CandleEvent[] {
    const isNews = this.#isTold || row.received > this.#connectedAt;
    const seen = { ...row, live: row.live && isNews };
    const event = isRemoved ? this.#fold.remove(row.candle.timestamp, seen) : this.#fold.take(seen);
    return event === undefined ? [] : [event];
  }

  /**
   * The events that lead to the state of a channel, which may be another one than before, ascending. Candles from before its
   * beginning stay if the two meet, so that there is never a hole.
   */
  #adopt(): readonly CandleEvent[] {
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return [];
    const { from, keep, observedAt, settle, rows } = snapshot;
    this.#snapshot = undefined;
    this.#fold.closesAfter = settle ?? Infinity;
    // All candles of the channel have to find room beside those that are known already.
    this.#fold.resize(keep);
    this.#fold.resize(ROOM * keep);
    this.#fold.doubt();
    const isMeeting = (this.#fold.newest?.candle.timestamp ?? -Infinity) >= from - 1;
    const doubtful = isMeeting ? from : -Infinity;
    const events = rows.flatMap((row) =>
      this.#fold.settle({ from: doubtful, until: row.candle.timestamp }, observedAt).concat(this.#apply(row)),
    );
    const all = events.concat(this.#fold.settle({ from: doubtful }, observedAt));
    this.#isTold = true;
    return newestCloseAlone(all);
  }
}

/** If several closes are told at once, only the newest is live. */
function newestCloseAlone(events: readonly CandleEvent[]): CandleEvent[] {
  const isClose = ({ type, status }: CandleEvent) => type !== "removed" && status !== "open";
  const newest = events.findLast(isClose);
  return events.map((event) =>
    event.live && isClose(event) && event !== newest ? Object.freeze({ ...event, live: false }) : event,
  );
}
