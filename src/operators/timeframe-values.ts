import type { CandleEvent } from "../candles/event.js";
import type { Candle } from "../contract/model.js";
import type { Indicator } from "../indicators/kernel.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import { IndicatorChain, KernelSet, type Values } from "./indicator-chain.js";
import type { Recursion } from "./replayed-chain.js";

/**
 * How many buckets are kept for candles that are still to come, such as those of a history that is read more slowly.
 */
const MOST_KEPT = 100_000;

interface ValuesBucket {
  readonly start: number;
  readonly end: number;
  values: Values;
}

/**
 * The values after each closed candle of a longer timeframe, kept as long as a candle of the shorter one may ask for
 * them.
 */
export class TimeframeValues {
  private readonly chain: IndicatorChain;
  /** Ascending. */
  private readonly buckets: ValuesBucket[] = [];
  private readonly unknown: Values;

  constructor(indicators: ReadonlyMap<string, Indicator<unknown>>) {
    const names = [...indicators.keys()];
    this.chain = new IndicatorChain(KernelSet.of(indicators), names);
    this.unknown = Object.freeze(Object.fromEntries(names.map((name) => [name, undefined])));
  }

  /** Takes in an event of the longer timeframe. Returns whether it has changed any values. */
  apply(event: CandleEvent): boolean {
    // A running candle does not count here, and neither does its removal.
    if (event.status === "open") return false;
    const told = this.chain.apply(event);
    const intervals = intervalsOf(event.series.timeframe);
    for (const { type, candle, values } of told) {
      const end = intervals.shift(candle.timestamp, 1);
      this.keep(candle.timestamp, end, type === "removed" ? undefined : values);
    }
    return told.length > 0;
  }

  /** The values after the last closed candle that had ended by then. */
  at(instant: number): Values {
    for (let at = this.buckets.length - 1; at >= 0; at -= 1) {
      const bucket = this.buckets[at]!;
      if (bucket.end <= instant) return bucket.values;
    }
    return this.unknown;
  }

  /** Forgets the values that no candle can ask for if it ends later than this. */
  forget(until: number): void {
    let count = 0;
    while (count + 1 < this.buckets.length && this.buckets[count + 1]!.end <= until) count += 1;
    if (count > 0) this.buckets.splice(0, count);
  }

  private keep(start: number, end: number, values: Values | undefined): void {
    const { buckets } = this;
    let at = buckets.length;
    while (at > 0 && buckets[at - 1]!.start >= start) at -= 1;
    const bucket = buckets[at]?.start === start ? buckets[at] : undefined;
    if (values === undefined) {
      if (bucket !== undefined) buckets.splice(at, 1);
    } else if (bucket === undefined) {
      buckets.splice(at, 0, { start, end, values });
    } else {
      bucket.values = values;
    }
    if (buckets.length > MOST_KEPT) buckets.shift();
  }
}

/** Something that knows the values of a longer timeframe. */
export interface ValuesHolder {
  values: TimeframeValues;
}

/**
 * The values of a longer timeframe as a recursion over candles of a shorter one. Each candle has the values known by
 * its end.
 */
export class ValuesAt implements Recursion<Values> {
  constructor(
    private readonly holder: ValuesHolder,
    private readonly intervals: Intervals,
  ) {}

  push(candle: Candle): Values {
    return this.peek(candle);
  }

  peek({ timestamp }: Candle): Values {
    return this.holder.values.at(this.intervals.shift(timestamp, 1));
  }

  fork(): ValuesAt {
    return this;
  }
}
