import type { Candle, Series } from "../contract/model.js";
import { type CandleEvent, type CandleStatus, frozenEvent, isSame, laterOf } from "./event.js";
import { dueOf, endOf, isInTime, lateness } from "./lateness.js";

/**
 * Where a word about a candle stands among all words about it: the run of its source, and its place in that. An older word than
 * the last one counts for nothing.
 */
export type Stamp = readonly [epoch: number, at: number];

/** A candle as a source tells it. */
export interface Seen {
  readonly candle: Candle;
  readonly status: CandleStatus;
  /** As the source counts; what follows from here on never counts back. */
  readonly revision: number;
  /** When it was due with this status, by the clock of the fold. */
  readonly due: number;
  /** Whether it was in time when the source told it. */
  readonly live: boolean;
  readonly observedAt: number;
  /** When the source got it, by the same clock as `due`. */
  readonly received: number;
  /** Default: after all that has come before. */
  readonly stamp?: Stamp;
  /** Whether the candle is gone; then `candle` is the last that was known. */
  readonly isRemoved?: boolean | undefined;
}

/** What a fold holds of a candle, or held of one that is gone. */
export interface FoldRow extends Required<Seen> {
  /** The version of the fold with which this came. */
  readonly version: number;
  /** The end of its last life, where it had one. */
  readonly before: FoldRow | undefined;
}

export type Row = FoldRow & { /** Follows each word. */ stamp: Stamp };

/** Which candles: those that begin in `[from, until)`. */
export interface Between {
  readonly from?: number;
  readonly until?: number;
}

/**
 * What was told of a series, held against what is known now. It tells the difference, as an event that follows on those before
 * it. What is the same again, or older than what is held, is no difference.
 *
 * A status never goes back. A source that begins anew may differ in any candle: one that was final then is `updated`, too.
 */
export class ReaderFold {
  readonly series: Series;
  readonly #now: () => number;
  /** The most candles that it holds. */
  keep: number;
  /** Ascending. */
  readonly #rows: Row[] = [];
  /** The newest candle that was forgotten: of it, and of what is older, nothing is told. */
  after = -Infinity;
  /** How many changes there were. */
  version = 0;
  #epoch = 0;
  /** How many words have come without a stamp. */
  #order = 0;

  /** `keep`: older candles are forgotten. `now`: the clock by which events are late. */
  constructor(series: Series, keep: number, now: () => number) {
    this.series = series;
    this.keep = keep;
    this.#now = now;
  }

  get newest(): FoldRow | undefined {
    return this.#rows.at(-1);
  }

  get(timestamp: number): Row | undefined {
    const row = this.#rows[this.#indexOf(timestamp)];
    return row?.candle.timestamp === timestamp ? row : undefined;
  }

  /** The candles that begin in `[from, until)`, ascending. */
  rows(from = -Infinity, until = Infinity): readonly FoldRow[] {
    return this.#rows.slice(this.#indexOf(from), this.#indexOf(until));
  }

  /** Notes that a source begins anew; gives the epoch of its words. What it does not tell again, `settle` removes. */
  doubt(): number {
    this.#epoch += 1;
    return this.#epoch;
  }

