import type { CandleEvent } from "../../candles/event.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { dueIn, ReaderFold, type Seen, type Stamp } from "../../candles/reader-fold.js";
import type { Series } from "../../contract/model.js";
import { HeardClock } from "../wire/heard-clock.js";
import type { FeedSignal } from "./feed-reader.js";
import { newer } from "./gaps.js";
import type { CandleRecord, StatusRecord } from "./message.js";

/** How many candles are held beside those that can still change: a correction of an older one is not told. */
const KEPT = 500;

/** What one subscriber knows of a published series. The stored candles come first, as a history, then the changes. */
export class CandleTable {
  readonly #asked: Series & WatchOptions;
  #watch: ReturnType<typeof checkWatch>;
  readonly #now: () => number;
  readonly #fold: ReaderFold;
  /** What was read and heard so far, until all that is stored has come. */
  #read: Map<number, CandleRecord> | undefined = new Map();
  #status: StatusRecord | undefined;
  /** The service's clock, learned from what is heard. Until then it is estimated from the server's clock. */
  readonly #clock = new HeardClock();
  readonly #stored = new HeardClock();
  /** The latest instant of the service's clock in any message. */
  #observedAt = -Infinity;
  #isCaughtUp = false;
  #doublings = 0;
  /** Nothing older is shown. */
  #start = -Infinity;
  #coveredUntil: number | undefined;

  /** `now`: the reader's own clock. */
  constructor(asked: Series & WatchOptions, now: () => number) {
    this.#asked = asked;
    this.#watch = checkWatch(asked);
    this.#now = now;
    const heardNow = () => this.#clock.told(now()) ?? this.#stored.at(now());
    this.#fold = new ReaderFold(this.#watch.series, Infinity, heardNow);
  }

