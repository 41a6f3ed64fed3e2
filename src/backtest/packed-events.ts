import { type CandleEvent, frozenEvent } from "../candles/event.js";
import type { Series } from "../contract/model.js";

/** Numbers of each event: that of its series, when it was known, and its candle. */
const FIELDS = 9;

/** Events of the past as numbers, in memory that threads share. */
export function packEvents(events: readonly CandleEvent[], series: readonly Series[]): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(events.length * FIELDS * Float64Array.BYTES_PER_ELEMENT);
  const numbers = new Float64Array(buffer);
  const places = new Map(series.map((each, place) => [each, place]));
  events.forEach(({ candle, observedAt, series: of }, at) => {
    const { timestamp, open, high, low, close, volume, swaps } = candle;
    const row = [places.get(of)!, observedAt, timestamp, open, high, low, close, volume, swaps];
    numbers.set(row, at * FIELDS);
  });
  return buffer;
}

export function unpackEvents(buffer: SharedArrayBuffer, series: readonly Series[]): CandleEvent[] {
  const numbers = new Float64Array(buffer);
  const events: CandleEvent[] = [];
  for (let at = 0; at < numbers.length; at += FIELDS) {
    const [place, observedAt, timestamp, open, high, low, close, volume, swaps] = numbers.subarray(
      at,
      at + FIELDS,
    ) as unknown as [number, number, number, number, number, number, number, number, number];
    const candle = Object.freeze({ timestamp, open, high, low, close, volume, swaps });
    events.push(frozenEvent("new", candle, "final", 0, true, 0, observedAt, series[place]!));
  }
  return events;
}
