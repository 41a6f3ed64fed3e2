import { Beginning, EARLIEST, type ReadOptions } from "../candles/read/beginning.js";
import { onePerInterval } from "../candles/read/page.js";
import { MAX_LIMIT } from "../candles/read/pages.js";
import { type ClientCore, serviceNow } from "../client/core.js";
import { readPage, walkOf } from "../client/send/walk.js";
import type { Candle, Series, Timeframe } from "../contract/model.js";
import { ohlcvRoute } from "../contract/routes.js";
import type { Intervals } from "../timeframe.js";

/** The newest candles as one answer shows them, and when the service made that. */
export interface Newest {
  /** Ascending, the running one included. */
  readonly candles: readonly Candle[];
  readonly observedAt: number;
  readonly epoch: number;
}

/**
 * Asks for the newest `count` candles, wherever they lie: a request a page, of a service that tells of the newest first.
 * `undefined`: it tells of the oldest first, or shows nothing at all, which may hide something.
 */
export async function askNewest(
  core: ClientCore,
  series: Series<Timeframe>,
  intervals: Intervals,
  count: number,
  options: ReadOptions,
): Promise<Newest | undefined> {
  const beginning = new Beginning(core, series, intervals);
  for (let [isSought, isSecond] = [false, false]; ; ) {
    const from = beginning.start ?? intervals.start(EARLIEST);
    // One interval more, as the end may be exclusive.
    const to = Math.max(intervals.shift(intervals.end(serviceNow(core)), 1), intervals.shift(from, 1));
    const newest = await walkBack(core, series, { intervals, from, to, count }, options);
    if (newest === undefined) return undefined;
    const { candles, observedAt } = newest;
    if (candles.length === 0) {
      if (isSought || beginning.isReached(from)) return undefined;
      isSought = true;
      await beginning.learnCreation(observedAt, options);
      if (beginning.createdIn === undefined) return undefined;
      const sought = { start: from, end: to, at: observedAt, isSilent: true, known: undefined };
      await beginning.seek(sought, options);
      continue;
    }
    // By the time that it tells, the range may have ended before the present; only a first answer can tell that.
    if (isSecond || observedAt < to) return newest;
    isSecond = true;
  }
}

interface Sought {
  readonly intervals: Intervals;
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Follows the cursors of a range until it has shown so many candles; `undefined`: it begins with the oldest. */
async function walkBack(
  core: ClientCore,
  series: Series<Timeframe>,
  { intervals, from, to, count }: Sought,
  { priority, signal }: ReadOptions,
): Promise<Newest | undefined> {
  // Two rows tell which way a service goes.
  const limit = Math.min(MAX_LIMIT, count + 1);
  const walk = walkOf(core.send, {
    route: (cursor) => ohlcvRoute({ ...series, from, to, limit, cursor }),
    priority,
    signal,
    parse: (text, quote) => {
      const { page, refused, facts } = readPage(text, quote, series, intervals, { from, to });
      if (refused[0] !== undefined) throw refused[0].error;
      return { rows: page.result, facts };
    },
    needsClock: true,
  });
  const found: Candle[] = [];
  let first: Pick<Newest, "observedAt" | "epoch"> | undefined;
  for await (const { value, observedAt, epoch } of walk) {
    first ??= { observedAt, epoch };
    // Rows that were not asked for are none, such as those of hours that are still to come.
    found.push(...value.rows.filter(({ timestamp }) => timestamp >= from && timestamp < to));
    if (value.facts.cursor === undefined) break;
    if (found.length > 1 && isAscending(found)) return undefined;
    if (found.length > 1 && onePerInterval(found).length >= count) break;
  }
  return { candles: onePerInterval(found).slice(-count), ...first! };
}

function isAscending(rows: readonly Candle[]): boolean {
  return rows.every(({ timestamp }, at) => at === 0 || timestamp >= rows[at - 1]!.timestamp);
}
