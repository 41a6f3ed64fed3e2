import { show } from "../../contract/input.js";
import type { Candle, Series, Timeframe, WeekStart } from "../../contract/model.js";
import type { Known, StoreKey, StoreRange } from "../../contract/store.js";
import { InvalidInputError } from "../../errors.js";
import { contradictionIn } from "./keeping/contradiction.js";

/** What makes a key, in the order in which they are written. */
export const KEY_FIELDS = [
  "service",
  "network",
  "pairAddress",
  "timeframe",
  "currency",
  "weekStart",
] as const;

/** The key of a series at a service. Where weeks begin means nothing to other timeframes. */
export function storeKeyOf(
  service: string,
  { network, pairAddress, timeframe, currency }: Series<Timeframe>,
  weekStart: WeekStart,
): StoreKey {
  const week = timeframe === "1w" ? weekStart : "monday";
  return Object.freeze({ service, network, pairAddress, timeframe, currency, weekStart: week });
}

/** The values of a key, in the order of `KEY_FIELDS`; throws an `InvalidInputError` for what is none. */
export function valuesOf(key: StoreKey): string[] {
  return KEY_FIELDS.map((field) => {
    const value: unknown = key?.[field];
    if (typeof value === "string") return value;
    throw new InvalidInputError(`key.${field}`, "a string", `is ${show(value)}`);
  });
}

/** Refuses to write what contradicts itself. */
export function checkKnown(known: Known): void {
  const { from, to, candles } = known;
  const problem = contradictionIn(known, { candles, covered: [{ from, to }] });
  if (problem === undefined) return;
  const allowed = "from before to, and the candles between them, ascending, each once";
  throw new InvalidInputError("known", allowed, `contradicts itself: ${problem}`);
}

/** Refuses a range that is none. */
export function checkStoreRange({ from, to, last = 0 }: StoreRange): void {
  if (!(from <= to)) {
    throw new InvalidInputError(
      "range",
      "from, and to that is not before it",
      `is ${show(from)} to ${show(to)}`,
    );
  }
  if (Number.isInteger(last) && last >= 0) return;
  throw new InvalidInputError("range.last", "a whole number of at least 0", `is ${show(last)}`);
}

/** A frozen candle of the same numbers, and nothing else. */
export function candleOf({ timestamp, open, high, low, close, volume, swaps }: Candle): Candle {
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}

/** The place of the first of ascending candles that is not before an instant. */
export function placeOf(candles: readonly Candle[], instant: number): number {
  let low = 0;
  let high = candles.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (candles[middle]!.timestamp < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
