import { applyCandleEvent, type CandleEvent } from "../../src/candles/event.js";
import type { CandleChange } from "../../src/candles/live/book.js";
import type { CandleRead } from "../../src/candles/read/range-reader.js";
import type { Candle, Series } from "../../src/contract/model.js";
import { intervalsOf } from "../../src/timeframe.js";

export const MINUTE = 60_000;
export const MINUTES = intervalsOf("1min");
/** The series of every event made by hand. */
export const SERIES: Series = Object.freeze({
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
});

/** A candle that stands still at a price, with one swap. */
export function flatCandle(timestamp: number, price = 1): Candle {
  return Object.freeze({
    timestamp,
    open: price,
    high: price,
    low: price,
    close: price,
    volume: 1,
    swaps: 1,
  });
}

/** The flat candle of the minute `minute`. */
export function minuteCandle(minute: number, price = 1): Candle {
  return flatCandle(minute * MINUTE, price);
}

/** The price of each candle, by minute. */
export type Prices = Readonly<Record<number, number>>;

/** A read of minutes `[from, to)` at an instant in ms; `prices` by minute. */
export function readOf(
  at: number,
  [from, to]: readonly [number, number],
  prices: Prices,
  more: Partial<CandleRead> = {},
): CandleRead {
  return {
    from: from * MINUTE,
    to: to * MINUTE,
    candles: Object.entries(prices).map(([minute, price]) => minuteCandle(Number(minute), price)),
    unreadable: new Set(),
    hasUnidentifiedRow: false,
    observedAt: at,
    epoch: 0,
    ...more,
  };
}

/** One change as a line: type, minute=price, status and revision. */
export function lineOf({ type, candle, status, revision }: CandleChange): string {
  return `${type} ${candle.timestamp / MINUTE}=${candle.close} ${status} r${revision}`;
}

/** Makes sure that nothing writes to what it is given. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freezeDeep(inner);
  return Object.freeze(value);
}

/** All candles at once: real ones and, where a minute is known to have none, flats; from the first one to `end`. */
export function filledBatch(
  real: ReadonlyMap<number, Candle>,
  isKnown: (timestamp: number) => boolean,
  end: number,
) {
  const filled: Candle[] = [];
  let close: number | undefined;
  for (let at = Math.min(...real.keys(), end); at < end; at += MINUTE) {
    const candle = real.get(at);
    if (candle !== undefined) filled.push(candle);
    else if (close !== undefined && isKnown(at)) {
      filled.push({ timestamp: at, open: close, high: close, low: close, close, volume: 0, swaps: 0 });
    }
    close = candle?.close ?? close;
  }
  return filled;
}

/** The candles as they stand after these events, ascending. */
export function standing(events: Iterable<CandleEvent>): Candle[] {
  const candles = new Map<number, Candle>();
  for (const event of events) applyCandleEvent(candles, event);
  return [...candles.values()].sort((a, b) => a.timestamp - b.timestamp);
}
