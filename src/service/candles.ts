import { BoundedMap } from "../bounded-map.js";
import type { Candle, Currency } from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import type { Swap, SwapPair } from "./swaps.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOURS = intervalsOf("1h");
/** Sums kept in all of a service: five years of hours of one pair, or two days of a thousand. */
const SUMS_KEPT = 50_000;

/** Which candles of a pair, as they were known when. */
export interface CandleRange {
  readonly pair: SwapPair;
  /** Names the pair among all of a service's. */
  readonly pairKey: string;
  readonly intervals: Intervals;
  readonly currency: Currency;
  /** The first instant at which an interval may start, ms. */
  readonly from: number;
  /** The instant before which the last one must start. */
  readonly to: number;
  readonly asOf: number;
}

/** The price of a swap in a currency; `undefined` where it has none, for no token changed hands. */
export function priceOf(swap: Swap, currency: Currency): number | undefined {
  const price = (currency === "usd" ? swap.usdAmount : swap.nativeAmount) / swap.tokenAmount;
  return Number.isFinite(price) ? price : undefined;
}

/** Sums swaps up to candles; one for each service, as it remembers settled sums. */
export class CandleReader {
  readonly #sums = new BoundedMap<string, Candle | null>(SUMS_KEPT);

  /** The last candles of a range, newest first, `limit` at most. */
  newest(range: CandleRange, limit: number): Candle[] {
    const { intervals } = range;
    const [oldest, newest] = edges(range);
    const result: Candle[] = [];
    // Slices double, so that neither a dense range is read whole nor a sparse one in many steps.
    for (let end = newest, width = limit; result.length < limit && end > oldest; width *= 2) {
      const start = intervals.shift(end, -Math.min(width, intervals.count(oldest, end)));
      const candles = this.#read(range, start, end);
      for (let at = candles.length - 1; at >= 0 && result.length < limit; at -= 1) result.push(candles[at]!);
      end = start;
    }
    return result;
  }

  /** The first candles of a range, oldest first, `limit` at most. */
  oldest(range: CandleRange, limit: number): Candle[] {
    const { intervals } = range;
    const [oldest, newest] = edges(range);
    const result: Candle[] = [];
    for (let start = oldest, width = limit; result.length < limit && start < newest; width *= 2) {
      const end = intervals.shift(start, Math.min(width, intervals.count(start, newest)));
      for (const candle of this.#read(range, start, end)) if (result.length < limit) result.push(candle);
      start = end;
    }
    return result;
  }

  /** The candles from one start of an interval to another, oldest first. */
  #read(range: CandleRange, from: number, to: number): Candle[] {
    const { intervals, pair } = range;
    // Long candles are always summed up by the hour, remembered or not: the order of summation shows in the last
    // digit of a volume, and a candle must not differ from one read to the next.
    const isLong = intervals.shortest > HOUR;
    const parts = isLong ? HOURS : intervals;
    const isKept = settledAge(pair) < Infinity && (isLong || isPolled(intervals, from, to));
    const sums = isKept ? this.#keptSums(range, parts, from, to) : sumUp(range, parts, from, to);
    return isLong ? join(sums, intervals) : sums;
  }

  /** One candle an interval, each of them kept once it has settled. */
  #keptSums(range: CandleRange, parts: Intervals, from: number, to: number): Candle[] {
    const { pair, pairKey, currency, asOf } = range;
    const name = `${currency} ${parts.shortest} ${pairKey} `;
    const age = settledAge(pair);
    const sums: Candle[] = [];
    for (let start = Math.max(from, parts.start(pair.createdAt)); start < to && start <= asOf; ) {
      const end = parts.end(start);
      // A later request may have kept an interval that still changes in the snapshot of this one.
      const isSettled = end + age <= asOf + 1;
      let sum = isSettled ? this.#sums.get(name + start) : undefined;
      if (sum === undefined) {
        sum = sumUp(range, parts, start, end)[0] ?? null;
        if (isSettled) this.#sums.set(name + start, sum);
      }
      if (sum !== null) sums.push(sum);
      start = end;
    }
    return sums;
  }
}

/** How old a swap is, ms, when nothing about it changes any more. */
function settledAge({ settled = false }: SwapPair): number {
  return typeof settled === "number" ? settled : settled ? 0 : Infinity;
}

/**
 * Whether a poll, which comes again soon, may ask for this. Many candles at once are none, and in a silence they would be
 * looked for one by one; those of less than a minute are summed up sooner than remembered.
 */
function isPolled(intervals: Intervals, from: number, to: number): boolean {
  return intervals.shortest >= MINUTE && intervals.count(from, to) <= 16;
}

/** The start of the first interval that a range can have a candle of, and the end of the last one. */
function edges({ intervals, pair, from, to, asOf }: CandleRange): [oldest: number, newest: number] {
  const first = Math.max(from, intervals.start(pair.createdAt));
  const oldest = intervals.start(first) === first ? first : intervals.end(first);
  return [oldest, intervals.end(Math.min(to - 1, asOf))];
}

/** One candle an interval, oldest first, from the swaps between two instants. */
function sumUp(
  { pair, currency, asOf }: CandleRange,
  intervals: Intervals,
  from: number,
  to: number,
): Candle[] {
  const candles: Sum[] = [];
  let current: Sum | undefined;
  let end = -Infinity;
  for (const swap of pair.swaps({ from, to: Math.min(to, asOf + 1), asOf })) {
    const price = priceOf(swap, currency);
    if (price === undefined) continue;
    const volume = currency === "usd" ? swap.usdAmount : swap.nativeAmount;
    if (current === undefined || swap.timestamp >= end) {
      end = intervals.end(swap.timestamp);
      const timestamp = intervals.start(swap.timestamp);
      current = { timestamp, open: price, high: price, low: price, close: price, volume, swaps: 1 };
      candles.push(current);
    } else {
      add(current, price, price, price, volume, 1);
    }
  }
  return candles;
}

/** Joins candles, oldest first, to longer ones. */
function join(parts: Iterable<Candle>, intervals: Intervals): Candle[] {
  const candles: Sum[] = [];
  let current: Sum | undefined;
  let end = -Infinity;
  for (const part of parts) {
    if (current === undefined || part.timestamp >= end) {
      end = intervals.end(part.timestamp);
      current = { ...part, timestamp: intervals.start(part.timestamp) };
      candles.push(current);
    } else {
      add(current, part.high, part.low, part.close, part.volume, part.swaps);
    }
  }
  return candles;
}

/** A candle that grows. */
type Sum = { -readonly [field in keyof Candle]: Candle[field] };

function add(sum: Sum, high: number, low: number, close: number, volume: number, swaps: number): void {
  if (high > sum.high) sum.high = high;
  if (low < sum.low) sum.low = low;
  sum.close = close;
  sum.volume = Math.min(sum.volume + volume, Number.MAX_VALUE);
  sum.swaps += swaps;
}
