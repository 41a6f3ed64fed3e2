import { type CandleEvent, type CandleStatus, frozenEvent, isSame, laterOf } from "../candles/event.js";
import { longerCandle } from "../candles/longer-candle.js";
import {
  type AnyTimeframe,
  type Candle,
  type Series,
  TIMEFRAMES,
  type WeekStart,
} from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { type Intervals, intervalsOf, nests } from "../timeframe.js";
import { type Coming, Lateness } from "./lateness.js";

/** A candle of the source that may still change. */
interface Part {
  candle: Candle;
  status: CandleStatus;
}

/** An interval of the target timeframe that is not final. */
interface Bucket {
  readonly start: number;
  readonly end: number;
  /** The start of the last interval of the source in it. */
  readonly lastStart: number;
  /** Its final candles, merged into one. All of them are older than its parts. */
  settled: Candle | undefined;
  /** Its other candles, ascending. */
  readonly parts: Part[];
  /** The last event about it. */
  shown: { readonly candle: Candle; readonly status: CandleStatus; readonly revision: number } | undefined;
}

/** Turns the events of a series into those of a longer timeframe. It holds the candles that are not final. */
export class Resampler {
  private readonly lateness = new Lateness();
  /** The newest final candle. No event may be about it or about a candle before it. */
  private finalUntil = -Infinity;
  private readonly intervals: Intervals;
  private source: { readonly intervals: Intervals; readonly target: Series } | undefined;
  /** Ascending; all but the first are not final. */
  private readonly buckets: Bucket[] = [];
  /** The newest candle that an event was about. */
  private newest = -Infinity;
  /** Every interval before it is known. */
  private coveredUntil = -Infinity;

  constructor(
    private readonly timeframe: AnyTimeframe,
    private readonly weekStart: WeekStart,
  ) {
    this.intervals = intervalsOf(timeframe, weekStart);
  }

  /**
   * The events that follow from one event, ascending: first of the older buckets that it ends, then of its own bucket.
   */
  apply(event: CandleEvent): readonly CandleEvent[] {
    this.lateness.hear(event);
    this.source ??= this.sourceOf(event);
    const { buckets } = this;
    const { timestamp } = event.candle;
    const isFinal = event.status === "final" && event.type !== "removed";
    if (isFinal) this.finalUntil = timestamp;
    this.newest = Math.max(this.newest, timestamp);
    let at = buckets.length;
    while (at > 0 && buckets[at - 1]!.end > timestamp) at -= 1;

    const events: CandleEvent[] = [];
    for (let older = 0; older < at; older += 1) {
      const bucket = buckets[older]!;
      this.tell(bucket, bucket.shown!.candle, event, events);
    }
    if (isFinal && at > 0) buckets.splice(0, at);
    if (isFinal) at = 0;

    let bucket = buckets[at];
    if (bucket === undefined || bucket.start > timestamp) {
      if (event.type === "removed") return events;
      bucket = this.bucketOf(timestamp, this.source.intervals);
      buckets.splice(at, 0, bucket);
    }
    if (!change(bucket, event)) return events;
    if (isFinal) settleBucket(bucket, timestamp);
    if (bucket.settled === undefined && bucket.parts.length === 0) {
      const { candle, status, revision } = bucket.shown!;
      const { target } = this.source;
      const { live, lateBy, observedAt } = this.comingOf(bucket, status, event);
      events.push(frozenEvent("removed", candle, status, revision + 1, live, lateBy, observedAt, target));
      buckets.splice(at, 1);
      return events;
    }
    this.tell(bucket, longerCandle(bucket.start, bucket.settled, bucket.parts), event, events);
    return events;
  }

  /**
   * The events that follow once all intervals before an instant are known, those without a candle included: buckets that
   * end by then close. They count as told when the interval that ends at that instant closed, as nothing tells it better.
   */
  cover(until: number): readonly CandleEvent[] {
    this.coveredUntil = Math.max(this.coveredUntil, until);
    const events: CandleEvent[] = [];
    for (const bucket of this.buckets) {
      if (bucket.end > until) break;
      this.tell(
        bucket,
        bucket.shown!.candle,
        this.lateness.covered(this.timeframe, bucket.end, until),
        events,
      );
    }
    return events;
  }

