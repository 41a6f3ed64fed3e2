import { applyCandleEvent, type CandleEvent } from "../../src/candles/event.js";
import type { CandleChange } from "../../src/candles/read/book.js";
import type { FinalPart } from "../../src/candles/read/forward.js";
import type { Page } from "../../src/candles/read/page.js";
import type { Candle, Series, Timeframe } from "../../src/contract/model.js";
import { intervalsOf } from "../../src/timeframe.js";

export const MINUTE = 60_000;
export const MINUTES = intervalsOf("1min");
/** The series of every event made by hand. */
export const SERIES: Series<Timeframe> = Object.freeze({
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

/** What is unusual about an answer; its broken rows and the known candles that it lacks by minute. */
export interface PageTrouble extends Omit<Partial<Page>, "broken" | "lacking"> {
  readonly broken?: readonly number[];
  readonly lacking?: readonly number[];
}

/** What the service has answered about minutes `[from, to)`, made at an instant in ms; `prices` by minute. */
export function pageOf(
  at: number,
  [from, to]: readonly [number, number],
  prices: Prices,
  { broken = [], lacking = [], ...more }: PageTrouble = {},
): Page {
  const candles = Object.entries(prices)
    .map(([minute, price]) => minuteCandle(Number(minute), price))
    .sort((a, b) => a.timestamp - b.timestamp);
  return {
    from: from * MINUTE,
    to: to * MINUTE,
    at,
    epoch: 0,
    isInDoubt: false,
    candles,
    broken: broken.map((minute) => minute * MINUTE),
    lacking: lacking.map((minute) => minute * MINUTE),
    hasUnplaced: false,
    refusal: undefined,
    isEmpty: candles.length + broken.length === 0 && !more.hasUnplaced,
    bornAt: undefined,
    ...more,
  };
}

/** Minutes `[from, to)` of a history, read at an instant in ms. */
export function partOf(
  at: number,
  [from, to]: readonly [number, number],
  prices: Prices,
  more: Partial<FinalPart> = {},
): FinalPart {
  return {
    from: from * MINUTE,
    to: to * MINUTE,
    candles: pageOf(at, [from, to], prices).candles,
    unreadable: new Set(),
    hasUnplaced: false,
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
