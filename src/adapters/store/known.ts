import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import type { Known, StoreRange } from "../../contract/store.js";
import { InvalidInputError } from "../../errors.js";
import { contradictionIn } from "./keeping/contradiction.js";

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
