import { InvalidInputError } from "../errors.js";
import { parseIsoInstant } from "./iso-instant.js";
import {
  CURRENCIES,
  type DateLike,
  NETWORKS,
  type Series,
  type SniperQuery,
  TIMEFRAMES,
  type Timeframe,
  WEEK_STARTS,
  type WeekStart,
} from "./model.js";
import { checkNames } from "./names.js";
import { ANY_TIMEFRAME, problemOf } from "./timeframes.js";

export const LATEST_INSTANT = /* @__PURE__ */ Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The longest delay of a timer, in ms. A timer with a longer delay fires at once. */
export const LONGEST_DELAY = 2_147_483_647;
const CALENDAR_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_ALLOWED =
  "a Date, ms since the epoch, ISO 8601 with a zone, or YYYY-MM-DD (UTC), from 1970 to 9999";

/**
 * A number in this range is refused as unix seconds (2001 to 5138). In ms it would lie between 1970 and 1973, before
 * any chain.
 */
const SECONDS = { from: 1e9, until: 1e11 };

/** What is wrong about an instant in such a number; `undefined` about any other one. */
export function secondsProblem(instant: number): string | undefined {
  const isMeant = instant >= SECONDS.from && instant < SECONDS.until;
  return isMeant ? `is ${instant}, which looks like unix seconds (in ms it is ${instant} * 1000)` : undefined;
}

/**
 * Converts a user's date to ms since the epoch. Throws an `InvalidInputError` if it is not a date from 1970 to 9999.
 */
export function toInstant(parameter: string, value: DateLike): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parseDate(value) : value;
  const problem = typeof value === "number" ? secondsProblem(value) : undefined;
  if (problem !== undefined) throw new InvalidInputError(parameter, DATE_ALLOWED, problem);
  if (typeof ms === "number" && ms >= 0 && ms <= LATEST_INSTANT) return ms;
  const hint =
    typeof value !== "string"
      ? ""
      : /^\d+$/.test(value)
        ? ", which is a text: give the number"
        : parseIsoInstant(`${value}Z`) === undefined
          ? ""
          : ", which has no zone: add Z for UTC";
  throw new InvalidInputError(parameter, DATE_ALLOWED, `is ${show(value)}${hint}`);
}

/** Throws an `InvalidInputError` unless `from` is before `to`. */
export function checkRange(from: number, to: number, names: { from: string; to: string }): void {
  if (from < to) return;
  const ends = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  throw new InvalidInputError(
    names.to,
    `an instant after ${names.from}`,
    `is not after ${names.from} (${ends})`,
  );
}

/**
 * Checks a series and returns its four fields, frozen. `names` lists the names that the object may hold; default: any.
 */
export function checkSeries<T extends Series>(series: T, names?: readonly string[]): Series {
  if (typeof series !== "object" || series === null) {
    const allowed = "an object with network, pairAddress, timeframe and currency";
    throw new InvalidInputError("series", allowed, `is ${show(series)}`);
  }
  if (names !== undefined) checkNames(series, names);
  return Object.freeze({
    network: checkChoice("network", series.network, NETWORKS),
    pairAddress: checkPairAddress(series.pairAddress),
    timeframe: checkTimeframe("timeframe", series.timeframe),
    currency: checkChoice("currency", series.currency, CURRENCIES),
  });
}

/** Returns a timeframe. Throws an `InvalidInputError` that names what is meant for anything else. */
export function checkTimeframe<T extends string>(parameter: string, value: T): T {
  const problem = typeof value === "string" ? problemOf(value) : "";
  if (problem === undefined) return value;
  throw new InvalidInputError(parameter, ANY_TIMEFRAME, `is ${show(value)}${problem}`);
}

/** Throws an `InvalidInputError` unless the service has the series itself. */
export function checkServed(series: Series): Series<Timeframe> {
  checkChoice<string>("timeframe", series.timeframe, TIMEFRAMES);
  return series as Series<Timeframe>;
}