  /**
   * An event of another stream, which came at `received` by the clock of the fold. `epoch`: that of its source, where it is
   * not the newest.
   */
  apply(event: CandleEvent, received: number, epoch = this.#epoch): CandleEvent | undefined {
    const { type, candle, status, revision, live, observedAt } = event;
    const seen = { candle, status, revision, due: dueOf(event, received), live, observedAt, received };
    return this.take({ ...seen, stamp: this.#next(epoch), isRemoved: type === "removed" });
  }

  take(told: Seen): CandleEvent | undefined {
    const { stamp = this.#next(), ...seen } = told;
    const { timestamp } = seen.candle;
    if (told.isRemoved) return this.remove(timestamp, told);
    if (timestamp <= this.after) return undefined;
    const known = this.get(timestamp);
    const before = known ? known.before : this.gone(timestamp);
    if (isOlder(stamp, (known ?? before)?.stamp)) return undefined;
    const status = laterOf(known?.status, seen.status);
    if (status === known?.status && isSame(known.candle, seen.candle)) {
      known.stamp = stamp;
      return undefined;
    }
    const revision = Math.max(seen.revision, (known?.revision ?? -1) + 1);
    this.came(timestamp);
    this.version += 1;
    const row = { ...seen, status, stamp, revision, isRemoved: false, version: this.version, before };
    this.#rows.splice(this.#indexOf(timestamp), known ? 1 : 0, row);
    this.forget();
    return this.#told(known?.candle ?? "new", row);
  }

  /** What the source says of the end of a candle: all but the candle, which is as last known. */
  remove(timestamp: number, end: Pick<Seen, "observedAt"> & Partial<Seen>): CandleEvent | undefined {
    const known = this.get(timestamp);
    const { stamp = this.#next() } = end;
    if (known === undefined || isOlder(stamp, known.stamp)) return undefined;
    const { due = known.due, live = true, observedAt, received = observedAt, revision = 0 } = end;
    this.version += 1;
    const row: Row = {
      ...known,
      ...{ revision: Math.max(revision, known.revision + 1), due, live, observedAt, received, stamp },
      ...{ version: this.version, isRemoved: true, before: undefined },
    };
    this.#rows.splice(this.#indexOf(timestamp), 1);
    this.went(row);
    return this.#told("removed", row);
  }

  /** The candles that the source has not told since it began anew, ascending. */
  unseen({ from, until }: Between): readonly FoldRow[] {
    return this.rows(from, until).filter(({ stamp: [epoch] }) => epoch < this.#epoch);
  }

  /** Removes these. `live`: whether the end of a candle may be in time. */
  settle(between: Between, observedAt: number, live = true): CandleEvent[] {
    const end = { stamp: [this.#epoch, -Infinity] as const, observedAt, live };
    return this.unseen(between).flatMap(({ candle }) => this.remove(candle.timestamp, end) ?? []);
  }

  /** Changes how many candles are kept. */
  resize(keep: number): void {
    this.keep = keep;
    this.forget();
  }

  /** The same for one whose source begins anew further back: it takes again what it has forgotten. */
  widen(keep: number): void {
    this.after = -Infinity;
    this.resize(keep);
  }

  /** Forgets the oldest candles that are too many. */
  protected forget(): readonly FoldRow[] {
    const forgotten = this.#rows.splice(0, Math.max(0, this.#rows.length - this.keep));
    this.after = forgotten.at(-1)?.candle.timestamp ?? this.after;
    return forgotten;
  }

  /** The end of a candle that is gone, where that is remembered. */
  protected gone(_timestamp: number): FoldRow | undefined {
    return undefined;
  }

  /** Notes that a candle has come, or gone. */
  protected came(_timestamp: number): void {}
  protected went(_row: FoldRow): void {}

  #next(epoch = this.#epoch): Stamp {
    this.#order += 1;
    return [epoch, this.#order];
  }

  #told(change: "new" | "removed" | Candle, row: FoldRow): CandleEvent {
    const { candle, status, revision, due, live, observedAt } = row;
    const series = this.series;
    const lateBy = lateness(this.#now(), due);
    const isLive = live && isInTime(lateBy, endOf(candle.timestamp, series.timeframe) - candle.timestamp);
    return frozenEvent(change, candle, status, revision, isLive, lateBy, observedAt, series);
  }

  /** The index at which a timestamp is or belongs. It tries the end first, because nearly all of them are there. */
  #indexOf(timestamp: number): number {
    let high = this.#rows.length;
    if (high === 0 || this.#rows[high - 1]!.candle.timestamp < timestamp) return high;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rows[middle]!.candle.timestamp < timestamp) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * What is told at once, ascending, as it is for one who holds `fold`. A candle that this one has not seen close was due as closed,
 * `settle` ms after its end, also where it has become final since. Of the candles that close at once only the newest may be live.
 */
export function atOnce(fold: ReaderFold, told: readonly Seen[], settle = Infinity): readonly Seen[] {
  const isClose = ({ candle, status, isRemoved }: Seen) =>
    !isRemoved && status !== "open" && (fold.get(candle.timestamp)?.status ?? "open") === "open";
  const newest = told.findLast(isClose);
  return told.map((seen) => {
    if (!isClose(seen)) return seen;
    const { timestamp } = seen.candle;
    const due = Math.min(seen.due, endOf(timestamp, fold.series.timeframe) + settle);
    return { ...seen, due, live: seen.live && seen === newest };
  });
}

function isOlder([epoch, at]: Stamp, [of, place]: Stamp = [-Infinity, 0]): boolean {
  return epoch < of || (epoch === of && at < place);
}
