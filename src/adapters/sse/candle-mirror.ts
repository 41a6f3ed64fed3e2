import { type CandleEvent, type CandleStatus, frozenEvent, isSame, laterOf } from "../../candles/event.js";
import type { Candle, Series } from "../../contract/model.js";
import { toldAt } from "../wire/due.js";
import { CandleRows } from "./candle-rows.js";
import type { CandleMessage, DataOf } from "./wire.js";

interface KnownCandle {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
  /** When the candle was due with this status, by the service's clock. */
  readonly due: number;
  /** Absent if another channel sent it. */
  life: number | undefined;
}

/** The range of the candles in a snapshot. */
type SnapshotFacts = Pick<DataOf<"snapshot">["series"][number], "after" | "observedAt" | "isSettled">;

/**
 * One series as the subscriber of a receiver knows it. It turns a channel's messages into events that are consistent
 * with the events before. After a fresh start, its events lead from what the subscriber has to what the channel has.
 */
export class CandleMirror {
  readonly #series: Series;
  readonly #table: CandleRows<KnownCandle>;
  /** Candles from before a fresh start that the channel has not confirmed or replaced yet. */
  readonly #stale = new Set<number>();
  /** Whether the channel has sent a candle since the fresh start. Until then, nobody knows where its series begins. */
  #isPlaced = true;
  /** Whether everything that was there at first has been emitted. */
  #isLive = false;
  readonly #now: () => number;

  /** `now`: the service's clock. */
  constructor(series: Series, keep: number, now: () => number) {
    this.#series = series;
    this.#now = now;
    this.#table = new CandleRows(roomFor(keep));
  }

