import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { InvalidInputError } from "../errors.js";
import { type Indicator, isIndicator } from "../indicators/kernel.js";
import { IndicatorChain, KernelSet } from "./indicator-chain.js";
import type { IndicatorEvent, IndicatorValues } from "./indicator-event.js";
import { throughReducer } from "./through-reducer.js";

/**
 * Adds to every candle event of one series the values of indicators right after it, corrections included.
 *
 * ```marbles
 * events                            a-b-c-d---|
 * withIndicators({ mean: sma(2) })  p-q-r-(st)|
 *
 * a: new 12:00 = 2, closed                     b: new 12:01 = 4, open
 * c: updated 12:01 = 6, open                   d: updated 12:00 = 4, closed
 * p: new 12:00 = 2, closed, mean undefined     q: new 12:01 = 4, open, mean 3
 * r: updated 12:01 = 6, open, mean 4           s: updated 12:00 = 4, closed, mean undefined
 * t: updated 12:01 = 6, open, mean 5
 * ```
 *
 * `indicators` names them, and `values` has these names; a value is `undefined` while its indicator warms up.
 * Each is in the unit that its indicator says. Intervals without a candle are left out: where they should
 * count, watch with `fillGaps`.
 *
 * After every event the last values of each candle are those of a batch over the candles as they now stand. A
 * correction, a removal or a candle that turns up late is therefore followed, at once, by `updated` for each
 * later candle whose values it changes, ascending, with the `live` and `observedAt` of its cause; its
 * `previous` is its `candle` then. Values that are objects are compared by what they hold, one level deep.
 * Revisions are its own: a candle's first event has that of the event it follows from (0 at birth), each
 * further one has one more than the last. What is final stays. Events, `values` and the objects in them are
 * frozen.
 *
 * It keeps the candles that are not final yet, and the indicators as of the newest final one, so do not
 * filter out the final events before it. Where the `new` of a candle was missed, the first event about it
 * comes out as `new`.
 *
 * Throws an `InvalidInputError` where `indicators` is not an object of indicators. The stream fails with one
 * where events of several series are mixed (part them with `groupBy`); with whatever an indicator throws; and
 * with a `PairstreamError` where an event is about a candle no newer than a final one: the service's clock
 * was set back then, or the events are not in their order. Subscribing anew, as `retry` does, begins with the
 * history again.
 *
 * ```ts
 * import { type CandleEvent, ema, rsi, withIndicators } from "pairstream";
 * import { filter, type Observable } from "rxjs";
 *
 * const dips = (events: Observable<CandleEvent>) =>
 *   events.pipe(
 *     withIndicators({ trend: ema(200), strength: rsi(14) }),
 *     filter(({ status, candle, values: { trend, strength } }) => {
 *       if (status !== "closed" || trend === undefined || strength === undefined) return false;
 *       return candle.close > trend && strength < 30;
 *     }),
 *   );
 * ```
 */
export function withIndicators<I extends Record<string, Indicator<unknown>>>(
  indicators: I,
): OperatorFunction<CandleEvent, IndicatorEvent<IndicatorValues<I>>> {
  const checked = checkIndicators(indicators);
  const operator = throughReducer(() => new IndicatorChain(KernelSet.of(checked)));
  return operator as OperatorFunction<CandleEvent, IndicatorEvent<IndicatorValues<I>>>;
}

function checkIndicators(indicators: Record<string, Indicator<unknown>>) {
  if (typeof indicators !== "object" || indicators === null || Array.isArray(indicators)) {
    throw new InvalidInputError(
      "indicators",
      "an object of indicators by name, such as { fast: ema(9) }",
      `is ${indicators === null ? "null" : Array.isArray(indicators) ? "an array" : typeof indicators}`,
    );
  }
  const checked = new Map(Object.entries(indicators));
  for (const [name, indicator] of checked) {
    if (name === "__proto__") {
      throw new InvalidInputError("indicators", "names other than __proto__", "has a name that objects keep");
    }
    if (isIndicator(indicator)) continue;
    const problem = typeof indicator === "function" ? "is a function that is none" : `is ${typeof indicator}`;
    throw new InvalidInputError(`indicators.${name}`, "an indicator, such as ema(9)", problem);
  }
  return checked;
}
