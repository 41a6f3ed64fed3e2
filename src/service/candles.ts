import type { Candle, Currency } from "../contract.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import { Kept } from "./kept.js";
import type { Swap, SwapPair } from "./swaps.js";

const HOUR = 3_600_000;
const HOURS = intervalsOf("1h");
/** In all of a service; about five years of one pair, or two days of a thousand. */
const HOURS_KEPT = 50_000;

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

/** Sums swaps up to candles; one for each service, as it remembers ended hours of settled pairs. */
export class CandleReader {
  readonly #hours = new Kept<string, Candle | null>(HOURS_KEPT);

  /** The newest candles of a range, newest first, `limit` at most. */
  newest(range: CandleRange, limit: number): Candle[] {
    const { intervals, pair, asOf } = range;
    const from = Math.max(range.from, intervals.start(pair.createdAt));
    const oldest = intervals.start(from) === from ? from : intervals.end(from);
    const result: Candle[] = [];
    let end = intervals.end(Math.min(range.to - 1, asOf));
    // Slices double, so that neither a dense range is read whole nor a sparse one in many steps.
    for (let width = limit; result.length < limit && end > oldest; width *= 2) {
      const start = intervals.shift(end, -Math.min(width, intervals.count(oldest, end)));
      const candles = this.#read(range, start, end);
      for (let at = candles.length - 1; at >= 0 && result.length < limit; at -= 1) result.push(candles[at]!);
      end = start;
    }
    return result;
  }

  /** The candles from one start of an interval to another, oldest first. */
  #read(range: CandleRange, from: number, to: number): Candle[] {
    // Long candles are always summed up by the hour, remembered or not: the order of summation shows in the last
    // digit of a volume, and a candle must not differ from one read to the next.
    if (range.intervals.shortest <= HOUR) return join(singles(range, from, to), range.intervals);
    const hours = range.pair.settled
      ? this.#keptHours(range, from, to)
      : join(singles(range, from, to), HOURS);
    return join(hours, range.intervals);
  }

  /** The hours of a settled pair, each of them kept once it has ended. */
  *#keptHours(range: CandleRange, from: number, to: number): Iterable<Candle> {
    const { pair, pairKey, currency, asOf } = range;
    for (let hour = Math.max(from, HOURS.start(pair.createdAt)); hour < to && hour <= asOf; hour += HOUR) {
      const key = `${currency} ${hour} ${pairKey}`;
      // A later request may have kept an hour that is still running in the snapshot of this one.
      const isEnded = hour + HOUR <= asOf + 1;
      let sum = isEnded ? this.#hours.get(key) : undefined;
      if (sum === undefined) {
        sum = join(singles(range, hour, hour + HOUR), HOURS)[0] ?? null;
        if (isEnded) this.#hours.set(key, sum);
      }
      if (sum !== null) yield sum;
    }
  }
}

/** Each swap as a candle of its own, oldest first. */
function* singles({ pair, currency, asOf }: CandleRange, from: number, to: number): Iterable<Candle> {
  for (const swap of pair.swaps({ from, to: Math.min(to, asOf + 1), asOf })) {
    const price = priceOf(swap, currency);
    if (price === undefined) continue;
    const volume = currency === "usd" ? swap.usdAmount : swap.nativeAmount;
    yield { timestamp: swap.timestamp, open: price, high: price, low: price, close: price, volume, swaps: 1 };
  }
}

/** Sums parts up, oldest first, to one candle an interval. */
function join(parts: Iterable<Candle>, intervals: Intervals): Candle[] {
  const candles: { -readonly [field in keyof Candle]: Candle[field] }[] = [];
  let current: (typeof candles)[number] | undefined;
  let end = -Infinity;
  for (const part of parts) {
    if (current === undefined || part.timestamp >= end) {
      end = intervals.end(part.timestamp);
      current = { ...part, timestamp: intervals.start(part.timestamp) };
      candles.push(current);
      continue;
    }
    current.high = Math.max(current.high, part.high);
    current.low = Math.min(current.low, part.low);
    current.close = part.close;
    current.volume = Math.min(current.volume + part.volume, Number.MAX_VALUE);
    current.swaps += part.swaps;
  }
  return candles;
}