  get #intervals() {
    return this.#watch.rules.intervals;
  }

  get #since() {
    return this.#watch.since;
  }

  /** Whether all that was stored has been told. */
  get isTold(): boolean {
    return this.#read === undefined;
  }

  /** From which instant on candles have to be read. */
  since(status: StatusRecord | undefined): number {
    if (this.#read === undefined) {
      const rows = this.#fold.rows();
      const first = rows.find((row) => row.status !== "final") ?? rows.at(-1);
      return first?.candle.timestamp ?? this.#start;
    }
    if (status !== undefined) this.#adopt(status);
    if (typeof this.#since === "number") return this.#since;
    const until = status?.status.coveredUntil;
    if (until === undefined) return -Infinity;
    const asked = this.#since === undefined ? 1 : this.#since.candles;
    return this.#intervals.shift(this.#intervals.start(until), -(asked + 1) * 2 ** this.#doublings);
  }

  /** Whether there may be more candles of the past than were read. */
  isShort(): boolean {
    const [since, read, status] = [this.#since, this.#read, this.#status];
    if (typeof since !== "object" || read === undefined || status === undefined) return false;
    const { coveredFrom = 0 } = status.status;
    if (this.since(status) <= coveredFrom || this.#past(this.#rowsOf(read)).length >= since.candles)
      return false;
    this.#doublings += 1;
    return true;
  }

  take(signal: FeedSignal<CandleRecord>): readonly CandleEvent[] {
    if (this.#read === undefined) return this.#takeLive(signal);
    if (signal.type === "message") this.#note(this.#read, signal.record, signal.time);
    else if (signal.type === "status") this.#takeStatus(signal.record);
    this.#isCaughtUp ||= signal.type === "read";
    return this.#isCaughtUp && this.#isKnown() ? this.#begin(this.#read) : [];
  }

  /** Whether it is known where the candles begin. Where nobody has told of the series, that is so once somebody does. */
  #isKnown(): boolean {
    if (typeof this.#since === "number") return true;
    return this.#since === undefined
      ? Number.isFinite(this.#observedAt)
      : this.#status?.status.coveredUntil !== undefined;
  }

  #note(read: Map<number, CandleRecord>, record: CandleRecord, time: number | undefined): void {
    const { candle, observedAt } = record;
    this.#observedAt = Math.max(this.#observedAt, observedAt);
    if (time !== undefined) this.#stored.hear(observedAt, time);
    read.set(candle.timestamp, newer(read.get(candle.timestamp), record));
  }

  #takeLive(signal: FeedSignal<CandleRecord>): readonly CandleEvent[] {
    if (signal.type === "message") return this.#takeCandle(signal.record, signal.time === undefined);
    if (signal.type === "status") this.#takeStatus(signal.record);
    return signal.type === "read" || (signal.type === "status" && signal.isWhole) ? this.#settle() : [];
  }

  #takeCandle(record: CandleRecord, isHeard: boolean): readonly CandleEvent[] {
    const { timestamp } = record.candle;
    if (isHeard) this.#clock.hear(record.observedAt, this.#now());
    if (timestamp < this.#start || this.#isOutdated(record)) return [];
    const seen = this.#seen(record);
    const event = record.removed ? this.#fold.remove(timestamp, seen) : this.#fold.take(seen);
    return event === undefined ? [] : [event];
  }

  /** Whether a later run has told all anew where a candle is, and not this one. */
  #isOutdated({ epoch, candle: { timestamp } }: Pick<CandleRecord, "epoch" | "candle">): boolean {
    if (this.#status === undefined || epoch >= this.#status.epoch) return false;
    const { told, from = Infinity, status } = this.#status;
    return told === true && timestamp >= from && timestamp < (status.coveredUntil ?? -Infinity);
  }

  /** Counts in the collector's weeks: a reader who wants others is refused. */
  #adopt({ rules: { weekStart } }: StatusRecord): void {
    if (weekStart === undefined || weekStart === this.#watch.weekStart) return;
    this.#watch = checkWatch({ ...this.#asked, weekStart });
    // Who began before anybody told of the series has begun with an instant of its own weeks.
    if (this.#read === undefined && typeof this.#since === "number") this.#start = this.#since;
  }

  #takeStatus(record: StatusRecord): void {
    this.#adopt(record);
    this.#status = newer(this.#status, record);
    this.#observedAt = Math.max(this.#observedAt, record.status.coveredUntil ?? -Infinity);
  }

  /**
   * Removes what the run that tells now has not told where it has told all, and all that is older than what it covers if the
   * two do not meet, so that there is never a hole. Forgets what is too old to change.
   */
  #settle(): readonly CandleEvent[] {
    if (this.#status === undefined) return [];
    const { epoch, number, openFrom, status } = this.#status;
    const { coveredFrom = -Infinity, coveredUntil } = status;
    const start = coveredFrom > (this.#coveredUntil ?? Infinity) ? coveredFrom : -Infinity;
    this.#coveredUntil = coveredUntil ?? this.#coveredUntil;
    const stamp: Stamp = [epoch, number];
    const events = this.#fold.rows().flatMap(({ candle, observedAt, stamp: [of] }) => {
      const { timestamp } = candle;
      if (timestamp >= start && !this.#isOutdated({ epoch: of, candle })) return [];
      return this.#fold.remove(timestamp, { stamp, observedAt: coveredUntil ?? observedAt }) ?? [];
    });
    this.#fold.resize(KEPT + this.#fold.rows(openFrom ?? coveredUntil).length);
    return events;
  }

  /** What was read and is not gone, ascending. */
  #rowsOf(read: ReadonlyMap<number, CandleRecord>): readonly CandleRecord[] {
    const rows = [...read.values()].filter((row) => !row.removed && !this.#isOutdated(row));
    return rows.sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  /** Those before the running interval, by the newest known instant of the service's clock. */
  #past(rows: readonly CandleRecord[]): readonly CandleRecord[] {
    return rows.filter(({ candle }) => candle.timestamp < this.#running);
  }

  get #running(): number {
    return this.#intervals.start(this.#observedAt);
  }

  /** All that was stored has come. */
  #begin(read: ReadonlyMap<number, CandleRecord>): readonly CandleEvent[] {
    const rows = this.#rowsOf(read);
    this.#read = undefined;
    this.#start = this.#startOf(rows);
    const shown = rows.filter(({ candle }) => candle.timestamp >= this.#start);
    const newest = shown.findLast(({ status }) => status !== "open");
    const events = shown.flatMap((row) => {
      const isHistory = this.#since !== undefined || (row.status !== "open" && row !== newest);
      const seen = this.#seen(row);
      return this.#fold.take({ ...seen, live: seen.live && !isHistory }) ?? [];
    });
    this.#settle();
    return events;
  }

  /** The first interval to show. */
  #startOf(rows: readonly CandleRecord[]): number {
    const since = this.#since;
    if (typeof since === "number") return since;
    const past = since === undefined ? [] : this.#past(rows).slice(-since.candles);
    return past[0]?.candle.timestamp ?? this.#running;
  }

  #seen(record: CandleRecord): Seen {
    const { candle, status, revision, late, observedAt, epoch, number } = record;
    const due = dueIn(this.#fold, record, this.#status?.rules.settle);
    const stamp: Stamp = [epoch, number];
    return { candle, status, revision, due, live: late !== true, observedAt, received: observedAt, stamp };
  }
}
