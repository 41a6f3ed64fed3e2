import { type PollThrottle, UNTHROTTLED } from "../client/limits/quota.js";
import type { Intervals } from "../timeframe.js";

/** When polls of a stream are due, by the service's clock. */
export interface Schedule {
  /** The first instant after `after` at which an interval is over and settled; `Infinity` where none closes. */
  nextClose(after: number): number;
  /** The first instant after `after` at which the running state is due; `Infinity` where it never is. */
  nextRefresh(after: number): number;
  /** The first instant after `after` that a newer answer has to show, or the stream is behind. */
  nextDue(after: number): number;
  /** ms between two closing polls, and between two others, about; `Infinity` for none. */
  readonly closeEvery: number;
  readonly refreshEvery: number;
}

/** A poll that is due; a `close` poll has to prove that an interval is over. */
export interface Slot {
  readonly at: number;
  readonly kind: "close" | "refresh";
}

function paceOf(every: number | "close"): number {
  return every === "close" ? Infinity : every;
}

/** Polls every `every` ms from the start of each interval, and `settle` ms after its end in any case. */
export function candleSchedule(intervals: Intervals, every: number | "close", settle: number): Schedule {
  const nextClose = (after: number) => intervals.end(after - settle) + settle;
  const pace = paceOf(every);
  return {
    closeEvery: intervals.shortest,
    refreshEvery: pace < intervals.shortest ? pace : Infinity,
    nextClose,
    nextDue: nextClose,
    nextRefresh: (after) => {
      const start = intervals.start(after);
      const end = intervals.end(after);
      const next = nextMultiple(start, pace, after);
      if (next < end) return next;
      // At the very end the closing poll comes.
      return end + pace < intervals.end(end) ? end + pace : Infinity;
    },
  };
}

/**
 * One pace for all that poll at the same instants, so that they share a poll: `"close"` for a pace that never polls within
 * an interval, else the longest.
 */
export function plainPace(intervals: Intervals, every: number | "close", settle: number): number | "close" {
  const { shortest, longest } = intervals;
  const pace = paceOf(every);
  if (pace >= longest) return "close";
  // Intervals of different lengths have no pace that fits each of them once or twice.
  if (shortest !== longest || settle % shortest !== pace || 3 * pace < shortest) return pace;
  return 2 * pace < shortest ? 2 * pace : "close";
}

/** Polls every `every` ms, counted from `first`. */
export function steadySchedule(every: number, first: number): Schedule {
  const nextRefresh = (after: number) => nextMultiple(first, every, after);
  return {
    closeEvery: Infinity,
    refreshEvery: every,
    nextClose: () => Infinity,
    nextRefresh,
    nextDue: nextRefresh,
  };
}

/** The first of `first`, `first + every`, … after an instant, whatever the rounding. */
function nextMultiple(first: number, every: number, after: number): number {
  const count = Math.floor((after - first) / every) + 1;
  const next = first + count * every;
  return next > after ? next : first + (count + 1) * every;
}

/**
 * The next poll. `provenUntil`: closings are proven up to here; `refreshedAt`: the last refresh. A throttle makes it later,
 * or `Infinity` if it leaves no poll.
 */
export function nextSlot(
  schedule: Schedule,
  provenUntil: number,
  refreshedAt: number,
  stretch: PollThrottle = UNTHROTTLED,
): Slot {
  const close = after(schedule.nextClose, provenUntil, schedule.closeEvery, stretch.close);
  const refresh = after(schedule.nextRefresh, refreshedAt, schedule.refreshEvery, stretch.refresh);
  return close <= refresh ? { at: close, kind: "close" } : { at: refresh, kind: "refresh" };
}

function after(next: (after: number) => number, instant: number, every: number, stretch: number): number {
  if (stretch === Infinity) return stretch;
  return next(stretch === 1 ? instant : instant + (stretch - 1) * every);
}
