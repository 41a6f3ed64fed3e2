import type { Timeframe, WeekStart } from "../../src/index.js";
import golden from "../golden/calendar.json" with { type: "json" };

const DAY = 86_400_000;

/** The intervals of a timeframe, by a calendar that shares no code with `src`: months and weeks come from a golden file. */
export interface Intervals {
  /** The start of the interval that contains the instant. */
  start(instant: number): number;
  /** The end of the interval that contains the instant. */
  end(instant: number): number;
  /** The start `count` intervals after the given start, or before it if `count` is negative. */
  shift(start: number, count: number): number;
  /** How many intervals start in `[from, to)`; 0 unless `from` is before `to`. */
  count(from: number, to: number): number;
}

const LENGTHS = new Map<string, number>([
  ["1s", 1_000],
  ["10s", 10_000],
  ["30s", 30_000],
  ["1min", 60_000],
  ["5min", 300_000],
  ["10min", 600_000],
  ["30min", 1_800_000],
  ["1h", 3_600_000],
  ["4h", 14_400_000],
  ["12h", 43_200_000],
  ["1d", DAY],
]);

const monthStarts = golden.months.map((day) => day * DAY);
const firstWeek: Record<WeekStart, number> = {
  monday: golden.weeks.monday[0]! * DAY,
  thursday: golden.weeks.thursday[0]! * DAY,
};

export function intervalsOf(timeframe: Timeframe, weekStart: WeekStart = "monday"): Intervals {
  if (timeframe === "1M") return MONTHS;
  return timeframe === "1w" ? evenly(7 * DAY, firstWeek[weekStart]) : evenly(LENGTHS.get(timeframe)!, 0);
}

function evenly(length: number, first: number): Intervals {
  const numberOf = (instant: number) => Math.floor((instant - first) / length);
  const startOf = (number: number) => first + number * length;
  const startsBefore = (instant: number) => numberOf(instant - 1) + 1;
  return {
    start: (instant) => startOf(numberOf(instant)),
    end: (instant) => startOf(numberOf(instant) + 1),
    shift: (start, count) => start + count * length,
    count: (from, to) => Math.max(0, startsBefore(Math.ceil(to)) - startsBefore(Math.ceil(from))),
  };
}

/** Of the golden file's months, the first that begins after an instant. */
function monthAfter(instant: number): number {
  let low = 0;
  let high = monthStarts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (monthStarts[middle]! <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

function month(number: number): number {
  const start = monthStarts[number];
  if (start === undefined) throw new RangeError(`the golden calendar has no month ${number}`);
  return start;
}

const MONTHS: Intervals = {
  start: (instant) => month(monthAfter(instant) - 1),
  end: (instant) => month(monthAfter(instant)),
  shift: (start, count) => month(monthAfter(start) - 1 + count),
  count: (from, to) => Math.max(0, monthAfter(Math.ceil(to) - 1) - monthAfter(Math.ceil(from) - 1)),
};
