import { type Report, reportsOf } from "../reports.js";
import type { RunLog, StayLog } from "../run-log.js";
import { BESIDE } from "./evidence.js";
import { roundTrip } from "./health.js";
import type { Context } from "./monitor.js";

type SniperPlan = Extract<StayLog["plan"], { kind: "snipers" | "sniper-status" }>;

/** A feed is behind no sooner than so long after a newer report was due, ms. */
const PATIENCE = 2_000;
/** So much of the time no `Date` tells, ms, and so much younger a copy may seem that hides its age. */
const UNTOLD = 1_000;
/** A slot asks again after a second, ms. */
const SAME_SLOT = 1_100;

/** Not live with a report that is older than its pace, and two seconds: another one was due since. */
export function checkAge(
  log: RunLog,
  stay: StayLog,
  plan: SniperPlan,
  live: readonly { readonly from: number; readonly until: number }[],
  context: Context,
) {
  const every = everyOf(plan);
  const reports = reportsTo(log, plan);
  for (const [at, report] of reports.entries()) {
    const { received, order, exchange } = report;
    // It is asked for again, and the feed is what it was until then.
    const next = reports[at + 1];
    if (next !== undefined && next.exchange.sent - received <= SAME_SLOT) continue;
    // Only its first poll is as urgent as a closing: later ones are those of candles, for the creation.
    if (at > 0 && exchange.priority === "close") continue;
    if (!live.some(({ from, until }) => from <= received && until > received)) continue;
    const newest = reports.slice(0, at + 1).reduce((a, b) => (b.madeAt >= a.madeAt ? b : a));
    const age = context.serviceClock(received) - newest.madeAt;
    const mayBeBehind = context.mayBeMachine(order) || context.mayBeOfCopies(order);
    const tolerance = context.toleranceAt(order) + context.untoldAt(order) + (mayBeBehind ? BESIDE : 0);
    if (age <= every + PATIENCE + UNTOLD + tolerance) continue;
    if (!context.isTrusted(order + 1) || !context.knowsTime(order)) continue;
    if (context.sleptWithin(exchange.sent, received) || context.clockWasSet(newest.received, received))
      continue;
    context.breach(6, `status ${stay.id} of snipers is live with a report that is ${age} ms old`, received);
    return;
  }
}

/** Whether a cache has given one old report after the other throughout a stretch: then the feed is late, and that is true. */
export function isOfOldReports(
  log: RunLog,
  plan: SniperPlan,
  { at, until }: { readonly at: number; readonly until: number },
  context: Context,
): boolean {
  const isOld = ({ madeAt, received, order }: Report) =>
    context.serviceClock(received) - madeAt >= PATIENCE - UNTOLD - context.toleranceAt(order);
  const old = reportsTo(log, plan)
    .filter((report) => report.received <= until && isOld(report))
    .map(({ received }) => received);
  const longest = everyOf(plan) + roundTrip(log) + BESIDE;
  let last = Math.max(...old.filter((received) => received <= at));
  return [...old.filter((received) => received > at), until].every((instant) => {
    const wait = instant - last;
    last = instant;
    return wait <= longest;
  });
}

function reportsTo(log: RunLog, { options }: SniperPlan): readonly Report[] {
  return reportsOf(log, `${options.pairAddress} ${options.blocksAfterCreation ?? null}`, options.every);
}

function everyOf({ options }: SniperPlan): number {
  return options.every ?? 60_000;
}
