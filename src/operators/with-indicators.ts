import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { InvalidInputError } from "../errors.js";
import { type Indicator, isIndicator } from "../indicators/kernel.js";
import { reduceBySeries } from "./by-series.js";
import { IndicatorChain, KernelSet } from "./indicator-chain.js";
import type { IndicatorValues } from "./indicator-event.js";

/**
 * Adds to every candle event the values of indicators right after it, corrections included.
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
 * later candle whose values it changes, ascending, with the `observedAt` of its cause, and `lateBy` and `live` as its own candle has them; its
 * `previous` is its `candle` then. Values that are objects are compared by what they hold, one level deep.
 * Revisions are its own: a candle's first event has that of the event it follows from (0 at birth), each
 * further one has one more than the last. What is final stays. What else an event holds stays on it,
 * values of a `withIndicators` before this one, too. Events, `values` and the objects in them are
 * frozen.
 *
 * It keeps the candles that are not final yet, and the indicators as of the newest final one, so do not
 * filter out the final events before it. Where the `new` of a candle was missed, the first event about it
 * comes out as `new`.
 *
 * Series may be merged; each is on its own. An event about a candle no newer than a final one begins its series anew
 * where it is `new`, as after the service's clock was set back; any other is left out, with a warning of the process.
 *
 * Throws an `InvalidInputError` where `indicators` is not an object of indicators, and where a name is `candle` or holds
 * a dot, which `crosses` could not tell from a path. The stream fails with one where a name is that of a value which is
 * there already, and with whatever an indicator throws.
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

/** Checks indicators by name, and keeps them as they are now. */
export function checkIndicators(
  indicators: Record<string, Indicator<unknown>>,
): ReadonlyMap<string, Indicator<unknown>> {
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
    if (name === "candle" || name.includes(".")) {
      throw new InvalidInputError(
        "indicators",
        "names without a dot, and not candle",
        `has the name "${name}"`,
      );
    }
    if (isIndicator(indicator)) continue;
    const problem = typeof indicator === "function" ? "is a function that is none" : `is ${typeof indicator}`;
    throw new InvalidInputError(`indicators.${name}`, "an indicator, such as ema(9)", problem);
  }
  return checked;
}
