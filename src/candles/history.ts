import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { checkNumber, checkRange } from "../contract/input.js";
import type { Candle, DateLike, Series, WeekStart } from "../contract/model.js";
import { namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type CandleRange, checkCandleRange, readPast } from "./fetch.js";
import { makingOf } from "./making.js";
import { openStored, pastOf, type StoredSeries } from "./read/past.js";
import { windowStart } from "./rules.js";

/** Which closed candles to read: all of a range, or only its newest ones. */
export interface HistoryQuery {
  /** Start of the range, inclusive, on the candles' timestamps; default: as far back as `count` goes. */
  from?: DateLike;
  /** End of the range, exclusive; default: the service's now. */
  to?: DateLike;
  /**
   * The number of candles, the newest ones, 1 to 100,000. Default: all from `from` on, at most 100,000 intervals; without `from` the
   * newest 1,000.
   */
  count?: number;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

const HISTORY_NAMES = namesOf<HistoryQuery>({ from: true, to: true, count: true, weekStart: true });
const MOST = 100_000;
const DEFAULT_COUNT = 1_000;

/** The same, checked; the range may have no beginning. */
export interface CheckedHistory extends CandleRange {
  readonly count: number;
}

/** Checks what a page asks for; `now`: about the service's now. Throws an `InvalidInputError`. */
export function checkHistory(query: Series & HistoryQuery, now: number): CheckedHistory {
  const checked = checkCandleRange(query, HISTORY_NAMES, makingOf, -Infinity);
  const { from: start, to: end } = checked.range;
  // A page asks for whole intervals.
  checkRange(start, end, { from: "from", to: "to" });
  const hasStart = Number.isFinite(start);
  const length = hasStart ? checked.rules.intervals.count(start, Math.max(start, Math.min(end, now))) : 0;
  if (query.count === undefined && length > MOST) {
    const allowed = `a range of at most ${MOST.toLocaleString("en")} intervals, or the last ones, by count`;
    throw new InvalidInputError(
      "from",
      allowed,
      `is ${length.toLocaleString("en")} intervals before the end of the range`,
    );
  }
  const standard = hasStart ? MOST : DEFAULT_COUNT;
  const count = checkNumber("count", query.count ?? standard, { min: 1, max: MOST, integer: true });
  return { ...checked, count };
}

/** The closed candles that a page wants, ascending; out of the client's store as far as it goes. */
export async function readHistory(
  client: Client,
  query: Series & HistoryQuery,
  signal: AbortSignal,
): Promise<readonly Candle[]> {
  const core = coreOf(client);
  const checked = checkHistory(query, serviceNow(core));
  const stored = openStored(core, checked);
  try {
    if (!Number.isFinite(checked.range.from)) return await newestBefore(core, checked, stored, signal);
    let candles: readonly Candle[] = [];
    for await (const read of readPast(core, checked, { stored }, signal))
      candles = [...candles, ...read.candles].slice(-checked.count);
    return candles;
  } finally {
    stored?.close();
  }
}

async function newestBefore(
  core: ClientCore,
  checked: CheckedHistory,
  stored: StoredSeries | undefined,
  signal: AbortSignal,
): Promise<readonly Candle[]> {
  const { rules, range, count } = checked;
  const past = pastOf(core, checked, stored);
  const closedUntil = () => Math.min(range.to, windowStart(rules, serviceNow(core)));
  // The first answer may tell that the service's clock is not this machine's.
  for (let until = closedUntil(), isSecond = false; ; isSecond = true) {
    const end = until;
    const query = { count, until: () => Math.min(end, closedUntil()), walk: { parts: [] } };
    const reads = await past.newest(query, { priority: "history", signal });
    const closed = closedUntil();
    if (isSecond || closed <= until) {
      const candles = reads.flatMap((read) => read.candles.filter(({ timestamp }) => timestamp < closed));
      return candles.slice(-count);
    }
    until = closed;
  }
}
