import { type Exchange, hasFalseDate } from "../exchanges.js";
import type { Monitor } from "./monitor.js";

/**
 * A cause shows in one of the last answers with a `Date`, those of so many seconds: a jump takes two of them, and the way back as
 * many again. What a cache gives once more shows none, and an answer of a second that was heard before may be a copy.
 */
const RECENT = 8;

/** Promise 11: neither machines whose clocks differ nor a cache is a clock that jumps, whatever its answers tell of their age. */
export const watchJumps: Monitor = ({ told, activities }, context) => {
  /** Whether what is believed of the time is what answers have lied: the way back may take as long as their Dates seem to come again. */
  let isOfLie = false;
  for (const { at, order, value } of activities) {
    if (value.type !== "clock" || !value.jumped) continue;
    // The answer by which it jumps is told of right after.
    const heard = told.slice(0, order + 1).filter(({ headers }) => headers.date !== undefined);
    const recent = lastOf(heard);
    const made = lastOf(heard.filter(({ old }) => old === 0));
    // A copy was made by the machine's clock as it was then.
    const first = Math.min(at, ...[...recent, ...made].map(({ sent, old }) => sent - old));
    const isWayBack = isOfLie;
    isOfLie = recent.some(hasFalseDate);
    if (isOfLie || isWayBack || context.clockWasSet(first, at)) continue;
    context.breach(11, `takes the service's clock for one that has jumped by ${value.offset} ms`, at);
    return;
  }
};

/** The last answers, of so many seconds. */
function lastOf(heard: readonly Exchange[]): readonly Exchange[] {
  const seconds = new Set<number | undefined>();
  const first = heard.findLastIndex(({ headers }) => seconds.add(headers.date).size > RECENT);
  return heard.slice(first + 1);
}
