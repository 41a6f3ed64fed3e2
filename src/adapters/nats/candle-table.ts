import { isSame } from "../../candles/book.js";
import type { CandleEvent } from "../../candles/event.js";
import type { Series } from "../../contract/model.js";
import type { Intervals } from "../../timeframe.js";
import type { CandleRecord, StatusRecord } from "./message.js";
import { isStale, type Takeover } from "./records.js";

/** A message about a candle, and its place in the stream. */
export interface PlacedCandle extends CandleRecord {
  readonly sequence: number;
}

/** Where what a subscriber is shown begins. */
export interface TableStart {
  /** An instant, a number of candles before the running one, or the running interval where absent. */
  readonly since: number | { readonly candles: number } | undefined;
  /** Stands in for the service's clock where nothing is stored. */
  readonly now: number;
}

/**
 * What one subscriber knows of a published series: what is stored comes first, as a history, then what changes.
 *
 * It holds the candles that can still change. A final one is published once, and forgotten.
 */
export class CandleTable {
  readonly #series: Series;
  readonly #intervals: Intervals;
  readonly #since: TableStart["since"];
  /** By timestamp; while a history is read all of it, then the candles that can still change. */
  #known = new Map<number, PlacedCandle>();
  /** What was known before the stream was made anew, while that is read. */
  #before: ReadonlyMap<number, PlacedCandle> | undefined;
  #isReading = true;
  #isLive: boolean;
  /** Nothing older is shown. */
  #start: number | undefined;
  /** The newest candle that was shown. */
  #newest = Number.NEGATIVE_INFINITY;
  /** The last message of the history. */
  #sequence = 0;
  /** The latest instant of the service's clock that a message tells of. */
  #observedAt = Number.NEGATIVE_INFINITY;
  #takeovers: readonly Takeover[] = [];
  #coveredUntil: number | undefined;

  constructor(series: Series, intervals: Intervals, since: TableStart["since"]) {
    this.#series = series;
    this.#intervals = intervals;
    this.#since = since;
    this.#isLive = since === undefined;
  }

