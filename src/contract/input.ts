import { InvalidInputError } from "../errors.js";
import { parseIsoInstant } from "./iso-instant.js";
import {
  CURRENCIES,
  type DateLike,
  NETWORKS,
  type Series,
  type SniperQuery,
  TIMEFRAMES,
  WEEK_STARTS,
  type WeekStart,
} from "./model.js";
import { checkNames } from "./names.js";

const LATEST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The longest delay of a timer, in ms: one that is longer fires at once. */
export const LONGEST_DELAY = 2_147_483_647;
const CALENDAR_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_ALLOWED =
  "a Date, ms since the epoch, ISO 8601 with a zone, or YYYY-MM-DD (UTC), from 1970 to 9999";

/** Numbers in between are years from 2001 on in seconds, and a day between 1970 and 1973 in ms, before any chain. */
const SECONDS = { from: 1e9, until: 1e11 };

/** The instant in ms that a user's date stands for; throws an `InvalidInputError` where it stands for none. */
export function toInstant(parameter: string, value: DateLike): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parseDate(value) : value;
  if (typeof value === "number" && value >= SECONDS.from && value < SECONDS.until) {
    const problem = `is ${value}, which can only be unix seconds (${value} * 1000 would be the same in ms)`;
    throw new InvalidInputError(parameter, DATE_ALLOWED, problem);
  }
  if (typeof ms === "number" && ms >= 0 && ms <= LATEST_INSTANT) return ms;
  throw new InvalidInputError(parameter, DATE_ALLOWED, `is ${show(value)}`);
}

/** Refuses a range that is not one. */
export function checkRange(from: number, to: number, names: { from: string; to: string }): void {
  if (from < to) return;
  const ends = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  throw new InvalidInputError(names.to, `an instant after ${names.from}`, `makes no range (${ends})`);
}

/** Checks a series and keeps what belongs to it, frozen; `names`: of all that it may hold, default anything. */
export function checkSeries<T extends Series>(series: T, names?: readonly string[]): Series {
  if (typeof series !== "object" || series === null) {
    const allowed = "an object with network, pairAddress, timeframe and currency";
    throw new InvalidInputError("series", allowed, `is ${show(series)}`);
  }
  if (names !== undefined) checkNames(series, names);
  return Object.freeze({
    network: checkChoice("network", series.network, NETWORKS),
    pairAddress: checkPairAddress(series.pairAddress),
    timeframe: checkChoice("timeframe", series.timeframe, TIMEFRAMES),
    currency: checkChoice("currency", series.currency, CURRENCIES),
  });
}

/** Checks a sniper query and keeps what belongs to it; `names` as in `checkSeries`. */
export function checkSniperQuery(query: SniperQuery, names?: readonly string[]): SniperQuery {
  if (typeof query !== "object" || query === null) {
    throw new InvalidInputError("query", "an object with pairAddress", `is ${show(query)}`);
  }
  if (names !== undefined) checkNames(query, names);
  const { network } = query as { network?: unknown };
  if (network !== undefined && network !== "mainnet") {
    throw new InvalidInputError(
      "network",
      "mainnet, where alone there are sniper reports",
      `is ${show(network)}`,
    );
  }
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

/** Whether a switch is on; absent means off. */
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
  throw new InvalidInputError(parameter, choices.join(", "), `is ${show(value)}`);
}

export function checkNumber(
  parameter: string,
  value: number,
  { min, max, integer = false }: { min: number; max?: number; integer?: boolean },
  shown = show,
): number {
  const isAllowed =
    typeof value === "number" &&
    Number.isFinite(value) &&
    value >= min &&
    (max === undefined || value <= max) &&
    (!integer || Number.isInteger(value));
  if (isAllowed) return value;
  const kind = integer ? "a whole number" : "a number";
  const allowed = max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
  throw new InvalidInputError(parameter, allowed, `is ${shown(value)}`);
}

/** Letters, digits and a few marks, so that an address can neither leave its place in the path nor the origin. */
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
 * A value as an error shows it, in ASCII: all that checks a number is made with it, down to a single indicator, which
 * `printable` would be too large for.
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
