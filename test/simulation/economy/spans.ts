import { intervalsOf } from "../calendar.js";
import type { FeedPlan } from "../plan.js";
import type { RunLog, StayLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";

/** A stretch of time; by the service's clock where nothing else is said. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** When somebody was there; stays that overlap are one. */
export function spansOf({ plan }: RunLog, stays: readonly StayLog[]): Span[] {
  const { at } = serviceClockOf(plan.world);
  return presencesOf(stays).map(({ from, until }) => ({ from: at(from), until: at(until) }));
}

/** The same by the run's clock. */
export function presencesOf(stays: readonly StayLog[]): Span[] {
  const spans: { from: number; until: number }[] = [];
  for (const { joined, left, ended } of [...stays].sort((a, b) => a.joined - b.joined)) {
    const until = left ?? ended?.at ?? joined;
    const last = spans.at(-1);
    if (last !== undefined && joined <= last.until) last.until = Math.max(last.until, until);
    else spans.push({ from: joined, until });
  }
  return spans;
}

/** Whether an instant of the run's clock lies in a span. */
export function isWithin({ plan }: RunLog, at: number, { from, until }: Span): boolean {
  const serviceNow = serviceClockOf(plan.world).at(at);
  return serviceNow >= from && serviceNow <= until;
}

/** The instants within a span at which a poll of a feed is due, ascending. */
export function slotsWithin({ series, weekStart, every, settle }: FeedPlan, { from, until }: Span): number[] {
  const intervals = intervalsOf(series.timeframe, weekStart);
  const slots = new Set<number>();
  const add = (slot: number) => {
    if (slot > from && slot <= until) slots.add(slot);
  };
  for (let begins = intervals.start(from - settle); begins <= until; begins = intervals.end(begins)) {
    add(begins + settle);
    if (every === "close") continue;
    const ends = intervals.end(begins);
    const first = Math.max(1, Math.floor((from - begins) / every));
    for (let slot = begins + first * every; slot < ends && slot <= until; slot += every) add(slot);
  }
  return [...slots].sort((a, b) => a - b);
}

/** Each time clocks have drifted apart by so much, in ms, a closing may be asked for too early. */
const DRIFT = 20;

/** How often a closing may be asked for twice meanwhile, as promise 9 says. */
export function driftsIn({ plan }: RunLog, { from, until }: Span): number {
  return (Math.abs(plan.world.drift) * (until - from)) / DRIFT;
}

/** How many polls slots take: those that fall into a sleep of the process take one, when it wakes. */
export function awakeSlots({ plan }: RunLog, slots: readonly number[]): number {
  const clock = serviceClockOf(plan.world);
  const sleeps = plan.faults.filter(({ kind }) => kind === "asleep");
  const isAsleep = (slot: number) => {
    const at = clock.until(slot) - plan.world.start;
    return sleeps.some(({ from, until }) => at > from && at < until);
  };
  return slots.filter((slot) => !isAsleep(slot)).length + sleeps.length;
}
