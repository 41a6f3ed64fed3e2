import type { CandleEvent } from "../../candles/event.js";
import { checkWatch, type WatchOptions } from "../../candles/options.js";
import { atOnce, ReaderFold, type Seen, type Stamp } from "../../candles/reader-fold.js";
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
  /** What was read since then, of which the last has not come. */
  readonly #missed: CandleRecord[] = [];
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
    if (signal.type === "message") {
      const { record, time } = signal;
      this.#missed.push(record);
      // What is read is told at once, with what follows on it.
      if (time !== undefined) return [];
      this.#clock.hear(record.observedAt, this.#now());
    }
    const events = this.#tell(this.#missed.splice(0));
    if (signal.type === "status") this.#takeStatus(signal.record);
    const isWhole = signal.type === "read" || (signal.type === "status" && signal.isWhole);
    return isWhole ? events.concat(this.#settle()) : events;
  }

  /** The events of what is told at once. */
  #tell(records: readonly CandleRecord[], isHistory = false): CandleEvent[] {
    const told = records
      .filter((record) => record.candle.timestamp >= this.#start && !this.#isOutdated(record))
      .sort((a, b) => a.candle.timestamp - b.candle.timestamp)
      .map(({ epoch, number, removed, late, ...record }): Seen => {
        const live = !isHistory && late !== true;
        return { ...record, live, received: record.observedAt, stamp: [epoch, number], isRemoved: removed };
      });
    return atOnce(this.#fold, told, this.#status?.rules.settle).flatMap(
      (seen) => this.#fold.take(seen) ?? [],
    );
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
    const events = this.#tell(rows, this.#since !== undefined);
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
}
