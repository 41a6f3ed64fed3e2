import type { CandleEvent } from "../candles/event.js";
import type { AnyTimeframe, Series, WeekStart } from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import type { Bar } from "./inside-bar.js";
import { pairKeyOf, seriesKeyOf } from "./order.js";

/** What is known of a series. */
interface KnownSeries {
  readonly intervals: Intervals;
  /** Its last candle, over which the next one is written: a bar is looked at while it closes, and not kept. */
  readonly bar: { -readonly [Field in keyof Bar]: Bar[Field] };
  /** The timestamp of the newest candle that has closed. */
  closed: number;
}

/**
 * Candles that have closed, as brokers see them, out of the events of any number of series.
 *
 * A candle counts once, with the first event that says that it has closed, and only if no newer one of its series has:
 * what is corrected later is not traded again.
 */
export class BarReader {
  readonly #within: AnyTimeframe | undefined;
  readonly #weekStart: WeekStart;
  /** Until when the orders of a pair have seen candles. */
  readonly #filledUntil = new Map<string, number>();
  readonly #series = new Map<string, KnownSeries>();
  readonly #byObject = new WeakMap<Series, KnownSeries>();
  #last: { readonly series: Series; readonly known: KnownSeries } | undefined;
  #now = 0;
  #isLate = false;
  #fills: "own" | "pair" | "none" = "own";

  /** `within`: the broker's. `now`: what is known before the first event. */
  constructor(within: AnyTimeframe | undefined, weekStart: WeekStart, now: number) {
    this.#within = within;
    this.#weekStart = weekStart;
    this.#now = now;
  }

  /** The newest instant that any event has told of, ms since the epoch. */
  get now(): number {
    return this.#now;
  }

  /** Whether the last event is not live. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Which orders the last candle fills: those of its own series, of all series of its pair, or none. */
  get fills(): "own" | "pair" | "none" {
    return this.#fills;
  }

  /** The candle that closes with an event, if one does; it holds until the next one of its series. */
  read({ type, status, live, observedAt, candle, series }: CandleEvent): Bar | undefined {
    if (observedAt > this.#now) this.#now = observedAt;
    this.#isLate = !live;
    if (type === "removed" || status === "open") return undefined;
    const known = this.#knownOf(series);
    const { timestamp: start, open, high, low, close, volume } = candle;
    if (start <= known.closed) return undefined;
    known.closed = start;
    const { bar } = known;
    bar.start = start;
    bar.end = known.intervals.end(start);
    bar.observedAt = observedAt;
    bar.open = open;
    bar.high = high;
    bar.low = low;
    bar.close = close;
    bar.volume = volume;
    if (this.#within !== undefined) this.#fills = this.#fillsOf(bar);
    return bar;
  }

  /** Of candles of several lengths the shortest ones fill, from `within` on; a longer one where there was none. */
  #fillsOf({ pair, start, end }: Bar): "pair" | "none" {
    if ((this.#filledUntil.get(pair) ?? start) > start) return "none";
    this.#filledUntil.set(pair, end);
    return "pair";
  }

  #knownOf(series: Series): KnownSeries {
    const last = this.#last;
    if (last?.series === series) return last.known;
    let known = this.#byObject.get(series);
    if (known === undefined) {
      const key = seriesKeyOf(series);
      known = this.#series.get(key);
      if (known === undefined) {
        const intervals = intervalsOf(series.timeframe, this.#weekStart);
        const none = Number.NaN;
        const prices = { open: none, high: none, low: none, close: none, volume: none };
        const times = { start: none, end: none, observedAt: none };
        const bar = { series, pair: pairKeyOf(series), key, ...times, ...prices };
        known = { intervals, bar, closed: -Infinity };
        this.#series.set(key, known);
      }
      this.#byObject.set(series, known);
    }
    this.#last = { series, known };
    return known;
  }
}