/** Checks a sniper query and returns its own fields. `names` is as in `checkSeries`. */
export function checkSniperQuery(query: SniperQuery, names?: readonly string[]): SniperQuery {
  if (typeof query !== "object" || query === null) {
    throw new InvalidInputError("query", "an object with pairAddress", `is ${show(query)}`);
  }
  const { network } = query as { network?: unknown };
  if (network !== undefined) {
    const allowed = "none: sniper reports exist on mainnet only";
    throw new InvalidInputError("network", allowed, `is ${show(network)}`);
  }
  if (names !== undefined) checkNames(query, names);
  const pairAddress = checkPairAddress(query.pairAddress);
  if (query.blocksAfterCreation === undefined) return { pairAddress };
  const range = { min: 0, max: 1_000, integer: true };
  return {
    pairAddress,
    blocksAfterCreation: checkNumber("blocksAfterCreation", query.blocksAfterCreation, range),
  };
}

export function checkWeekStart(value: WeekStart | undefined): WeekStart {
  return value === undefined ? "monday" : checkChoice("weekStart", value, WEEK_STARTS);
}

export function checkLimit(value: number | undefined): number | undefined {
  return value === undefined ? undefined : checkNumber("limit", value, { min: 1, max: 1_000, integer: true });
}

/** Checks a boolean option; the default is false. */
export function checkFlag(parameter: string, value: boolean | undefined, shown = show): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new InvalidInputError(parameter, "true or false", `is ${shown(value)}`);
}

export function checkChoice<const T extends string>(
  parameter: string,
  value: T,
  choices: readonly NoInfer<T>[],
): T {
  if (choices.includes(value)) return value;
  const near = typeof value === "string" && value !== "" ? meant(value, choices) : undefined;
  const hint = near === undefined ? "" : ` (did you mean "${near}"?)`;
  throw new InvalidInputError(parameter, choices.join(", "), `is ${show(value)}${hint}`);
}

/** The only choice that begins so or, where none does, the one that differs in capitals: `1m` means `1min`, not `1M`. */
function meant(value: string, choices: readonly string[]): string | undefined {
  const begin = choices.filter((choice) => choice.startsWith(value));
  if (begin.length > 0) return begin.length === 1 ? begin[0] : undefined;
  return choices.find((choice) => choice.toLowerCase() === value.toLowerCase());
}

export function checkNumber(
  parameter: string,
  value: number,
  { min, max, integer = false, unit }: { min: number; max?: number; integer?: boolean; unit?: string },
  shown = show,
): number {
  const isAllowed =
    typeof value === "number" &&
    Number.isFinite(value) &&
    value >= min &&
    (max === undefined || value <= max) &&
    (!integer || Number.isInteger(value));
  if (isAllowed) return value;
  const kind = (integer ? "a whole number" : "a number") + (unit === undefined ? "" : ` of ${unit}`);
  const allowed = max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
  throw new InvalidInputError(parameter, allowed, `is ${shown(value)}`);
}

/** These characters keep an address inside its path segment and on the client's origin. */
const PAIR_ADDRESS = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

function checkPairAddress(value: string): string {
  if (typeof value === "string" && PAIR_ADDRESS.test(value)) return value;
  const allowed = "1 to 128 letters, digits, or _ . : -, the first a letter or digit";
  throw new InvalidInputError("pairAddress", allowed, value === "" ? "is empty" : `is ${show(value)}`);
}

function parseDate(text: string): number | undefined {
  if (!CALENDAR_DATE.test(text)) return parseIsoInstant(text);
  return parseIsoInstant(`${text}T00:00:00Z`);
}

/**
 * Describes a value for an error message, in ASCII. It does not use `printable`: each indicator would carry that in its
 * bundle.
 */
export function show(value: unknown): string {
  if (typeof value === "string") {
    const start = JSON.stringify(value.slice(0, 60)).replace(/[^ -~]/g, "?");
    return value.length > 60 ? `${start}…` : start;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** The same, where it matters what an object holds. */
export function showFields(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  const fields = typeof value === "object" ? Object.keys({ ...value }).slice(0, 8) : [];
  return show(value) + (fields.length > 0 ? ` with ${fields.join(", ")}` : "");
}