  take(message: CandleMessage): CandleEvent[] {
    const { candle, observedAt, live, type } = message;
    if (live) this.#isLive = true;
    if (type !== "removed" && !this.#isPlaced) {
      return this.#reconcile([message], { after: null, observedAt, isSettled: false });
    }
    const passed: CandleEvent[] = [];
    if (this.#isPlaced) {
      // A history comes in ascending order, and the stale candles are held in it. A stale candle that it skips is gone.
      for (const timestamp of this.#stale) {
        if (timestamp >= candle.timestamp) break;
        passed.push(...this.#remove(timestamp, observedAt));
      }
    }
    return [...passed, ...this.#apply(message)];
  }

  /** The history is complete: stale candles that it did not contain are gone. */
  settle(observedAt: number): CandleEvent[] {
    this.#isLive = true;
    return [...this.#stale].flatMap((timestamp) => this.#remove(timestamp, observedAt));
  }

  /** Begins a fresh start; the channel may be another one. */
  restart(keep: number, isForeign: boolean): void {
    // The table must hold all candles of the channel beside the ones that are known already.
    this.#table.resize(keep);
    this.#table.resize(roomFor(keep));
    this.#stale.clear();
    for (const row of this.#table.rows) {
      this.#stale.add(row.candle.timestamp);
      if (isForeign) row.life = undefined;
    }
    this.#isPlaced = false;
  }

  /** The channel's candles, ascending, after a fresh start. */
  adopt(messages: readonly CandleMessage[], place: SnapshotFacts): CandleEvent[] {
    const events = newestCloseAlone(this.#reconcile(messages, place));
    if (place.isSettled) this.#isLive = true;
    return events;
  }

  /**
   * The events that lead to a channel's candles. These begin after `after`, or with the first of them if that is
   * `null`.
   *
   * Older candles of another channel are kept only if the two ranges meet, so that there is never a hole.
   */
  #reconcile(
    messages: readonly CandleMessage[],
    { after, observedAt, isSettled }: SnapshotFacts,
  ): CandleEvent[] {
    const first = messages[0]?.candle.timestamp;
    const start = after ?? first;
    this.#isPlaced = start !== undefined;
    const told = new Set(messages.map(({ candle }) => candle.timestamp));
    const until = isSettled ? Infinity : (messages.at(-1)?.candle.timestamp ?? start);
    const newest = this.#table.newest?.candle.timestamp ?? -Infinity;
    const isGone = ({ candle: { timestamp }, life }: KnownCandle) => {
      if (told.has(timestamp)) return false;
      if (after !== null && timestamp <= after) return newest < after;
      // This same channel sent the candle earlier, and no longer has it.
      if (life !== undefined) return true;
      if (after === null && first !== undefined && timestamp < first) return newest < first;
      return until !== undefined && timestamp <= until;
    };
    const gone = this.#table.rows.filter(isGone).map(({ candle }) => candle.timestamp);
    if (start !== undefined) {
      for (const timestamp of this.#stale) {
        if (timestamp > start) break;
        this.#stale.delete(timestamp);
      }
    }
    const removals = gone.flatMap((timestamp) => this.#remove(timestamp, observedAt));
    return byTimestamp([...removals, ...messages.flatMap((message) => this.#apply(message))]);
  }

  #apply(message: CandleMessage): CandleEvent[] {
    const { candle, life, observedAt, status } = message;
    const { timestamp } = candle;
    if (message.type === "removed") return this.#remove(timestamp, observedAt, message);
    if (this.#table.isForgotten(timestamp)) return [];
    this.#stale.delete(timestamp);
    const known = this.#table.get(timestamp);
    if (known === undefined) return this.#add(message);
    if (known.life !== undefined && known.life !== life) {
      return [...this.#remove(timestamp, observedAt), ...this.#add(message)];
    }
    // This gateway may lag behind the one that closed the candle.
    const later = laterOf(known.status, status);
    if (later === known.status && isSame(known.candle, candle)) {
      known.life = life;
      return [];
    }
    const revision = Math.max(message.revision, known.revision + 1);
    const now = { candle, status: later, revision, due: message.due, life };
    this.#table.set(now);
    return [this.#event(known.candle, now, message.live, observedAt)];
  }

  #add({ candle, status, revision, due, life, live, observedAt }: CandleMessage): CandleEvent[] {
    const known = { candle, status, revision, due, life };
    this.#table.set(known);
    return [this.#event("new", known, live, observedAt)];
  }

  /** `told`: the channel's message about the removal, if there is one. */
  #remove(timestamp: number, observedAt: number, told?: CandleMessage): CandleEvent[] {
    const known = this.#table.get(timestamp);
    this.#stale.delete(timestamp);
    if (known === undefined) return [];
    this.#table.delete(timestamp);
    const { revision = 0, due = known.due, live = true } = told ?? {};
    const gone = { ...known, due, revision: Math.max(revision, known.revision + 1) };
    return [this.#event("removed", gone, live, observedAt)];
  }

  /** `mayBeLive`: whether the event was live when the channel got it. */
  #event(
    change: "new" | "removed" | Candle,
    { candle, status, revision, due }: KnownCandle,
    mayBeLive: boolean,
    observedAt: number,
  ): CandleEvent {
    const { timeframe } = this.#series;
    const { lateBy, isInTime } = toldAt(this.#now(), due, candle.timestamp, timeframe);
    const live = this.#isLive && mayBeLive && isInTime;
    return frozenEvent(change, candle, status, revision, live, lateBy, observedAt, this.#series);
  }
}

/** If several closes are emitted at once, only the newest is live. */
function newestCloseAlone(events: readonly CandleEvent[]): CandleEvent[] {
  const isClose = ({ type, status }: CandleEvent) => type !== "removed" && status !== "open";
  const newest = events.findLast(isClose);
  return events.map((event) =>
    event.live && isClose(event) && event !== newest ? Object.freeze({ ...event, live: false }) : event,
  );
}

function roomFor(keep: number): number {
  return 2 * keep;
}

/** Sorted by candle, ascending; changes of one candle keep their order. */
function byTimestamp(events: CandleEvent[]): CandleEvent[] {
  return events.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
}
