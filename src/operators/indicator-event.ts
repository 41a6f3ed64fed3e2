import type { CandleEvent } from "../candles/event.js";
import type { Indicator } from "../indicators/kernel.js";

/** The values of a set of indicators, by the names in that set; `undefined` while an indicator warms up. */
export type IndicatorValues<I> = {
  readonly [K in keyof I]: I[K] extends Indicator<infer T> ? T | undefined : never;
};

/**
 * A candle event together with the values of the indicators right after it. A `removed` event has the last values that
 * its candle had. `V`: the type of `values`, such as `{ fast: number | undefined }`; `withIndicators` infers it.
 *
 * ```ts
 * import type { IndicatorEvent } from "pairstream";
 *
 * const spreadOf = ({ values }: IndicatorEvent<{ fast: number | undefined; slow: number | undefined }>) =>
 *   values.fast === undefined || values.slow === undefined ? undefined : values.fast - values.slow;
 * ```
 */
export type IndicatorEvent<V extends object = Readonly<Record<string, unknown>>> = CandleEvent & {
  /** The values by name, each in the unit of its indicator; frozen. */
  readonly values: V;
};
