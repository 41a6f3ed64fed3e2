import { boundsOf, earliestTime, madeAfter, type RoundTrip, type ServiceClock } from "./service-clock.js";

/** The last ms of the second that a `Date` names. */
const LAST_OF_SECOND = 999;

/** The earliest time the service's clock can have shown when it made an answer, from which `clock` has learned already. */
export function earliestAnswerTime(clock: ServiceClock, trip: RoundTrip): number {
  const { age, question } = trip;
  const [after, before] = [madeAfter(trip), madeBefore(trip)];
  const byBounds = earliestTime(clock, after);
  if (trip.date === undefined) return byBounds;
  // A cache may write its own time into its copies. What may be a copy of an answer that was heard is as old as that one.
  const mayBeCopied = (one: ServiceClock["heard"][number]) =>
    one.question === question && one.high < Infinity && one.highAt <= before && one.lowAt >= after;
  const heard = age === undefined ? [] : clock.heard.filter(mayBeCopied);
  const date = Math.min(trip.date, ...heard.map(({ low, lowAt }) => low + lowAt));
  // Where the two cannot both be right, the earlier counts.
  if (byBounds >= date + 1_000 || date > before + boundsOf(clock).high) return Math.min(byBounds, date);
  // With several machines nobody knows which one answered; the bounds hold for all.
  if (clock.machines.length > 1) return byBounds;
  // An age tells no more than the `Date`. Two answers of one second are less than one apart: one may be a copy of the other.
  return age === undefined ? Math.min(Math.max(byBounds, date), date + LAST_OF_SECOND) : date;
}

/** The service made the answer before this instant, by the scheduler: a cache may count its age a second too high. */
function madeBefore({ received, age = 0 }: RoundTrip): number {
  return received - Math.max(0, age - 1) * 1_000;
}
