import { dueAt, lateness } from "../lateness.js";
import type { CandleBook, CandleChange } from "../read/book.js";
import type { CandleRules } from "../rules.js";

/**
 * How late the candles close that some changes show as closed, or as final, for the first time: for each of them the ms
 * since that was due, by the service's clock. `before`: the book that was changed; `observedAt`: when that was true.
 */
export function closingsLateBy(
  rules: CandleRules,
  before: CandleBook,
  changes: readonly CandleChange[],
  observedAt: number,
): readonly number[] {
  return changes.flatMap(({ type, status, candle: { timestamp } }) => {
    if (type === "removed" || status === "open") return [];
    const known = before.entries.find(({ candle }) => candle.timestamp === timestamp);
    if (known?.status === "closed") return [];
    return [lateness(observedAt, dueAt(rules, timestamp, status, true))];
  });
}
