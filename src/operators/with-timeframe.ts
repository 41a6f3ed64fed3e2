import {
  defer,
  endWith,
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
import { checkTimeframe } from "../contract/input.js";
import type { AnyTimeframe } from "../contract/model.js";
import type { Indicator } from "../indicators/kernel.js";
import { reduceBySeries } from "./by-series.js";
import type { IndicatorEvent, IndicatorValues } from "./indicator-event.js";
import { throughReducer } from "./through-reducer.js";
import { type Joining, OtherTimeframe, OwnTimeframe } from "./timeframe-join.js";
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
 * The values are those after the last longer candle that has closed and that ended no later than the event's own
 * candle. A running longer candle never counts, and an older candle never gets values that came after it. A longer
 * candle counts from the event that closes it, so the last close inside it has its values. The timeframe of the events
 * has to nest in `timeframe`. Weeks begin on Monday; for another day pass `events.pipe(resample("1w", { weekStart:
 * "thursday" }))`.
 *
 * The longer candles are made from the events themselves, as `resample` makes them. The first one may lack its
 * beginning, so it is left out unless an event about its first interval is seen. Instead of `timeframe` you may pass a
 * stream of the longer candles, such as `watchCandles` of `1d` with a history: an EMA of 200 days needs 288,000
 * minutes. That stream is subscribed to before the events. It is matched by network, pair and currency, and may hold
 * several pairs. Its error ends the result, its end does not. A history of the events, and what comes at once with it, waits until
 * the longer candles reach it, but no longer than until the next live close.
 *
 * A correction carries through: if it changes values, an `updated` event follows for each later candle that has them
 * and is not final, as in `withIndicators`. The same happens if a longer candle of a stream closes after an event that
 * should have had its values. Values that an event already has stay. Series may be merged; each is handled on its own.
 * If an event is about a candle that is no newer than a final one, a `new` event starts its series over. Any other such
 * event is left out, with a warning of the process.
 *
 * Throws an `InvalidInputError` if `timeframe` is unknown, and for indicators as `withIndicators` does. The stream
 * fails with that error if an event already has a value of that name, and at the first event that does not nest.
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
  timeframe: AnyTimeframe | Observable<CandleEvent>,
  indicators: I,
): OperatorFunction<E, E & { readonly values: IndicatorValues<I> }> {
  const checked = checkIndicators(indicators);
  const operator =
    typeof timeframe === "object" && timeframe !== null
      ? withStream(timeframe, checked)
      : withOwn(checkTimeframe("timeframe", timeframe), checked);
  return operator as unknown as OperatorFunction<E, E & { readonly values: IndicatorValues<I> }>;
}

type Indicators = ReadonlyMap<string, Indicator<unknown>>;
type Join = OperatorFunction<CandleEvent, IndicatorEvent>;

function withOwn(timeframe: AnyTimeframe, indicators: Indicators): Join {
  return reduceBySeries(() => new OwnTimeframe(timeframe, indicators));
}

function withStream(longer: Observable<CandleEvent>, indicators: Indicators): Join {
  const reduce = throughReducer(() => new OtherTimeframe(indicators));
  return (source) =>
    defer(() => {
      const ended = new Subject<void>();
      const candles = from(longer).pipe(
        map((event): Joining => ({ event, isLonger: true })),
        endWith<Joining>({ hasEnded: true, isLonger: true }),
        takeUntil(ended),
      );
      const events = from(source).pipe(
        map((event): Joining => ({ event, isLonger: false })),
        endWith<Joining>({ hasEnded: true, isLonger: false }),
        tap({ complete: () => ended.next() }),
      );
      return merge(candles, events).pipe(reduce);
    });
}
