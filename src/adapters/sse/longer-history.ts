import type { CheckedHistory, HistoryQuery } from "../../candles/history.js";
import { longerCandles } from "../../candles/longer-candle.js";
import { DEFAULT_SETTLE, mostIn } from "../../candles/making.js";
import { MOST_CANDLES } from "../../candles/options.js";
import type { Candle, Series, Timeframe } from "../../contract/model.js";

type Read = (query: Series<Timeframe> & HistoryQuery) => Promise<readonly Candle[]>;

/**
 * The closed candles that are wanted of a series that is made of another one. `read`: reads of that. `now`: about the
 * service's now.
 */
export async function readLonger(
  read: Read,
  { served, range, count, weekStart }: CheckedHistory,
  now: number,
): Promise<readonly Candle[]> {
  const { intervals, frames = intervals } = served.rules;
  const common = { ...served.series, weekStart };
  let to = Math.min(range.to, frames.start(now - DEFAULT_SETTLE));
  if (Number.isFinite(range.from)) {
    if (range.from >= to) return [];
    return longerCandles(frames, await read({ ...common, from: range.from, to })).slice(-count);
  }
  let candles: readonly Candle[] = [];
  for (;;) {
    // The first one may not be whole.
    const wanted = Math.min(MOST_CANDLES, (count - candles.length + 1) * mostIn(frames, intervals));
    const found = await read({ ...common, to, count: wanted });
    const longer = longerCandles(frames, found);
    const isAll = found.length < wanted;
    candles = [...(isAll ? longer : longer.slice(1)), ...candles];
    if (isAll || longer.length < 2 || candles.length >= count) return candles.slice(-count);
    to = candles[0]!.timestamp;
  }
}
