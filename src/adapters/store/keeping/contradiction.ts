import { isCount, wrongFieldOf } from "../../../contract/candle-numbers.js";
import type { Candle } from "../../../contract/model.js";
import type { StoredCandles } from "../../../contract/store.js";
import type { Span } from "../../../spans.js";

/**
 * Why a store cannot hold what it says it does of a range; `undefined` where it can. `isStart`: whether an instant begins an
 * interval, where that is known.
 */
export function contradictionIn(
  { from, to }: Span,
  held: StoredCandles,
  isStart: (instant: number) => boolean = () => true,
): string | undefined {
  // What comes from a store is not always what it should be.
  const { candles, covered } = (held ?? {}) as Partial<StoredCandles>;
  if (!Array.isArray(candles) || !Array.isArray(covered)) return "it lacks candles or covered";
  let reached = -Infinity;
  for (const span of covered as readonly Span[]) {
    const isSpan = isStart(span?.from) && isStart(span.to) && span.from < span.to;
    if (!isSpan || span.from < reached || span.from < from || span.to > to) {
      return `${nameOf(span?.from)} to ${nameOf(span?.to)} is not a span that can be covered here`;
    }
    reached = span.to;
  }
  let newest = -Infinity;
  let at = 0;
  for (const candle of candles as readonly Candle[]) {
    const timestamp = candle?.timestamp;
    const wrong = !isCount(timestamp) || !isStart(timestamp) ? "timestamp" : wrongFieldOf(candle);
    if (wrong !== undefined) return `the candle of ${nameOf(timestamp)} has a ${wrong} that is not allowed`;
    if (timestamp <= newest)
      return `the candle of ${nameOf(timestamp)} comes after that of ${nameOf(newest)}`;
    newest = timestamp;
    while (at < covered.length && covered[at]!.to <= timestamp) at++;
    if (at === covered.length || covered[at]!.from > timestamp) {
      return `the candle of ${nameOf(timestamp)} lies outside of what is covered`;
    }
  }
  return undefined;
}

function nameOf(instant: unknown): string {
  const isInstant = typeof instant === "number" && Math.abs(instant) <= 8.64e15;
  return isInstant
    ? new Date(instant).toISOString()
    : `${typeof instant === "number" ? instant : typeof instant}`;
}
