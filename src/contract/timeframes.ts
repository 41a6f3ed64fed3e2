import type { AnyTimeframe } from "./model.js";

export const DAY = 86_400_000;
/** The units of one length each, shortest first, in ms. */
const UNITS = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** The longest timeframes of days and of weeks: about a year. */
const MOST = { d: 365, w: 52 } as const;

type FixedUnit = keyof typeof UNITS;

/** A timeframe as a number of units; `ms`: the length of one, 0 for months. */
export interface TimeframeParts {
  readonly count: number;
  readonly unit: FixedUnit | "M";
  readonly ms: number;
}

/** What may be written as a timeframe. */
export const ANY_TIMEFRAME =
  "what divides a day in s, min or h (1s, 15min, 2h), 1d to 365d, 1w to 52w, or 1M, 2M, 3M, 4M or 6M";

/** The number and the unit of a timeframe that is known to be one. */
export function partsOf(timeframe: string): TimeframeParts {
  const [, digits, unit] = /^(\d+)(\w+)$/.exec(timeframe)! as unknown as [string, string, FixedUnit | "M"];
  return { count: Number(digits), unit, ms: unit === "M" ? 0 : UNITS[unit] };
}

/** Whether this is the name of a timeframe. */
export function isTimeframe(value: unknown): value is AnyTimeframe {
  return typeof value === "string" && problemOf(value) === undefined;
}

/** What is wrong with a timeframe, to follow on its name; `undefined`: nothing. */
export function problemOf(value: string): string | undefined {
  const [, digits, word] = /^(\d{1,6}) ?([a-z]{1,9})$/i.exec(value) ?? [];
  if (digits === undefined || word === undefined) return "";
  const count = Number(digits);
  const unit = unitOf(word);
  if (unit === undefined || count === 0) return "";
  const name = canonicalName(count, unit);
  if (name === undefined) return whyNot(count, unit);
  if (name === value) return undefined;
  return word === unit && digits === String(count) ? `: write ${name}` : ` (did you mean "${name}"?)`;
}

/** The unit that is meant: `m` is a minute, as `M` alone is a month. */
function unitOf(word: string): FixedUnit | "M" | undefined {
  if (word === "M" || /^mo/i.test(word)) return "M";
  const first = word[0]!.toLowerCase();
  return first === "m" ? "min" : first in UNITS ? (first as FixedUnit) : undefined;
}

/** The only name of so many units; `undefined` where they do not nest. */
function canonicalName(count: number, unit: FixedUnit | "M"): string | undefined {
  if (unit === "M") return count < 12 && 12 % count === 0 ? `${count}M` : undefined;
  if (unit === "d" || unit === "w") return count <= MOST[unit] ? count + unit : undefined;
  const length = count * UNITS[unit];
  if (DAY % length !== 0) return undefined;
  const longest = (["d", "h", "min", "s"] as const).find((one) => length % UNITS[one] === 0)!;
  return length / UNITS[longest] + longest;
}

function whyNot(count: number, unit: FixedUnit | "M"): string {
  if (unit === "d" || unit === "w") return "";
  const near = [-1, 1].flatMap((step) => {
    for (let other = count + step; other > 0 && other < 2 * count; other += step) {
      const name = canonicalName(other, unit);
      if (name !== undefined) return [name];
    }
    return [];
  });
  const hint = near.length > 0 ? `; ${near.join(" and ")} would` : "";
  return `: ${count}${unit} does not nest in a ${unit === "M" ? "year" : "day"}${hint}`;
}
