import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
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
/** Registered, too: where the names of a result's numbers are kept. */
const FIELDS: unique symbol = Symbol.for("pairstream.indicator.fields");

/** A factory of kernels with its arguments bound, such as `ema(9)`. Each call makes a fresh kernel. */
export type Indicator<T> = (() => Kernel<T>) & {
  /** Set by `indicator`; it marks a function as an indicator. */
  readonly [BRAND]: true;
  /** Set by `indicator`: the names of the numbers in its values, where those are objects. */
  readonly [FIELDS]?: readonly string[] | undefined;
};

/** What `indicator` may be told about the values of its kernels. */
export interface OwnIndicatorOptions<T> {
  /** The names of the numbers in a value, where a value is an object; `indicatorColumns` needs them. Default: none. */
  readonly fields?: readonly (keyof T)[];
}

/**
 * Makes a custom indicator from a function that makes kernels; for `withIndicators`, and as the `source` of other
 * indicators. If its values are objects, `fields` names their numbers for `indicatorColumns`.
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
 * Throws an `InvalidInputError` if `make` is not a function, or `fields` is not a list of different names.
 */
export function indicator<T>(make: () => Kernel<T>, options?: OwnIndicatorOptions<T>): Indicator<T> {
  if (typeof make !== "function") {
    throw new InvalidInputError("make", "a function that returns a new kernel", `is of type ${typeof make}`);
  }
  if (options !== undefined) checkNames(options, ["fields"]);
  return branded(make, checkFields(options?.fields));
}

/** An indicator that makes these kernels; nothing is checked. */
export function branded<T>(make: () => Kernel<T>, fields?: readonly string[]): Indicator<T> {
  const kernels: () => Kernel<T> = () => make();
  return Object.defineProperties(kernels, {
    [BRAND]: { value: true },
    [FIELDS]: { value: fields },
  }) as Indicator<T>;
}

/** The names of the numbers in the values of an indicator; `undefined` where the values are numbers, or nobody knows. */
export function fieldsOf(indicator: Indicator<unknown>): readonly string[] | undefined {
  return indicator[FIELDS];
}

function checkFields(fields: unknown): readonly string[] | undefined {
  if (fields === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(fields) ? fields : [];
  const areNames = names.every((name) => typeof name === "string" && name !== "__proto__");
  if (areNames && names.length > 0 && new Set(names).size === names.length) {
    return Object.freeze([...names]) as readonly string[];
  }
  throw new InvalidInputError("fields", "a list of at least one name, each once", `is ${show(fields)}`);
}

/** Whether a value is an indicator and not a plain function. */
export function isIndicator(value: unknown): value is Indicator<unknown> {
  return typeof value === "function" && (value as Partial<Indicator<unknown>>)[BRAND] === true;
}

/** Base class of this package's kernels. Their number values are finite, so no caller checks them again. */
export abstract class OwnKernel {}
