import { type Span, withoutSpan, withSpan } from "../coverage.js";
import type { StoreCall } from "../disk.js";

/** What of a series a store covers at an instant, and has not let go of. */
export function coveredAt(
  before: readonly Span[],
  calls: readonly StoreCall[],
  instant: number,
): readonly Span[] {
  let covered = before;
  for (const { operation, from, to, at, ended } of calls) {
    if (operation === "forget") covered = withoutSpan(covered, { from, to });
    else if (operation === "write" && ended?.isGood === true && ended.at < instant && at < instant)
      covered = withSpan(covered, { from, to });
  }
  return covered;
}
