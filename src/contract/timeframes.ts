import type { AnyTimeframe } from "./model.js";

export const DAY = 86_400_000;
/** The units, each with its length in ms: a month has its longest. Those that divide a day come first, the longest first. */
const UNITS = { d: DAY, h: 3_600_000, min: 60_000, s: 1_000, w: 7 * DAY, M: 31 * DAY } as const;
const UNIT_NAMES = Object.keys(UNITS) as Unit[];

type Unit = keyof typeof UNITS;

/** A timeframe as a number of units; `ms`: the length of one, of months the longest. */
export interface TimeframeParts {
  readonly count: number;
  readonly unit: Unit;
  readonly ms: number;
}

/** What may be written as a timeframe. */
export const ANY_TIMEFRAME =
  "what divides a day in s, min or h (1s, 15min, 2h), 1d to 365d, 1w to 52w, or 1M, 2M, 3M, 4M or 6M";

/** The number and the unit of a timeframe that is known to be one. */
export function partsOf(timeframe: string): TimeframeParts {
  const unit = timeframe.replace(/\d+/, "") as Unit;
  return { count: Number.parseInt(timeframe, 10), unit, ms: UNITS[unit] };
}

/** Whether this is the name of a timeframe. */
export function isTimeframe(value: unknown): value is AnyTimeframe {
  return typeof value === "string" && problemOf(value) === undefined;
}

/** What is wrong with a timeframe, to follow on its name; `undefined`: nothing. */
export function problemOf(value: string): string | undefined {
  const [, digits, word] = /^(\d{1,6}) ?([a-z]{1,9})$/i.exec(value) ?? [];
  const count = Number(digits);
  const unit = word && unitOf(word);
  if (!unit || count === 0 || count * UNITS[unit] > 365 * DAY) return "";
  const name = canonicalName(count, unit);
  if (name === undefined) return `: ${count}${unit} does not nest in a ${unit === "M" ? "year" : "day"}`;
  if (name === value) return undefined;
  return word === unit ? `: write ${name}` : ` (did you mean "${name}"?)`;
}

/** The unit that is meant: `m` is a minute, as `M` alone is a month. */
function unitOf(word: string): Unit | undefined {
  if (/^(M|mo.*)$/.test(word)) return "M";
  return UNIT_NAMES.find((unit) => unit[0] === word[0]!.toLowerCase());
}

/** The only name of so many units; `undefined` where they do not nest. */
function canonicalName(count: number, unit: Unit): string | undefined {
  if (unit === "d" || unit === "w") return count + unit;
  if (unit === "M") return 12 % count === 0 ? `${count}M` : undefined;
  const length = count * UNITS[unit];
  const longest = UNIT_NAMES.find((one) => length % UNITS[one] === 0)!;
  return DAY % length === 0 ? length / UNITS[longest] + longest : undefined;
}
