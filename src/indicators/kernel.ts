import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** The state of one indicator over one series of candles. */
export interface Kernel<T> {
  /**
   * Commits the next candle and gives the value after it; `undefined` while the indicator warms up. Those of this
   * package refuse a candle with a number that is not finite, with an `InvalidInputError`, and stay as they were.
   */
  push(candle: Candle): T | undefined;
  /** The value that pushing this candle would give; changes nothing, so that a running candle can be tried again. */
  peek(candle: Candle): T | undefined;
  /** An independent copy of the state, for rolling back. */
  fork(): Kernel<T>;
}

/** Registered, so that an indicator is known for one by every loaded copy of this package. */
const BRAND: unique symbol = Symbol.for("pairstream.indicator");

/** A maker of kernels with their arguments bound, such as `ema(9)`; each call gives a fresh kernel. */
export type Indicator<T> = (() => Kernel<T>) & {
  /** Put there by `indicator`, so that an indicator is told from any other function. */
  readonly [BRAND]: true;
};

/**
 * Makes an indicator of one's own out of a maker of kernels, for `withIndicators` and as the `source` of others.
 *
 * ```ts
 * import { indicator, type Kernel, sma } from "pairstream";
 *
 * const bodyOf = (): Kernel<number> => ({
 *   push: (candle) => Math.abs(candle.close - candle.open),
 *   peek: (candle) => Math.abs(candle.close - candle.open),
 *   fork: bodyOf,
 * });
 * const body = indicator(bodyOf);
 * const meanBody = sma(14, { source: body });
 * ```
 *
 * Throws an `InvalidInputError` where `make` is not a function.
 */
export function indicator<T>(make: () => Kernel<T>): Indicator<T> {
  if (typeof make !== "function") {
    throw new InvalidInputError("make", "a function that gives a fresh kernel", `is ${typeof make}`);
  }
  const kernels: () => Kernel<T> = () => make();
  return Object.defineProperty(kernels, BRAND, { value: true }) as Indicator<T>;
}

/** Tells an indicator from a plain function. */
export function isIndicator(value: unknown): value is Indicator<unknown> {
  return typeof value === "function" && (value as Partial<Indicator<unknown>>)[BRAND] === true;
}

/** What the kernels of this package extend: a number that they give is finite. */
export abstract class OwnKernel {}
