import { checkChoice, checkWeekStart, toInstant } from "./contract/input.js";
import { type DateLike, TIMEFRAMES, type Timeframe, type WeekStart } from "./contract/model.js";
import { checkNames } from "./contract/names.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** 1970-01-01 was a Thursday, so the first Monday came four days later. */
const WEEK_ANCHOR: Record<WeekStart, number> = { thursday: 0, monday: 4 * DAY };

const LENGTH: Record<Exclude<Timeframe, "1M">, number> = {
  "1s": SECOND,
  "10s": 10 * SECOND,
  "30s": 30 * SECOND,
  "1min": MINUTE,
  "5min": 5 * MINUTE,
  "10min": 10 * MINUTE,
  "30min": 30 * MINUTE,
  "1h": HOUR,
  "4h": 4 * HOUR,
  "12h": 12 * HOUR,
  "1d": DAY,
  "1w": WEEK,
};

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
 * `weekStart` says where `1w` begins, `"monday"` by default. Throws an `InvalidInputError` for a wrong timeframe,
 * instant or week start.
 *
 * ```ts
 * import { type CandleEvent, intervalOf } from "pairstream";
 *
 * const timeLeft = ({ series, observedAt }: CandleEvent) => intervalOf(series.timeframe, observedAt).end - observedAt;
 * ```
 */
export function intervalOf(
  timeframe: Timeframe,
  instant: DateLike,
  options: { weekStart?: WeekStart } = {},
): { readonly start: number; readonly end: number } {
  checkChoice("timeframe", timeframe, TIMEFRAMES);
  checkNames(options, ["weekStart"]);
  const { start, end } = intervalsOf(timeframe, checkWeekStart(options.weekStart));
  const within = toInstant("instant", instant);
  return Object.freeze({ start: start(within), end: end(within) });
}

/** The intervals of a timeframe. `weekStart` sets where `1w` begins and has no effect on other timeframes. */
export function intervalsOf(timeframe: Timeframe, weekStart: WeekStart = "monday"): Intervals {
  if (timeframe === "1M") return MONTHS;
  const isWeek = timeframe === "1w";
  const key = isWeek ? weekStart : timeframe;
  const made = fixed.get(key) ?? fixedIntervals(LENGTH[timeframe], isWeek ? WEEK_ANCHOR[weekStart] : 0);
  fixed.set(key, made);
  return made;
}

/** The intervals of one length, made once for all series. */
const fixed = new Map<Timeframe | WeekStart, Intervals>();

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

/** Calendar months, numbered from year 0: one number per month makes month arithmetic plain addition. */
const MONTHS: Intervals = {
  start: (instant) => monthStart(monthOf(instant)),
  end: (instant) => monthStart(monthOf(instant) + 1),
  shift: (start, count) => monthStart(monthOf(start) + count),
  count: (from, to) => Math.max(0, monthsBefore(to) - monthsBefore(from)),
  shortest: 28 * DAY,
  longest: 31 * DAY,
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
