import { lateness } from "../../candles/lateness.js";
import type { Told } from "../../client/metering.js";

/**
 * How late the candles close that an answer shows as closed, or as final, for the first time: for each of them the ms since
 * that was due, by the service's clock. What the first answer shows so was not waited for.
 */
export function closingsLateBy({
  rules,
  before,
  changes,
  observedAt,
}: Told & { type: "candles" }): readonly number[] {
  const { intervals, settle } = rules;
  if (before.epoch === undefined) return [];
  return changes.flatMap(({ type, status, candle: { timestamp } }) => {
    if (type === "removed" || status === "open") return [];
    const known = before.entries.find(({ candle }) => candle.timestamp === timestamp);
    return known?.status === "closed" ? [] : [lateness(observedAt, intervals.end(timestamp) + settle)];
  });
}
