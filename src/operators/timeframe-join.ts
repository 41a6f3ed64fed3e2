import type { CandleEvent } from "../candles/event.js";
import type { AnyTimeframe, Series } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import type { Indicator } from "../indicators/kernel.js";
import { type Intervals, intervalsOf, nests } from "../timeframe.js";
import { HistoryWait } from "./history-wait.js";
import { IndicatorChain } from "./indicator-chain.js";
import type { IndicatorEvent } from "./indicator-event.js";
import { Resampler } from "./resampler.js";
import { checkEvent, SeriesStates } from "./series-states.js";
import type { Reducer } from "./through-reducer.js";
import { TimeframeValues, ValuesAt, type ValuesHolder } from "./timeframe-values.js";

type Indicators = ReadonlyMap<string, Indicator<unknown>>;

const NOTHING: readonly never[] = [];

/** The events of one series, joined with values of a longer timeframe. */
class Joined {
  /** The end of the newest final candle. */
  finalUntil = -Infinity;
  private readonly intervals: Intervals;
  private readonly chain: IndicatorChain;

  constructor(
    { timeframe }: Series,
    readonly holder: ValuesHolder,
    indicators: Indicators,
  ) {
    this.intervals = intervalsOf(timeframe);
    this.chain = new IndicatorChain(new ValuesAt(holder, this.intervals), [...indicators.keys()]);
  }

  apply(event: CandleEvent, hasMoved: boolean): readonly IndicatorEvent[] {
    const told = this.chain.apply(event, hasMoved);
    const isFinal = event.status === "final" && event.type !== "removed";
    if (isFinal) this.finalUntil = this.intervals.shift(event.candle.timestamp, 1);
    return told;
  }

  refresh(cause: CandleEvent): readonly IndicatorEvent[] {
    return this.chain.refresh(cause);
  }
}

/**
 * Adds values of a longer timeframe to the events of one series. The longer candles are made from these same events.
 */
export class OwnTimeframe implements Reducer<CandleEvent, IndicatorEvent>, ValuesHolder {
  readonly values: TimeframeValues;
  private readonly resampler: Resampler;
  private readonly intervals: Intervals;
  private joined: Joined | undefined;
  /**
   * The start of the first bucket that was seen. That bucket may lack its beginning, and older ones may lack any part.
   */
  private first = Infinity;
  /** Buckets that begin earlier do not count. */
  private from = Infinity;

  constructor(
    timeframe: AnyTimeframe,
    private readonly indicators: Indicators,
  ) {
    this.resampler = new Resampler(timeframe, "monday");
    this.intervals = intervalsOf(timeframe);
    this.values = new TimeframeValues(indicators);
  }

  apply(event: CandleEvent): readonly IndicatorEvent[] {
    const { timestamp } = event.candle;
    if (this.joined === undefined) {
      this.joined = new Joined(event.series, this, this.indicators);
      this.first = this.intervals.start(timestamp);
      this.from = this.intervals.end(timestamp);
    }
    if (event.type !== "removed" && timestamp === this.first) this.from = timestamp;
    let hasMoved = false;
    for (const bucket of this.resampler.apply(event)) {
      if (bucket.candle.timestamp >= this.from) hasMoved = this.values.apply(bucket) || hasMoved;
    }
    const told = this.joined.apply(event, hasMoved);
    this.values.forget(this.joined.finalUntil);
    return told;
  }
}

/** The candles of a pair in the longer timeframe, and the pair's series that are joined with them. */
interface PairState extends ValuesHolder {
  longer: AnyTimeframe | undefined;
  readonly joined: Set<Joined>;
  readonly wait: HistoryWait;
}

/** An event of a candle or of a longer one, or the end of one of the two streams. */
export type Joining = { readonly isLonger: boolean } & (
  | { readonly event: CandleEvent }
  | { readonly hasEnded: true }
);

/**
 * Adds values of a longer timeframe to the events of any number of series. The longer candles come from a stream of
 * their own.
 */
export class OtherTimeframe implements Reducer<Joining, IndicatorEvent> {
  private readonly pairs = new Map<string, PairState>();
  private isLongerOver = false;
  private readonly longer: SeriesStates<TimeframeValues>;
  private readonly series: SeriesStates<{ joined?: Joined }>;

  constructor(private readonly indicators: Indicators) {
    this.longer = new SeriesStates(() => new TimeframeValues(indicators));
    this.series = new SeriesStates((former) => {
      if (former?.joined !== undefined) (former.joined.holder as PairState).joined.delete(former.joined);
      return {};
    });
  }

  apply(joining: Joining): readonly IndicatorEvent[] {
    if ("hasEnded" in joining) {
      this.isLongerOver ||= joining.isLonger;
      return [...this.pairs.values()].flatMap(({ wait }) => this.applyAll(wait.end()));
    }
    const { event, isLonger } = joining;
    if (!isLonger) {
      checkEvent(event);
      return this.applyAll(this.pairOf(event.series).wait.take(event));
    }
    const told = this.applyLonger(event);
    const { wait } = this.pairOf(event.series);
    return [...told, ...this.applyAll(wait.hear(event))];
  }

  private applyAll(events: readonly CandleEvent[]): readonly IndicatorEvent[] {
    return events.length === 1
      ? this.applyEvent(events[0]!)
      : events.flatMap((event) => this.applyEvent(event));
  }

  private applyLonger(event: CandleEvent): readonly IndicatorEvent[] {
    const values = this.longer.admit(event);
    if (values === undefined) return NOTHING;
    const pair = this.pairOf(event.series);
    const { timeframe } = event.series;
    if (pair.longer !== undefined && pair.longer !== timeframe) {
      const problem = `is a stream of both ${pair.longer} and ${timeframe}`;
      throw new InvalidInputError("timeframe", "a stream with one timeframe for each pair", problem);
    }
    pair.longer = timeframe;
    // It is a new object after the longer series has begun anew.
    const isAnew = pair.values !== values;
    pair.values = values;
    const hasMoved = values.apply(event);
    return hasMoved || isAnew ? [...pair.joined].flatMap((joined) => joined.refresh(event)) : NOTHING;
  }

  private applyEvent(event: CandleEvent): readonly IndicatorEvent[] {
    const state = this.series.admit(event);
    if (state === undefined) return NOTHING;
    const pair = this.pairOf(event.series);
    const { longer, joined } = pair;
    if (longer !== undefined && !nests(event.series.timeframe, longer)) {
      const allowed = `a stream of a timeframe that is made of whole ${event.series.timeframe} intervals`;
      throw new InvalidInputError("timeframe", allowed, `is a stream of ${longer}`);
    }
    if (state.joined === undefined) {
      state.joined = new Joined(event.series, pair, this.indicators);
      joined.add(state.joined);
    }
    const told = state.joined.apply(event, false);
    if (event.status === "final") {
      let until = Infinity;
      for (const { finalUntil } of joined) until = Math.min(until, finalUntil);
      pair.values.forget(until);
    }
    return told;
  }

  private pairOf({ network, pairAddress, currency }: Series): PairState {
    const name = `${network} ${pairAddress} ${currency}`;
    let pair = this.pairs.get(name);
    if (pair === undefined) {
      const values = new TimeframeValues(this.indicators);
      pair = { values, longer: undefined, joined: new Set(), wait: new HistoryWait() };
      if (this.isLongerOver) pair.wait.end();
      this.pairs.set(name, pair);
    }
    return pair;
  }
}
