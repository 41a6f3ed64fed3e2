import {
  defer,
  from,
  map,
  merge,
  type Observable,
  type OperatorFunction,
  Subject,
  takeUntil,
  tap,
} from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkChoice } from "../contract/input.js";
import { TIMEFRAMES, type Timeframe } from "../contract/model.js";
import type { Indicator } from "../indicators/kernel.js";
import { reduceBySeries } from "./by-series.js";
import type { IndicatorEvent, IndicatorValues } from "./indicator-event.js";
import { throughReducer } from "./through-reducer.js";
import { OtherTimeframe, OwnTimeframe } from "./timeframe-join.js";
import { checkIndicators } from "./with-indicators.js";

/**
 * Adds to every candle event the values of indicators over a longer timeframe, as they were known at that event.
 *
 * ```marbles
 * events                                    a-b-c-d-e-|
 * withTimeframe("5min", { trend: sma(1) })  p-q-r-s-t-|
 *
 * a: new 12:00 = 1, final   b: new 12:03 = 4, final   c: new 12:04 = 3, open   d: updated 12:04 = 2, closed
 * e: new 12:05 = 6, open
 * p: new 12:00 = 1, final, trend undefined     q: new 12:03 = 4, final, trend undefined
 * r: new 12:04 = 3, open, trend undefined      s: updated 12:04 = 2, closed, trend 2
 * t: new 12:05 = 6, open, trend 2
 * ```
 *
 * They are those after the last candle of the longer timeframe that has closed and that had ended by the end of the
 * event's own candle: never of the running one, and of an older candle never what came after it. A longer candle counts
 * from the event that closes it on, so the last close inside it has its values. `timeframe` is one in which the events'
 * own nests. Weeks begin on Monday; for others hand in `events.pipe(resample("1w", { weekStart: "thursday" }))`.
 *
 * The longer candles are made of the events themselves, as `resample` makes them; the first is left out unless an event
 * about its first interval is seen, as it may lack its beginning. In place of `timeframe` a stream of the longer candles
 * will do, such as `watchCandles` of `1d` with a history: an EMA of 200 days out of minutes would want 288,000 of them.
 * It is subscribed to before the events, goes by network, pair and currency, and may be of several pairs; its error ends
 * the stream, its end does not.
 *
 * A correction carries through: where it changes values, it is followed by `updated` for each later candle that has them
 * and is not final, as in `withIndicators`. So does a longer candle of a stream that closes after an event that would
 * have had its values. Values that are there already stay. Series may be merged; each is on its own. An event about a
 * candle no newer than a final one begins its series anew where it is `new`; any other is left out, with a warning of
 * the process.
 *
 * Throws an `InvalidInputError` where `timeframe` is none, and for indicators as `withIndicators` does. The stream fails
 * with one where a name is that of a value which is there already, and at the first event that does not nest.
 *
 * ```ts
 * import { bollinger, type CandleEvent, closes, ema, withIndicators, withTimeframe } from "pairstream";
 * import { filter, type Observable } from "rxjs";
 *
 * const breakouts = (minutes: Observable<CandleEvent>) =>
 *   minutes.pipe(
 *     withIndicators({ bands: bollinger(20, 2) }),
 *     withTimeframe("1h", { trend: ema(50) }),
 *     closes(),
 *     filter(({ live, candle, values: { bands, trend } }) => {
 *       if (!live || bands === undefined || trend === undefined) return false;
 *       return candle.close > bands.upper && candle.close > trend;
 *     }),
 *   );
 * ```
 */
export function withTimeframe<
  I extends Record<string, Indicator<unknown>>,
  E extends CandleEvent = CandleEvent,
>(
  timeframe: Timeframe | Observable<CandleEvent>,
  indicators: I,
): OperatorFunction<E, E & { readonly values: IndicatorValues<I> }> {
  const checked = checkIndicators(indicators);
  const operator =
    typeof timeframe === "object" && timeframe !== null
      ? withStream(timeframe, checked)
      : withOwn(checkChoice("timeframe", timeframe, TIMEFRAMES), checked);
  return operator as unknown as OperatorFunction<E, E & { readonly values: IndicatorValues<I> }>;
}

type Indicators = ReadonlyMap<string, Indicator<unknown>>;
type Join = OperatorFunction<CandleEvent, IndicatorEvent>;

function withOwn(timeframe: Timeframe, indicators: Indicators): Join {
  return reduceBySeries(() => new OwnTimeframe(timeframe, indicators));
}

function withStream(longer: Observable<CandleEvent>, indicators: Indicators): Join {
  const reduce = throughReducer(() => new OtherTimeframe(indicators));
  return (source) =>
    defer(() => {
      const ended = new Subject<void>();
      const candles = from(longer).pipe(
        map((event) => ({ event, isLonger: true })),
        takeUntil(ended),
      );
      const events = from(source).pipe(
        map((event) => ({ event, isLonger: false })),
        tap({ complete: () => ended.next() }),
      );
      return merge(candles, events).pipe(reduce);
    });
}
