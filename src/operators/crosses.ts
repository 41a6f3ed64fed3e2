import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkChoice } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type CloseOptions, checkMaxAge, mapBySeries } from "./by-series.js";
import { CrossingDetector } from "./crossing-detector.js";
import { type Line, type Operand, readerOf } from "./operand.js";

/** When `crosses` looks at a candle, and how late it may be. */
export interface CrossesOptions extends CloseOptions {
  /** `"closed"`: when it is first closed or final, the default; `"final"`: when it can no longer change. */
  on?: "closed" | "final";
}

/** One line has crossed another. */
export interface Crossing<E extends CandleEvent = CandleEvent> {
  /** `up`: `a` was below `b` and now is above. */
  readonly direction: "up" | "down";
  /** The event with which the candle closed, or became final. */
  readonly event: E;
  /** The value or level `a` after that candle, in its own unit. */
  readonly a: number;
  /** The value or level `b` after that candle, in its own unit. */
  readonly b: number;
}

/**
 * Emits, frozen, where a value crosses another one or a level.
 *
 * ```marbles
 * events                   a-b-c-d-e-|
 * crosses("fast", "slow")  ----p---q-|
 *
 * a: new 12:00 = 5, closed, fast 1, slow 2       b: new 12:01 = 6, open, fast 3, slow 2
 * c: updated 12:01 = 7, closed, fast 4, slow 2   d: new 12:02 = 6, closed, fast 2, slow 2
 * e: new 12:03 = 5, closed, fast 1, slow 2
 * p: up at 12:01, 4 and 2                        q: down at 12:03, 1 and 2
 * ```
 *
 * `a` and `b` are paths, functions of an event, or levels in their unit; one at least is no level. `"fast"` is a value
 * that `withIndicators` names so, `"bands.upper"` a number in one, `"candle.close"` one of the candle. Each candle is
 * looked at once, when it is first closed, or final with `on: "final"`. The two cross where `a` is then on the other side
 * of `b` than it was after the candles before. Where they are equal the last side stays, so that a touch is no crossing;
 * candles without either value are passed over, and nothing crosses before a side is known.
 *
 * Only `on: "final"` never repaints. With `"closed"` a crossing stands as it was seen: a later correction, or
 * the removal of the candle, neither takes it back nor makes one after the fact; a candle that was removed and comes back
 * is not told twice. The next candle is compared with the ones before it as they are then. One that turns up late is
 * looked at when it comes. Crossings of the history come too: their `event.live` is `false`. `maxAge` leaves out those
 * whose event comes later than that; they still move the side.
 *
 * Series may be merged; each is on its own. An event about a candle no newer than a final one begins its series anew
 * where it is `new`, as after the service's clock was set back; any other is left out, with a warning of the process. It
 * holds what is not final, so do not filter out the final events before it.
 *
 * Throws an `InvalidInputError` where `a` or `b` can be no path, level or function, both are levels, `on` is unknown or
 * `maxAge` is not a number of at least 0. The stream fails with one where the first event lacks a value, and at the first
 * one that is no number.
 *
 * ```ts
 * import { bollinger, type CandleEvent, crosses, withIndicators } from "pairstream";
 * import { filter, type Observable } from "rxjs";
 *
 * const breakouts = (events: Observable<CandleEvent>) =>
 *   events.pipe(
 *     withIndicators({ bands: bollinger(20, 2) }),
 *     crosses("candle.close", "bands.upper"),
 *     filter(({ direction, event }) => direction === "up" && event.live),
 *   );
 * ```
 */
export function crosses<E extends CandleEvent>(
  a: Line<E>,
  b: Operand<E>,
  options?: CrossesOptions,
): OperatorFunction<E, Crossing<E>>;
export function crosses<E extends CandleEvent>(
  a: number,
  b: Line<E>,
  options?: CrossesOptions,
): OperatorFunction<E, Crossing<E>>;
export function crosses<E extends CandleEvent>(
  a: Operand<E>,
  b: Operand<E>,
  options: CrossesOptions = {},
): OperatorFunction<E, Crossing<E>> {
  const [readA, readB] = [readerOf("a", a), readerOf("b", b)];
  if (typeof a === "number" && typeof b === "number") {
    throw new InvalidInputError("b", "a path or a function, as a is a level", `is ${b}`);
  }
  checkNames(options, ["on", "maxAge"]);
  const on = options.on === undefined ? "closed" : checkChoice("on", options.on, ["closed", "final"]);
  const maxAge = checkMaxAge(options.maxAge);
  return mapBySeries<E, CrossingDetector, Crossing<E>>(
    (former) => new CrossingDetector(readA, readB, on, former),
    (detector, event) => {
      const sighting = detector.apply(event);
      if (sighting === undefined || event.lateBy > maxAge) return undefined;
      const { direction, a, b } = sighting;
      return Object.freeze({ direction, event, a, b });
    },
  );
}
