import { mostIn } from "../../candles/making.js";
import { type CandleWatch, MOST_CANDLES, type WatchOptions } from "../../candles/options.js";
import { MOST_WINDOW } from "../../candles/rules.js";
import type { Series, Timeframe } from "../../contract/model.js";

/**
 * What to ask a gateway for, so that what is watched can be made of it: a series of the service, from the beginning of the
 * first longer candle on. A gateway has one channel for all that is made of a series.
 */
export function servedOptions(
  asked: Series & WatchOptions,
  watch: CandleWatch,
): Series<Timeframe> & WatchOptions {
  const { timeframe } = watch.served.series;
  const { frames, intervals } = watch.served.rules;
  if (frames === undefined) return { ...asked, timeframe };
  const length = mostIn(frames, intervals);
  const { revisionWindow } = asked;
  const window = revisionWindow && { revisionWindow: Math.min(MOST_WINDOW, revisionWindow * length) };
  return { ...asked, timeframe, since: sinceOf(watch, length), ...window };
}

function sinceOf({ since }: CandleWatch, length: number): number | { candles: number } {
  if (typeof since === "number") return since;
  // The first one may not be whole.
  const wanted = since === undefined ? length : (since.candles + 1) * length;
  return { candles: Math.min(MOST_CANDLES, wanted) };
}
