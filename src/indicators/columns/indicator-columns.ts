import type { Candle } from "../../contract/model.js";
import { checkNames } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { fieldsOf, type Indicator } from "../kernel.js";
import type { CandleColumns, ColumnsOf } from "../rows.js";
import { checkSet } from "../set.js";
import { cut, type Fill, fillOf, type Out } from "./fill.js";
import { CHUNK, checkSeriesOf, kindOf } from "./series.js";

/**
 * The values of a set of indicators by column, by the names in that set: an array where the values are numbers, and
 * one a field where they are objects. NaN where there is no value.
 *
 * ```ts
 * import type { bollinger, ema, IndicatorColumns } from "pairstream";
 *
 * type Columns = IndicatorColumns<{ fast: ReturnType<typeof ema>; bands: ReturnType<typeof bollinger> }>;
 * const lastOf = ({ fast, bands }: Columns) => [fast.at(-1), bands.upper.at(-1)];
 * ```
 */
export type IndicatorColumns<I> = {
  readonly [Name in keyof I]: I[Name] extends Indicator<infer T> ? ColumnsOf<T> : never;
};

/** How `indicatorColumns` works. */
export interface IndicatorColumnsOptions<I> {
  /**
   * What an earlier call gave, or memory of the same form, to be written over and returned. Default: new arrays.
   */
  readonly into?: IndicatorColumns<I>;
}

/**
 * All values of indicators over a whole series at once, by column. It is several times as fast as to push candle by
 * candle, and makes no object a candle.
 *
 * The value at a place is, bit for bit, the one that a kernel gives right after the candle there, when it is pushed
 * every candle from the first one on. It is NaN where that kernel gives `undefined`, as while it warms up. The unit is
 * that of the indicator.
 *
 * `candles` is an array of candles, or an object of columns, one `Float64Array` a field of a candle; `swaps` may be
 * absent. Nothing is written there. Timestamps have to ascend, each later than the one before. All numbers of an array
 * of candles are checked; of columns, those of each column that an indicator reads, so a column that none reads costs
 * no time and may hold anything. A source that is a function, and an indicator made by `indicator`, gets each candle as
 * an object, and so reads all columns. If the values of such an indicator are objects, it has to name their `fields`.
 *
 * With `into`, the arrays of an earlier result are filled anew and returned, so a loop over many series needs no new
 * memory. Its names and fields have to be those of the indicators, its arrays as long as the series, and none may share
 * memory with another or with the columns. If the call throws, what they hold is undefined.
 *
 * ```ts
 * import { bollinger, type Candle, ema, indicatorColumns } from "pairstream";
 *
 * function shareAboveUpperBand(candles: readonly Candle[]): number {
 *   const { bands } = indicatorColumns({ trend: ema(200), bands: bollinger(20, 2) }, candles);
 *   return candles.filter(({ close }, at) => close > bands.upper[at]!).length / candles.length;
 * }
 * ```
 *
 * Throws an `InvalidInputError` if `indicators` is not an object of indicators; if columns are missing, not
 * `Float64Array`s or not of one length; if a number that is checked is not finite, or outside of -1e110 to 1e110; if
 * timestamps do not ascend; if `into` does not fit; or if a source, or an own indicator, gives what is no number.
 */
export function indicatorColumns<I extends Record<string, Indicator<unknown>>>(
  indicators: I,
  candles: readonly Candle[] | CandleColumns,
  options?: IndicatorColumnsOptions<I>,
): IndicatorColumns<I> {
  const set = checkSet(indicators);
  if (options !== undefined) checkNames(options, ["into"]);
  const series = checkSeriesOf(candles);
  const fields = new Map([...set].map(([name, indicator]) => [name, fieldsOf(indicator)]));
  const into = options?.into as Readonly<Record<string, Out>> | undefined;
  if (into !== undefined) checkInto(into, fields, series.length, series.memory);
  const outs = into ?? emptyOuts(fields, series.length);

  const fills: [fill: Fill, out: Out][] = [...set].map(([name, indicator]) => {
    return [fillOf(indicator(), name, fields.get(name)), outs[name]!];
  });
  for (let from = 0; from < series.length; from += CHUNK) {
    const to = Math.min(from + CHUNK, series.length);
    const rows = series.rows(from, to);
    for (const [fill, out] of fills) fill(rows, cut(out, from, to));
  }
  return outs as IndicatorColumns<I>;
}

type Fields = ReadonlyMap<string, readonly string[] | undefined>;

function emptyOuts(fields: Fields, length: number): Readonly<Record<string, Out>> {
  const outs = [...fields].map(([name, own]): [string, Out] => {
    if (own === undefined) return [name, new Float64Array(length)];
    return [name, Object.freeze(Object.fromEntries(own.map((field) => [field, new Float64Array(length)])))];
  });
  return Object.freeze(Object.fromEntries(outs));
}

function checkInto(
  into: Readonly<Record<string, Out>>,
  fields: Fields,
  length: number,
  memory: readonly Float64Array[],
): void {
  checkNamed(into, [...fields.keys()], "into");
  const taken = [...memory];
  const check = (place: unknown, parameter: string) => {
    if (!(place instanceof Float64Array)) {
      throw new InvalidInputError(parameter, "a Float64Array", `is ${kindOf(place)}`);
    }
    if (place.length !== length) {
      throw new InvalidInputError(
        parameter,
        `${length} numbers, one for each candle`,
        `has ${place.length} numbers`,
      );
    }
    if (taken.some((other) => isShared(place, other))) {
      throw new InvalidInputError(
        parameter,
        "an array with memory of its own",
        "shares its memory with another array",
      );
    }
    taken.push(place);
  };
  for (const [name, own] of fields) {
    if (own === undefined) {
      check(into[name], `into.${name}`);
      continue;
    }
    checkNamed(into[name], own, `into.${name}`);
    for (const field of own) check((into[name] as Record<string, unknown>)[field], `into.${name}.${field}`);
  }
}

/** Throws an `InvalidInputError` unless `value` is an object with exactly these names. */
function checkNamed(value: unknown, names: readonly string[], parameter: string): void {
  const allowed = `an object with ${names.join(", ")}, and nothing else`;
  if (typeof value !== "object" || value === null || value instanceof Float64Array) {
    throw new InvalidInputError(parameter, allowed, `is ${kindOf(value)}`);
  }
  const missing = names.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw new InvalidInputError(parameter, allowed, `has no ${missing}`);
  if (Object.keys(value).length > names.length) {
    throw new InvalidInputError(parameter, allowed, "has other names as well");
  }
}

function isShared(one: Float64Array, other: Float64Array): boolean {
  return (
    one.buffer === other.buffer &&
    one.byteOffset < other.byteOffset + other.byteLength &&
    other.byteOffset < one.byteOffset + one.byteLength
  );
}
