import { type CandleEvent, frozenEvent, isSame } from "../../candles/event.js";
import { toldAt } from "../../candles/lateness.js";
import type { Candle, Series } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import { HeardClock } from "../wire/heard-clock.js";
import { REREAD } from "./consumer.js";
import type { CandleRecord, StatusRecord } from "./message.js";
import { SeenFeed } from "./records.js";

/** A message about a candle, and when it was stored. */
export interface PlacedCandle extends CandleRecord {
  readonly time: number;
}

/**
 * Where a subscriber's candles begin: at an instant, so many candles before the running one, or at the running
 * interval.
 */
export type TableStart = number | { readonly candles: number } | undefined;

/**
 * What one subscriber knows of a published series. The stored candles come first, as a history, then the changes.
 *
 * Messages may come in any order, and more than once. The table holds the candles that can still change, and other
 * candles for as long as a message about them may come again.
 */
export class CandleTable {
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #since: TableStart;
  /** Candles by timestamp, removed ones included. */
  readonly #seen = new SeenFeed<number, PlacedCandle>();
  readonly #now: () => number;
  /**
   * The service's clock, learned from messages that come after all stored ones were read. Until then it is estimated
   * from the server's clock.
   */
  readonly #clock = new HeardClock();
  readonly #stored = new HeardClock();
  #hasHeard = false;
  /** Nothing older is shown. */
  #start = -Infinity;
  /** The latest instant of the service's clock in any message. */
  #observedAt = -Infinity;
  /** When the newest message was stored. */
  #storedAt = -Infinity;
  #coveredUntil: number | undefined;
  /** The value of `#storedAt` when candles were last forgotten. */
  #prunedAt = -Infinity;

  /** `now`: the reader's own clock. */
  constructor(series: Series, intervals: Intervals, since: TableStart, now = () => 0) {
    this.#series = series;
    this.#now = now;
    this.#intervals = intervals;
    this.#since = since;
  }

