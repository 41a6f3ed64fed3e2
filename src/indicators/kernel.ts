import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** The state of one indicator over one series of candles. */
export interface Kernel<T> {
  /**
   * Commits the next candle and returns the value after it; `undefined` during the warm-up. The kernels of this package
   * throw an `InvalidInputError` for a candle with a number that is not finite, and keep their state.
   */
  push(candle: Candle): T | undefined;
  /**
   * The value that `push` would return for this candle. It changes nothing, so an open candle can be tried again and
   * again.
   */
  peek(candle: Candle): T | undefined;
  /** An independent copy of the state; for rolling back. */
  fork(): Kernel<T>;
}

/** A registered symbol: every loaded copy of this package recognizes the others' indicators. */
const BRAND: unique symbol = Symbol.for("pairstream.indicator");

/** A factory of kernels with its arguments bound, such as `ema(9)`. Each call makes a fresh kernel. */
export type Indicator<T> = (() => Kernel<T>) & {
  /** Set by `indicator`; it marks a function as an indicator. */
  readonly [BRAND]: true;
};

/**
 * Makes a custom indicator from a function that makes kernels; for `withIndicators`, and as the `source` of other
 * indicators.
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
 * Throws an `InvalidInputError` if `make` is not a function.
 */
export function indicator<T>(make: () => Kernel<T>): Indicator<T> {
  if (typeof make !== "function") {
    throw new InvalidInputError("make", "a function that gives a fresh kernel", `is ${typeof make}`);
  }
  const kernels: () => Kernel<T> = () => make();
  return Object.defineProperty(kernels, BRAND, { value: true }) as Indicator<T>;
}

/** Whether a value is an indicator and not a plain function. */
export function isIndicator(value: unknown): value is Indicator<unknown> {
  return typeof value === "function" && (value as Partial<Indicator<unknown>>)[BRAND] === true;
}

/** Base class of this package's kernels. Their number values are finite, so no caller checks them again. */
export abstract class OwnKernel {}
