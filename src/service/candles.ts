import { BoundedMap } from "../bounded-map.js";
import type { Candle, Currency } from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import type { Swap, SwapPair } from "./swaps.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOURS = intervalsOf("1h");
/** How many candle sums one service remembers: five years of hours of one pair, or two days of hours of a thousand. */
const SUMS_KEPT = 50_000;

/** A range of candles of a pair, as known at an instant. */
export interface CandleRange {
  readonly pair: SwapPair;
  /** Identifies the pair within the service. */
  readonly pairKey: string;
  readonly intervals: Intervals;
  readonly currency: Currency;
  /** The earliest start of a candle, ms. */
  readonly from: number;
  /** All candles start before this instant, ms. */
  readonly to: number;
  readonly asOf: number;
}

/** The price of a swap in a currency; `undefined` if no token changed hands. */
export function priceOf(swap: Swap, currency: Currency): number | undefined {
  const price = (currency === "usd" ? swap.usdAmount : swap.nativeAmount) / swap.tokenAmount;
  return Number.isFinite(price) ? price : undefined;
}

/** Sums up swaps to candles. Each service has its own, which remembers settled sums. */
export class CandleReader {
  readonly #sums = new BoundedMap<string, Candle | null>(SUMS_KEPT);

  /** The last candles of a range, newest first, at most `limit`. */
  newest(range: CandleRange, limit: number): Candle[] {
    const { intervals } = range;
    const [oldest, newest] = edges(range);
    const result: Candle[] = [];
    // Slices double in width: a dense range is not read whole, and a sparse one takes few steps.
    for (let end = newest, width = limit; result.length < limit && end > oldest; width *= 2) {
      const start = intervals.shift(end, -Math.min(width, intervals.count(oldest, end)));
      const candles = this.#read(range, start, end);
      for (let at = candles.length - 1; at >= 0 && result.length < limit; at -= 1) result.push(candles[at]!);
      end = start;
    }
    return result;
  }

  /** The first candles of a range, oldest first, at most `limit`. */
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

  /** The candles between two interval starts, oldest first. */
  #read(range: CandleRange, from: number, to: number): Candle[] {
    const { intervals, pair } = range;
    // Long candles are always summed up from hours. The order of the additions shows in the last digit of a volume, and
    // a candle must be the same at each read.
    const isLong = intervals.shortest > HOUR;
    const parts = isLong ? HOURS : intervals;
    const isKept = settledAge(pair) < Infinity && (isLong || isPolled(intervals, from, to));
    const sums = isKept ? this.#keptSums(range, parts, from, to) : sumUp(range, parts, from, to);
    return isLong ? join(sums, intervals) : sums;
  }

  /** One candle per interval. A settled interval is remembered. */
  #keptSums(range: CandleRange, parts: Intervals, from: number, to: number): Candle[] {
    const { pair, pairKey, currency, asOf } = range;
    const name = `${currency} ${parts.shortest} ${pairKey} `;
    const age = settledAge(pair);
    const sums: Candle[] = [];
    for (let start = Math.max(from, parts.start(pair.createdAt)); start < to && start <= asOf; ) {
      const end = parts.end(start);
      // A later request may have remembered an interval that is not settled yet in this request's snapshot.
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

/** The age in ms from which a swap no longer changes. */
function settledAge({ settled = false }: SwapPair): number {
  return typeof settled === "number" ? settled : settled ? 0 : Infinity;
}

/**
 * Whether a poll may ask for these candles, and so ask again soon. A request for many candles is not a poll, and
 * looking them up one by one would be slow in a silence. Candles below a minute are summed up faster than looked up.
 */
function isPolled(intervals: Intervals, from: number, to: number): boolean {
  return intervals.shortest >= MINUTE && intervals.count(from, to) <= 16;
}

/** The start of the first interval in which a range can have a candle, and the end of the last one. */
function edges({ intervals, pair, from, to, asOf }: CandleRange): [oldest: number, newest: number] {
  const first = Math.max(from, intervals.start(pair.createdAt));
  const oldest = intervals.start(first) === first ? first : intervals.end(first);
  return [oldest, intervals.end(Math.min(to - 1, asOf))];
}

/** Sums up the swaps between two instants: one candle per interval, oldest first. */
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

/** Joins candles, oldest first, into longer ones. */
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

/** A candle under construction. */
type Sum = { -readonly [field in keyof Candle]: Candle[field] };

function add(sum: Sum, high: number, low: number, close: number, volume: number, swaps: number): void {
  if (high > sum.high) sum.high = high;
  if (low < sum.low) sum.low = low;
  sum.close = close;
  sum.volume = Math.min(sum.volume + volume, Number.MAX_VALUE);
  sum.swaps += swaps;
}
