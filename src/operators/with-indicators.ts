import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { InvalidInputError } from "../errors.js";
import type { Indicator } from "../indicators/kernel.js";
import { checkSet } from "../indicators/set.js";
import { reduceBySeries } from "./by-series.js";
import { IndicatorChain, KernelSet } from "./indicator-chain.js";
import type { IndicatorValues } from "./indicator-event.js";

/**
 * Adds the values of indicators to every candle event, corrections included.
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
 * `indicators` gives each indicator a name, and `values` has the same names. A value is `undefined` while its indicator
 * warms up. Each value is in the unit that its indicator documents. Intervals without a candle do not count; to count
 * them, watch with `fillGaps`.
 *
 * After every event the last values of each candle are those of a batch over the candles as they are then. A
 * correction, a removal or a late candle is therefore followed at once by an `updated` event for each later candle
 * whose values it changes, ascending. Such an event has the `observedAt` of its cause; `lateBy` and `live` are those of
 * its own candle, and `previous` equals `candle`. Values that are objects are compared by their fields, one level deep.
 * Revisions are counted by this operator: a candle's first event has the revision of the event that it follows from (0
 * for a new candle), and each further event has one more than the last. Final candles do not change. All other fields
 * of an event stay on it, as do the values of an earlier `withIndicators`. Events, `values` and the objects in them are
 * frozen.
 *
 * The operator keeps the candles that are not final yet, and the indicators as of the newest final one, so do not
 * filter out the final events before it. If the `new` event of a candle was missed, the first event about it is emitted
 * as `new`.
 *
 * Series may be merged; each is handled on its own. If an event is about a candle that is no newer than a final one, a
 * `new` event starts its series over, as after the service's clock was set back. Any other such event is left out, with
 * a warning of the process.
 *
 * Throws an `InvalidInputError` if `indicators` is not an object of indicators, or if a name is `candle` or contains a
 * dot, because `crosses` would take it for a path. The stream fails with that error if an event already has a value of
 * that name. It also fails with any error that an indicator throws.
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
export function withIndicators<
  I extends Record<string, Indicator<unknown>>,
  E extends CandleEvent = CandleEvent,
>(indicators: I): OperatorFunction<E, E & { readonly values: IndicatorValues<I> }> {
  const checked = checkIndicators(indicators);
  const names = [...checked.keys()];
  const operator = reduceBySeries(() => new IndicatorChain(KernelSet.of(checked), names));
  return operator as unknown as OperatorFunction<E, E & { readonly values: IndicatorValues<I> }>;
}

/** Checks the indicators, and copies them as they are now. */
export function checkIndicators(
  indicators: Record<string, Indicator<unknown>>,
): ReadonlyMap<string, Indicator<unknown>> {
  const checked = checkSet(indicators);
  for (const name of checked.keys()) {
    if (name !== "candle" && !name.includes(".")) continue;
    throw new InvalidInputError(
      "indicators",
      "names without a dot, other than candle",
      `has the name "${name}"`,
    );
  }
  return checked;
}
