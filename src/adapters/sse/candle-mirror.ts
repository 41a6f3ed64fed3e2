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
  /** The channel's clock when this connection began; `null`: it had not begun itself. */
  #connectedAt: number | null = null;
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
        this.#connectedAt = message.data.now;
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

  #apply(row: DataOf<"candle">): CandleEvent[] {
    const { candle, isRemoved, status, revision, due, received, observedAt } = row;
    const isNews = this.#isTold || this.#connectedAt === null || received > this.#connectedAt;
    const live = row.live && isNews;
    const seen = { candle, status, revision, live, due, received, observedAt };
    const event = isRemoved ? this.#fold.remove(candle.timestamp, seen) : this.#fold.take(seen);
    return event === undefined ? [] : [event];
  }

  /**
   * The events that lead to the state of a channel, which may be another one than before, ascending. Candles from before its
   * beginning stay if the two meet, so that there is never a hole.
   */
  #adopt(): readonly CandleEvent[] {
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return [];
    const { from, keep, observedAt, rows } = snapshot;
    this.#snapshot = undefined;
    // All candles of the channel have to find room beside those that are known already.
    this.#fold.resize(keep);
    this.#fold.resize(ROOM * keep);
    this.#fold.doubt();
    const isMeeting = (this.#fold.newest?.candle.timestamp ?? -Infinity) >= from - 1;
    const doubtful = isMeeting ? from : -Infinity;
    const events = rows.flatMap((row) => [
      ...this.#fold.settle({ from: doubtful, until: row.candle.timestamp }, observedAt),
      ...this.#apply(row),
    ]);
    events.push(...this.#fold.settle({ from: doubtful }, observedAt));
    this.#isTold = true;
    return newestCloseAlone(events);
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
