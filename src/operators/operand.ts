import type { CandleEvent } from "../candles/event.js";
import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** A number of the candle itself, such as `candle.close`. */
export type CandlePath = `candle.${keyof Candle}`;

/**
 * The paths to the numbers among an event's values: `fast` if the value is a number, `bands.upper` if it is an object
 * of numbers.
 */
export type ValuePath<E> = E extends { readonly values: infer V }
  ? {
      [K in keyof V & string]-?: [NonNullable<V[K]>] extends [number]
        ? K
        : NonNullable<V[K]> extends infer T extends object
          ? `${K}.${{ [F in keyof T & string]-?: [NonNullable<T[F]>] extends [number] ? F : never }[keyof T & string]}`
          : never;
    }[keyof V & string]
  : never;

/** Gives a number for each event: a path into the event, or a function of it. */
export type Line<E> = CandlePath | ValuePath<E> | ((event: E) => number | undefined);

/** One of the two sides that `crosses` compares: a line or a level. */
export type Operand<E> = Line<E> | number;

const FIELDS: Record<keyof Candle, true> = {
  timestamp: true,
  open: true,
  high: true,
  low: true,
  close: true,
  volume: true,
  swaps: true,
};
const CANDLE_PATHS = Object.keys(FIELDS).map((field) => `candle.${field}`);

/** Reads the operand's value in an event; `undefined` while it has none. */
export type ReadOperand = (event: CandleEvent) => number | undefined;

/** Checks an operand as far as that is possible without an event, and returns its reader. */
export function operandReader<E extends CandleEvent>(parameter: string, operand: Operand<E>): ReadOperand {
  if (typeof operand === "number" && Number.isFinite(operand)) return () => operand;
  if (typeof operand === "function")
    return (event) => numberOrNothing(parameter, operand(event as E), "gives");
  if (typeof operand === "string") {
    const [first, second, ...more] = operand.split(".");
    if (first === "candle" && CANDLE_PATHS.includes(operand)) {
      return ({ candle }) => candle[second as keyof Candle];
    }
    if (first === "candle") {
      throw new InvalidInputError(parameter, CANDLE_PATHS.join(", "), `is ${show(operand)}`);
    }
    if (first !== "" && second !== "" && more.length === 0)
      return valueReader(parameter, operand, first!, second);
  }
  const allowed =
    "a path such as fast, bands.upper or candle.close, a finite number, or a function of an event";
  throw new InvalidInputError(parameter, allowed, `is ${show(operand)}`);
}

function valueReader(parameter: string, path: string, name: string, field: string | undefined): ReadOperand {
  return (event) => {
    const { values } = event as CandleEvent & { values?: Readonly<Record<string, unknown>> };
    if (typeof values !== "object" || values === null) {
      throw new InvalidInputError(
        "events",
        "the events of withIndicators",
        `have no values, so "${path}" cannot be read`,
      );
    }
    const value = values[name];
    if (value === undefined && Object.hasOwn(values, name)) return undefined;
    if (field === undefined && typeof value === "number") return value;
    if (field !== undefined && typeof value === "object" && value !== null && Object.hasOwn(value, field)) {
      return numberOrNothing(parameter, (value as Record<string, unknown>)[field], `is "${path}", which is`);
    }
    throw new InvalidInputError(parameter, allowedIn(values), `is "${path}"`);
  };
}

function numberOrNothing(parameter: string, value: unknown, said: string): number | undefined {
  if (value === undefined || typeof value === "number") return value;
  throw new InvalidInputError(parameter, "a number, or undefined", `${said} ${show(value)}`);
}

/** The paths to values that are numbers or not known yet. */
function allowedIn(values: Readonly<Record<string, unknown>>): string {
  const paths = Object.entries(values).flatMap(([name, value]) => {
    if (typeof value !== "object" || value === null) return [name];
    return Object.keys(value).map((field) => `${name}.${field}`);
  });
  return ["a number", ...paths, "candle.close and the like"].join(", ");
}
