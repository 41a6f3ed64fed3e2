import { checkTimeframe, checkWeekStart, toInstant } from "./contract/input.js";
import {
  type AnyTimeframe,
  type DateLike,
  TIMEFRAMES,
  type Timeframe,
  type WeekStart,
} from "./contract/model.js";
import { checkNames } from "./contract/names.js";
import { DAY, partsOf } from "./contract/timeframes.js";

/** 1970-01-01 was a Thursday, so the first Monday came four days later. */
const WEEK_ANCHOR: Record<WeekStart, number> = { thursday: 0, monday: 345_600_000 };

/** The intervals of a timeframe: half-open `[start, end)`, UTC, without gaps or overlaps. */
export interface Intervals {
  /** The start of the interval that contains the instant. */
  start(instant: number): number;
  /** The end of the interval that contains the instant: the start of the next interval. */
  end(instant: number): number;
  /** The start `count` intervals after the given start, or before it if `count` is negative. */
  shift(start: number, count: number): number;
  /** How many intervals start in `[from, to)`; 0 unless `from` is before `to`. */
  count(from: number, to: number): number;
  /** The length of the shortest interval, and of the longest, in ms. They differ for months only. */
  readonly shortest: number;
  readonly longest: number;
}

/**
 * The interval of a timeframe that holds an instant: `[start, end)`, in ms since the epoch, UTC.
 *
 * `weekStart` says where weeks begin, `"monday"` by default. Throws an `InvalidInputError` for a wrong timeframe,
 * instant or week start.
 *
 * ```ts
 * import { type CandleEvent, intervalOf } from "pairstream";
 *
 * const timeLeft = ({ series, observedAt }: CandleEvent) => intervalOf(series.timeframe, observedAt).end - observedAt;
 * ```
 */
export function intervalOf(
  timeframe: AnyTimeframe,
  instant: DateLike,
  options: { weekStart?: WeekStart } = {},
): { readonly start: number; readonly end: number } {
  checkTimeframe("timeframe", timeframe);
  checkNames(options, ["weekStart"]);
  const { start, end } = intervalsOf(timeframe, checkWeekStart(options.weekStart));
  const within = toInstant("instant", instant);
  return Object.freeze({ start: start(within), end: end(within) });
}

/** The intervals of a timeframe. `weekStart` sets where weeks begin and has no effect on other timeframes. */
export function intervalsOf(timeframe: AnyTimeframe, weekStart: WeekStart = "monday"): Intervals {
  const key = weekStart === "monday" ? timeframe : `${timeframe} ${weekStart}`;
  let intervals = made.get(key);
  if (intervals === undefined) {
    const { count, unit, ms } = partsOf(timeframe);
    intervals =
      unit === "M" ? monthIntervals(count) : fixedIntervals(count * ms, anchorOf(unit === "w", weekStart));
    made.set(key, intervals);
  }
  return intervals;
}

/** The first start of an interval that is not before an instant. */
export function startFrom({ start, end }: Intervals, instant: number): number {
  return start(instant) === instant ? instant : end(instant);
}

/** The intervals of each timeframe, made once for all series. */
const made = new Map<string, Intervals>();

function anchorOf(isWeek: boolean, weekStart: WeekStart): number {
  return isWeek ? WEEK_ANCHOR[weekStart] : 0;
}

/** The timeframe of the service of which candles of a timeframe are made: itself, or the longest that divides it. */
export function servedTimeframe(timeframe: AnyTimeframe): Timeframe {
  const { count, unit, ms } = partsOf(timeframe);
  if (unit === "M" || unit === "w" || unit === "d") return `1${unit}`;
  const divides = (one: Timeframe) => {
    const length = intervalsOf(one).longest;
    return length <= DAY / 2 && (count * ms) % length === 0;
  };
  return TIMEFRAMES.findLast(divides)!;
}

/** Whether each interval of `source` lies in one of `target`. */
export function nests(source: AnyTimeframe, target: AnyTimeframe, weekStart: WeekStart = "monday"): boolean {
  const [inner, outer] = [partsOf(source), partsOf(target)];
  const [length, whole] = [inner.count * inner.ms, outer.count * outer.ms];
  if (outer.unit === "M") return inner.unit === "M" ? outer.count % inner.count === 0 : DAY % length === 0;
  const anchors = anchorOf(outer.unit === "w", weekStart) - anchorOf(inner.unit === "w", weekStart);
  return inner.unit !== "M" && whole % length === 0 && anchors % length === 0;
}

function fixedIntervals(length: number, anchor: number): Intervals {
  const start = (instant: number) => Math.floor((instant - anchor) / length) * length + anchor;
  const startsBefore = (instant: number) => Math.ceil((instant - anchor) / length);
  return {
    start,
    end: (instant) => start(instant) + length,
    shift: (from, count) => from + count * length,
    count: (from, to) => Math.max(0, startsBefore(to) - startsBefore(from)),
    shortest: length,
    longest: length,
  };
}

/**
 * Intervals of so many calendar months, which divide a year. Months are numbered from year 0: one number per month makes
 * month arithmetic plain addition.
 */
function monthIntervals(months: number): Intervals {
  const first = (instant: number) => Math.floor(monthOf(instant) / months) * months;
  const startsBefore = (instant: number) => Math.ceil(monthsBefore(instant) / months);
  return {
    start: (instant) => monthStart(first(instant)),
    end: (instant) => monthStart(first(instant) + months),
    shift: (start, count) => monthStart(monthOf(start) + count * months),
    count: (from, to) => Math.max(0, startsBefore(to) - startsBefore(from)),
    shortest: DAYS_OF_MONTHS[months]![0] * DAY,
    longest: DAYS_OF_MONTHS[months]![1] * DAY,
  };
}

/** How many days the shortest and the longest interval have, by its months. */
const DAYS_OF_MONTHS: { readonly [months: number]: readonly [number, number] } = {
  1: [28, 31],
  2: [59, 62],
  3: [90, 92],
  4: [120, 123],
  6: [181, 184],
};

function monthOf(instant: number): number {
  const date = new Date(instant);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function monthStart(month: number): number {
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  return new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
}

function monthsBefore(instant: number): number {
  const month = monthOf(instant);
  return monthStart(month) < instant ? month + 1 : month;
}