  /** Takes a message about a candle. */
  candle(message: PlacedCandle): readonly CandleEvent[] {
    const { sequence, observedAt } = message;
    const { timestamp } = message.candle;
    if (this.#isReading) {
      const known = this.#known.get(timestamp);
      if (known === undefined || known.sequence < sequence) this.#known.set(timestamp, message);
      this.#sequence = Math.max(this.#sequence, sequence);
      return [];
    }
    if (sequence <= this.#sequence || isStale(message, this.#takeovers)) return [];
    this.#observedAt = Math.max(this.#observedAt, observedAt);
    if (timestamp < this.#start!) return [];
    return this.#change(message);
  }

  /** Takes a message about how the series stands. */
  status(message: StatusRecord & { readonly sequence: number }): readonly CandleEvent[] {
    const { epoch, sequence, takeovers, status } = message;
    // The first message of a lease begins it.
    const isBeginning = !takeovers.some((takeover) => takeover.epoch === epoch);
    this.#takeovers = isBeginning ? [...takeovers, { epoch, sequence }] : takeovers;
    const lost = this.#coveredUntil;
    this.#coveredUntil = status.coveredUntil ?? this.#coveredUntil;
    this.#observedAt = Math.max(this.#observedAt, status.coveredUntil ?? Number.NEGATIVE_INFINITY);
    if (this.#isReading) {
      this.#sequence = Math.max(this.#sequence, sequence);
      return [];
    }
    // What was stored while this subscriber was away, and is not any more, cannot be told from what it still holds.
    const keptFrom = status.coveredFrom ?? Number.NEGATIVE_INFINITY;
    const hasHole = lost !== undefined && keptFrom > lost;
    const events: CandleEvent[] = [];
    for (const known of this.#ascending()) {
      const isLost = hasHole && known.candle.timestamp < keptFrom;
      if (isLost || isStale(known, this.#takeovers)) events.push(this.#remove(known, known.observedAt));
    }
    return events;
  }

  /** All that is stored has come. */
  caughtUp(now: number): readonly CandleEvent[] {
    if (!this.#isReading) return [];
    this.#isReading = false;
    const stored = [...this.#known.values()].filter((message) => !isStale(message, this.#takeovers));
    for (const { observedAt } of stored) this.#observedAt = Math.max(this.#observedAt, observedAt);
    const present = stored
      .filter(({ isRemoved }) => !isRemoved)
      .sort((a, b) => a.candle.timestamp - b.candle.timestamp);
    this.#start ??= this.#startOf(present, now);
    const before = this.#before;
    this.#before = undefined;
    this.#known = new Map(before);
    const events: CandleEvent[] = [];
    const found = new Set<number>();
    for (const message of present) {
      const { timestamp } = message.candle;
      found.add(timestamp);
      // A final candle that was shown before the stream was made anew is not held any more, and not shown again.
      const isShown = before !== undefined && !before.has(timestamp) && timestamp <= this.#newest;
      if (timestamp >= this.#start && !isShown) events.push(...this.#change(message));
    }
    for (const known of before?.values() ?? []) {
      if (!found.has(known.candle.timestamp)) events.push(this.#remove(known, this.#observedAt));
    }
    this.#isLive = true;
    return events.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  /** The stream was made anew: what is stored comes again, under other sequences. */
  renewed(): void {
    if (!this.#isReading) this.#before ??= this.#known;
    this.#known = new Map();
    this.#isReading = true;
    this.#sequence = 0;
    this.#takeovers = [];
    this.#coveredUntil = undefined;
  }

  /** The first interval to show, by the newest instant that is known of the service's clock. */
  #startOf(present: readonly PlacedCandle[], now: number): number {
    const since = this.#since;
    if (typeof since === "number") return since;
    const running = this.#intervals.start(Number.isFinite(this.#observedAt) ? this.#observedAt : now);
    if (since === undefined) return running;
    const older = present.filter(({ candle }) => candle.timestamp < running);
    const first = older[Math.max(0, older.length - since.candles)];
    return first?.candle.timestamp ?? running;
  }

  *#ascending(): Iterable<PlacedCandle> {
    yield* [...this.#known.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  #change(message: PlacedCandle): CandleEvent[] {
    const { candle, status, revision, observedAt, isRemoved } = message;
    const known = this.#known.get(candle.timestamp);
    if (isRemoved) return known === undefined ? [] : [this.#remove(known, observedAt)];
    const isEcho = known !== undefined && known.status === status && isSame(known.candle, candle);
    if (status === "final") this.#known.delete(candle.timestamp);
    else this.#known.set(candle.timestamp, isEcho ? { ...message, candle: known.candle } : message);
    this.#newest = Math.max(this.#newest, candle.timestamp);
    if (known === undefined) return [this.#event({ type: "new", candle, status, revision, observedAt })];
    if (isEcho) return [];
    if (revision <= known.revision) {
      // It went and came back, and only the last of that is left.
      return [
        this.#event({ ...known, type: "removed", revision: known.revision + 1, observedAt }),
        this.#event({ type: "new", candle, status, revision, observedAt }),
      ];
    }
    return [this.#event({ type: "updated", candle, previous: known.candle, status, revision, observedAt })];
  }

  #remove(known: PlacedCandle, observedAt: number): CandleEvent {
    const { candle, status, revision } = known;
    this.#known.delete(candle.timestamp);
    return this.#event({ type: "removed", candle, status, revision: revision + 1, observedAt });
  }

  #event({
    type,
    candle,
    previous,
    status,
    revision,
    observedAt,
  }: Omit<CandleEvent, "live" | "series">): CandleEvent {
    return Object.freeze({
      type,
      candle,
      ...(previous === undefined ? {} : { previous }),
      status,
      revision,
      live: this.#isLive,
      observedAt,
      series: this.#series,
    });
  }
}
