import type { Observable } from "rxjs";
import type { CandleEvent } from "../../src/candles/event.js";
import type { Candle } from "../../src/contract/model.js";
import { MINUTE, minuteCandle } from "../candles/minute-candles.js";

/** What comes while it is subscribed to. */
export function collect(events: Observable<CandleEvent>) {
  const seen = { events: [] as CandleEvent[], error: undefined as unknown, hasCompleted: false };
  events.subscribe({
    next: (event) => seen.events.push(event),
    error: (error) => (seen.error = error),
    complete: () => (seen.hasCompleted = true),
  });
  return seen;
}

/** The minutes of their candles. */
export const minutesOf = (events: readonly CandleEvent[]) =>
  events.map(({ candle }) => candle.timestamp / MINUTE);

/** Candles that count what is asked of their iterator; endless where `length` is. */
export function counted(length = Number.POSITIVE_INFINITY) {
  const calls = { next: 0, return: 0 };
  const result = (): IteratorResult<Candle> => {
    calls.next += 1;
    return calls.next > length
      ? { done: true, value: undefined }
      : { done: false, value: minuteCandle(calls.next) };
  };
  const close = (): IteratorResult<Candle> => {
    calls.return += 1;
    return { done: true, value: undefined };
  };
  const candles: Iterable<Candle> = { [Symbol.iterator]: () => ({ next: result, return: close }) };
  const asyncCandles: AsyncIterable<Candle> = {
    [Symbol.asyncIterator]: () => ({ next: async () => result(), return: async () => close() }),
  };
  return { calls, candles, asyncCandles };
}

/** The same values, each after a microtask. */
export async function* later<T>(values: Iterable<T>): AsyncGenerator<T> {
  for (const value of values) yield value;
}