  /** Adds an event for the bucket if it differs from what was last emitted. */
  private tell(bucket: Bucket, candle: Candle, cause: CandleEvent | Coming, events: CandleEvent[]): void {
    const { shown } = bucket;
    const { target } = this.source!;
    const status = laterOf(shown?.status, this.statusOf(bucket));
    if (shown !== undefined && status === shown.status && isSame(candle, shown.candle)) return;
    const revision = shown === undefined ? 0 : shown.revision + 1;
    const { live, lateBy, observedAt } = "series" in cause ? this.comingOf(bucket, status, cause) : cause;
    bucket.shown = { candle, status, revision };
    events.push(
      frozenEvent(shown?.candle ?? "new", candle, status, revision, live, lateBy, observedAt, target),
    );
  }

  /** When the event of a bucket with this status comes. It is asked for before the bucket shows that status. */
  private comingOf({ end, lastStart, shown }: Bucket, status: CandleStatus, cause: CandleEvent): Coming {
    const { timeframe, lateness } = this;
    if (cause.series.timeframe === timeframe) return cause;
    const hasSkipped = shown === undefined || shown.status === "open" || cause.status !== "final";
    if (status !== "final" || hasSkipped) return lateness.judge(cause, timeframe, end, status);
    // A bucket becomes final with its last candle. If a later candle makes it final, it is late by the distance between
    // the two.
    const behind = Math.max(0, cause.candle.timestamp - lastStart);
    return lateness.coming(cause, timeframe, cause.lateBy + behind);
  }

  private statusOf({ parts, lastStart, end }: Bucket): CandleStatus {
    // Candles become final in ascending order: nothing can come before the newest final one.
    if (this.finalUntil >= lastStart) return "final";
    for (let at = 0; at < parts.length; at += 1) if (parts[at]!.status === "open") return "open";
    const isWhole = parts.length > 0 && parts[parts.length - 1]!.candle.timestamp === lastStart;
    return isWhole || this.newest >= end || this.coveredUntil >= end ? "closed" : "open";
  }

  private bucketOf(timestamp: number, source: Intervals): Bucket {
    const [start, end] = [this.intervals.start(timestamp), this.intervals.end(timestamp)];
    const lastStart = source.shift(end, -1);
    return { start, end, lastStart, settled: undefined, parts: [], shown: undefined };
  }

  private sourceOf({ series, candle: { timestamp } }: CandleEvent) {
    const { timeframe, weekStart } = this;
    if (!nests(series.timeframe, timeframe, weekStart)) {
      const nesting = TIMEFRAMES.filter((target) => nests(series.timeframe, target, weekStart));
      const allowed = `${nesting.join(", ")}, or another one that is made of whole ${series.timeframe} intervals`;
      throw new InvalidInputError(
        "timeframe",
        allowed,
        `is "${timeframe}", which is not made of whole ${series.timeframe} intervals`,
      );
    }
    const intervals = intervalsOf(series.timeframe, weekStart);
    if (series.timeframe.endsWith("w") && intervals.start(timestamp) !== timestamp) {
      const allowed = "the day on which the weeks of the source begin, monday or thursday";
      throw new InvalidInputError("weekStart", allowed, `is "${weekStart}"`);
    }
    return { intervals, target: Object.freeze({ ...series, timeframe }) };
  }
}

/**
 * Takes in what an event says about its candle. Returns `false` for the removal of an unknown candle, which says
 * nothing.
 */
function change({ parts }: Bucket, { type, candle, status }: CandleEvent): boolean {
  const { timestamp } = candle;
  let at = parts.length;
  while (at > 0 && parts[at - 1]!.candle.timestamp >= timestamp) at -= 1;
  const part = parts[at]?.candle.timestamp === timestamp ? parts[at] : undefined;
  if (type === "removed") {
    if (part !== undefined) parts.splice(at, 1);
    return part !== undefined;
  }
  if (part === undefined) {
    parts.splice(at, 0, { candle, status });
  } else {
    part.candle = candle;
    part.status = laterOf(part.status, status);
  }
  return true;
}

/** Merges the candles up to a final one, because they can no longer change. */
function settleBucket(bucket: Bucket, finalUntil: number): void {
  const { parts } = bucket;
  let count = 0;
  while (count < parts.length && parts[count]!.candle.timestamp <= finalUntil) count += 1;
  bucket.settled = longerCandle(bucket.start, bucket.settled, parts, count);
  parts.splice(0, count);
}
