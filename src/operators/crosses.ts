import type { OperatorFunction } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkChoice } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { type CloseOptions, checkMaxAge, mapBySeries } from "./by-series.js";
import { CrossingDetector } from "./crossing-detector.js";
import { type Operand, operandReader } from "./operand.js";

/** When `crosses` looks at a candle, and how late it may be. */
export interface CrossesOptions extends CloseOptions {
  /** `"closed"`, the default: when it is first closed or final. `"final"`: when it can no longer change. */
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
 * Emits a frozen `Crossing` when a value crosses another value or a level.
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
 * `a` and `b` are paths, functions of an event, or levels in the unit of the other one; at most one is a level. The
 * path `"fast"` reads the value that `withIndicators` calls `fast`, `"bands.upper"` reads a number inside a value, and
 * `"candle.close"` reads a number of the candle. Each candle is looked at once: when it first closes, or with `on:
 * "final"` when it becomes final. A crossing is where `a` is then on the other side of `b` than it was after the
 * candles before. If the two are equal, the last side stays, so a touch is no crossing. A candle that lacks one of the
 * two values is passed over. Nothing crosses until a first side is known.
 *
 * Only `on: "final"` never repaints. With `"closed"`, a crossing is never changed: if the candle is corrected or
 * removed later, no crossing is taken back and none is added. If it is removed and comes back, its crossing is not
 * emitted again. The next candle is compared with the candles before it as they are by then. A late candle is looked at
 * when it comes. Crossings of the history are emitted too, with `event.live` set to `false`. With `maxAge`, crossings
 * whose event comes later than that are left out, but they still change the side.
 *
 * Series may be merged; each is handled on its own. If an event is about a candle that is no newer than a final one, a
 * `new` event starts its series over, as after the service's clock was set back. Any other such event is left out, with
 * a warning of the process. The operator holds every candle until it is final, so do not filter out the final events
 * before it.
 *
 * Throws an `InvalidInputError` if `a` or `b` is no path, level or function, if both are levels, if `on` is unknown, or
 * if `maxAge` is not a number of at least 0. The stream fails with that error if the first event has no such value, and
 * at the first value that is not a number.
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
  a: Operand<E>,
  b: Operand<E>,
  options: CrossesOptions = {},
): OperatorFunction<E, Crossing<E>> {
  const [readA, readB] = [operandReader("a", a), operandReader("b", b)];
  if (typeof a === "number" && typeof b === "number") {
    throw new InvalidInputError(
      "b",
      "a path or a function where a is a number",
      `is ${b}, as a is a number, too`,
    );
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
