import { defer, filter, from, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { SeriesStates } from "./series-states.js";
import { type Reducer, throughReducer } from "./through-reducer.js";

/** How late a close may come and still be emitted. */
export interface CloseOptions {
  /**
   * The greatest `lateBy` of an event, in ms. A close that comes later is not emitted, not even when its candle becomes
   * final. Default: no limit.
   */
  maxAge?: number;
}

/** The greatest `lateBy` with which an event is emitted. */
export function checkMaxAge(maxAge: number | undefined): number {
  return maxAge === undefined ? Infinity : checkNumber("maxAge", maxAge, { min: 0, unit: "ms" });
}

export function checkCloseOptions(options: CloseOptions): number {
  checkNames(options, ["maxAge"]);
  return checkMaxAge(options.maxAge);
}

/** Hands each event to the state of its series, and emits the result unless it is `undefined`. */
export function mapBySeries<E extends CandleEvent, S extends object, Out extends object>(
  make: (former?: S) => S,
  take: (state: S, event: E) => Out | undefined,
): OperatorFunction<E, Out> {
  return (source) =>
    defer(() => {
      const states = new SeriesStates(make);
      return from(source).pipe(
        map((event) => {
          const state = states.admit(event);
          return state === undefined ? undefined : take(state, event);
        }),
        filter((result) => result !== undefined),
      );
    });
}

const NOTHING: readonly never[] = [];

/** Like `throughReducer`, with one reducer per series. */
export function reduceBySeries<E extends CandleEvent, Out extends object>(
  makeReducer: () => Reducer<E, Out>,
): OperatorFunction<E, Out> {
  return throughReducer(() => {
    const states = new SeriesStates(makeReducer);
    return { apply: (event: E) => states.admit(event)?.apply(event) ?? NOTHING };
  });
}
