import type { Known } from "pairstream/store";
import { candleAt, keyOf, MINUTE } from "./conformance-data.js";

/** The series that a process writes until it is killed. */
export const WRITTEN_KEYS = ["A", "B", "C"].map((address) => keyOf(address));
/** How many intervals they have. */
export const WRITTEN_INTERVALS = 5_000;

/** Whether an interval holds a candle; the same in every process. */
const hasCandle = (interval: number) => (interval * 2_654_435_761) % 2 ** 32 > 2 ** 30;

/** All that there is to know of some intervals. */
export function knownOf(from: number, to: number): Known {
  const intervals = Array.from({ length: to - from }, (_, index) => from + index).filter(hasCandle);
  return {
    from: from * MINUTE,
    to: to * MINUTE,
    candles: intervals.map((each) => candleAt(each, 1 + (each % 7))),
  };
}

export function drawKnown(random: () => number): Known {
  const from = Math.floor(random() * (WRITTEN_INTERVALS - 400));
  return knownOf(from, from + 1 + Math.floor(random() * 400));
}