  /** Takes a message about a candle. */
  candle(message: PlacedCandle): readonly CandleEvent[] {
    const { timestamp } = message.candle;
    const known = this.#seen.newest.get(timestamp);
    if (!this.#seen.counts(message, known)) return [];
    if (this.#seen.isReading) {
      this.#seen.newest.set(timestamp, message);
      return [];
    }
    if (timestamp < this.#start) return [];
    this.#hasHeard = true;
    this.#clock.hear(message.observedAt, this.#now());
    const events = this.#change(known, message);
    this.#prune();
    return events;
  }

  /** Takes a message about the status of the series. */
  status(message: StatusRecord & { readonly time: number }): readonly CandleEvent[] {
    if (!this.#seen.status(message)) return [];
    const { coveredFrom, coveredUntil } = message.status;
    this.#observedAt = Math.max(this.#observedAt, coveredUntil ?? -Infinity);
    // If the covered range begins after the end of the range before, messages in between were dropped before this
    // subscriber got them. What they said of candles that were not final is lost, so these candles are removed.
    const hasHole = (coveredFrom ?? -Infinity) > (this.#coveredUntil ?? Infinity);
    this.#coveredUntil = coveredUntil ?? this.#coveredUntil;
    if (this.#seen.isReading) return [];
    const isLost = ({ candle, status }: PlacedCandle) =>
      hasHole && status !== "final" && candle.timestamp < coveredFrom!;
    const gone = this.#shown((known) => isLost(known) || this.#seen.isOutdated(known));
    return gone.map((known) => this.#remove(known, known.observedAt, known.time));
  }

  /** Notes that all stored messages have come. If there were none, `now` stands in for the service's clock. */
  caughtUp(now: number): readonly CandleEvent[] {
    if (!this.#seen.caughtUp()) return [];
    for (const message of this.#seen.newest.values()) this.#note(message);
    const stored = this.#shown();
    this.#start = this.#startOf(stored, now);
    const shown = stored.filter(({ candle }) => candle.timestamp >= this.#start);
    const newest = shown.findLast(({ status }) => status !== "open");
    const events = shown.map((message) => {
      const isLate =
        message.isLate || this.#since !== undefined || (message.status !== "open" && message !== newest);
      return this.#event("new", { ...message, isLate });
    });
    this.#prune();
    return events;
  }

  /** The first interval to show, by the newest known instant of the service's clock. */
  #startOf(stored: readonly PlacedCandle[], now: number): number {
    const since = this.#since;
    if (typeof since === "number") return since;
    const running = this.#intervals.start(Number.isFinite(this.#observedAt) ? this.#observedAt : now);
    if (since === undefined) return running;
    const older = stored.filter(({ candle }) => candle.timestamp < running);
    return older[Math.max(0, older.length - since.candles)]?.candle.timestamp ?? running;
  }

  /** The candles from `#start` on that exist and that `isLookedFor` accepts, ascending. */
  #shown(isLookedFor: (known: PlacedCandle) => boolean = () => true): PlacedCandle[] {
    const isThere = ({ isRemoved, candle }: PlacedCandle) => !isRemoved && candle.timestamp >= this.#start;
    return [...this.#seen.newest.values()]
      .filter((known) => isThere(known) && isLookedFor(known))
      .sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  #change(known: PlacedCandle | undefined, message: PlacedCandle): CandleEvent[] {
    const { candle, status, revision, observedAt, isRemoved, time } = message;
    this.#note(message);
    if (known === undefined || known.isRemoved) {
      this.#seen.newest.set(candle.timestamp, message);
      return isRemoved ? [] : [this.#event("new", message)];
    }
    if (isRemoved) return [this.#remove(known, observedAt, time)];
    const isEcho = isSame(known.candle, candle) && (known.status === status || known.status === "final");
    if (isEcho || known.status === "final") {
      // A candle that was shown stays the same object, and one that was shown as final does not change. Where the stream
      // was lost, and stored again, revisions may have begun anew.
      const shown = { candle: known.candle, status: known.status };
      this.#seen.newest.set(candle.timestamp, {
        ...message,
        ...shown,
        revision: Math.max(known.revision, revision),
      });
      return [];
    }
    this.#seen.newest.set(candle.timestamp, message);
    if (revision > known.revision) return [this.#event(known.candle, message)];
    // The candle was removed and came back, and only the last message about it is left.
    const gone = { ...known, revision: known.revision + 1, observedAt };
    return [this.#event("removed", gone), this.#event("new", message)];
  }

  #remove(known: PlacedCandle, observedAt: number, time: number): CandleEvent {
    const gone = { ...known, revision: known.revision + 1, observedAt, time, isRemoved: true };
    this.#seen.newest.set(known.candle.timestamp, gone);
    return this.#event("removed", gone);
  }

  #note({ observedAt, time }: PlacedCandle): void {
    this.#observedAt = Math.max(this.#observedAt, observedAt);
    this.#storedAt = Math.max(this.#storedAt, time);
    this.#stored.hear(observedAt, time);
  }

  /** Forgets candles that can neither change nor come again. */
  #prune(): void {
    if (this.#seen.newest.size <= LEAST_PRUNED || this.#storedAt < this.#prunedAt + REREAD) return;
    this.#prunedAt = this.#storedAt;
    for (const [timestamp, { status, isRemoved, time }] of this.#seen.newest) {
      const isOver = status === "final" || isRemoved;
      if (isOver && time < this.#storedAt - 2 * REREAD) this.#seen.newest.delete(timestamp);
    }
  }

  #event(change: "new" | "removed" | Candle, of: PlacedCandle): CandleEvent {
    const clock = this.#hasHeard ? this.#clock : this.#stored;
    const { candle, status, revision, observedAt, isLate = false, due = Infinity } = of;
    const { lateBy, isInTime } = toldAt(clock.at(this.#now()), due, candle.timestamp, this.#series.timeframe);
    return frozenEvent(
      change,
      candle,
      status,
      revision,
      !isLate && isInTime,
      lateBy,
      observedAt,
      this.#series,
    );
  }
}

/** With no more candles than this, a search for forgettable ones is not worth its cost. */
const LEAST_PRUNED = 64;
