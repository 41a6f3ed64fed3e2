import { defer, filter, map, type OperatorFunction } from "rxjs";
import { checkChoice } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { CrossingDetector, type Line } from "./crossing-detector.js";
import type { IndicatorEvent } from "./indicator-event.js";

/** The names of those values that are numbers. */
export type NumericName<V> = {
  [K in keyof V]-?: K extends string ? ([NonNullable<V[K]>] extends [number] ? K : never) : never;
}[keyof V];

/** When `crosses` looks at a candle. */
export interface CrossesOptions {
  /** `"closed"`: when it is first closed or final, the default; `"final"`: when it can no longer change. */
  on?: "closed" | "final";
}

/** One line has crossed another. */
export interface Crossing<V extends object = Readonly<Record<string, unknown>>> {
  /** `up`: `a` was below `b` and now is above. */
  readonly direction: "up" | "down";
  /** The event with which the candle closed, or became final. */
  readonly event: IndicatorEvent<V>;
  /** The value or level `a` after that candle, in its own unit. */
  readonly a: number;
  /** The value or level `b` after that candle, in its own unit. */
  readonly b: number;
}

/**
 * Emits, frozen, where a value of `withIndicators` crosses another one or a level.
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
 * `a` and `b` are names of values that are numbers, or levels in their unit; one at least is a name. Each
 * candle is looked at once, when it is first closed, or final with `on: "final"`. The two cross where `a` is
 * then on the other side of `b` than it was after the candles before. Where they are equal the last side stays,
 * so that a touch is no crossing; candles without either value are passed over, and nothing crosses before a
 * side is known.
 *
 * Only `on: "final"` never repaints. With `"closed"` a crossing stands as it was seen: a later correction, or
 * the removal of the candle, neither takes it back nor makes one after the fact. The next candle is compared
 * with the ones before it as they are then. One that turns up late is looked at when it comes, and one that
 * comes back after its removal anew. Crossings of the history come too: their `event.live` is `false`.
 *
 * Throws an `InvalidInputError` where `a` or `b` is neither a name nor a finite number, both are numbers, or
 * `on` is unknown. The stream fails with one where its first event lacks a name, at the first value that is
 * no number, and where events of several series are mixed; and with a `PairstreamError` where an event is
 * about a candle no newer than a final one. It holds what is not final, so do not filter out the final events
 * before it.
 *
 * ```ts
 * import { type CandleEvent, crosses, ema, withIndicators } from "pairstream";
 * import { filter, type Observable } from "rxjs";
 *
 * const entries = (events: Observable<CandleEvent>) =>
 *   events.pipe(
 *     withIndicators({ fast: ema(9), slow: ema(21) }),
 *     crosses("fast", "slow", { on: "final" }),
 *     filter(({ direction, event }) => direction === "up" && event.live),
 *   );
 * ```
 */
export function crosses<V extends object>(
  a: NumericName<V>,
  b: NumericName<V> | number,
  options?: CrossesOptions,
): OperatorFunction<IndicatorEvent<V>, Crossing<V>>;
export function crosses<V extends object>(
  a: number,
  b: NumericName<V>,
  options?: CrossesOptions,
): OperatorFunction<IndicatorEvent<V>, Crossing<V>>;
export function crosses(
  a: Line,
  b: Line,
  options: CrossesOptions = {},
): OperatorFunction<IndicatorEvent, Crossing> {
  checkLine("a", a);
  checkLine("b", b);
  if (typeof a === "number" && typeof b === "number") {
    throw new InvalidInputError("b", "the name of a value, as a is a level", `is ${b}`);
  }
  checkNames(options, ["on"]);
  const on = options.on === undefined ? "closed" : checkChoice("on", options.on, ["closed", "final"]);
  return (events) =>
    defer(() => {
      const detector = new CrossingDetector(a, b, on);
      return events.pipe(
        map((event) => crossingOf(detector, event)),
        filter((crossing) => crossing !== undefined),
      );
    });
}

function crossingOf(detector: CrossingDetector, event: IndicatorEvent): Crossing | undefined {
  const sighting = detector.apply(event);
  if (sighting === undefined) return undefined;
  const { direction, a, b } = sighting;
  return Object.freeze({ direction, event, a, b });
}

function checkLine(parameter: string, line: Line): void {
  if (typeof line === "string" || (typeof line === "number" && Number.isFinite(line))) return;
  throw new InvalidInputError(
    parameter,
    "the name of a value, or a finite number",
    `is ${typeof line === "number" ? line : typeof line}`,
  );
}
