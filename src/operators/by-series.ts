import { defer, filter, from, map, type OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { SeriesStates } from "./series-states.js";
import { type Reducer, throughReducer } from "./through-reducer.js";

/** How late a close may be told. */
export interface CloseOptions {
  /**
   * In ms, against the event's `lateBy`: one that comes later is not emitted, now or when the candle becomes final.
   * Default: none is too late.
   */
  maxAge?: number;
}

/** The greatest `lateBy` with which an event is emitted. */
export function checkMaxAge(maxAge: number | undefined): number {
  return maxAge === undefined ? Number.POSITIVE_INFINITY : checkNumber("maxAge", maxAge, { min: 0 });
}

export function checkCloseOptions(options: CloseOptions): number {
  checkNames(options, ["maxAge"]);
  return checkMaxAge(options.maxAge);
}

/** Emits what the state of its series makes of each event, where that is something. */
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

/** As `throughReducer`, with a reducer for each series. */
export function reduceBySeries<E extends CandleEvent, Out extends object>(
  makeReducer: () => Reducer<E, Out>,
): OperatorFunction<E, Out> {
  return throughReducer(() => {
    const states = new SeriesStates(makeReducer);
    return { apply: (event: E) => states.admit(event)?.apply(event) ?? NOTHING };
  });
}
