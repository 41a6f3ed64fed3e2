import { NEWEST_END } from "../monitors/evidence.js";
import { isOther, type Whom } from "./plan.js";
import type { NatsLog } from "./run-log.js";

/**
 * How long the polls of a tight world may need to come before a closing again, in ms: each pair of them takes a second
 * and a round trip, so they slip by that against the closings.
 */
const SLIPPED_BY = 20_000;

/** Whether a process is of the version that came second: of two that do not know one another, the first one goes on. */
export function isRefused({ plan, lives }: NatsLog, whom: Whom): boolean {
  if (plan.others?.kind !== "version") return false;
  const begun = lives.flatMap(({ collector, activities }) => {
    const first = activities.find(({ activity }) => activity.type === "leading");
    return first === undefined ? [] : [{ collector, at: first.at }];
  });
  const [first] = begun.sort((a, b) => a.at - b.at);
  return first !== undefined && isOther(plan, whom) !== isOther(plan, { collector: first.collector });
}

/** How long nothing may come of a series that is well. Where all that the key allows is asked for, closings wait at times. */
export function patienceOf({ interval, timeout, isTight, market }: NatsLog["plan"]): number {
  // What has gone at the newest end holds up for so long what follows.
  const doubt = market.forks > 0 ? Math.max(NEWEST_END, interval) : 0;
  return 2 * interval + timeout + doubt + (isTight ? SLIPPED_BY : 0);
}

/** How long after trouble every series is asked for again, in ms: as docs/scaling.md says, and the tries of a start. */
export function takenWithin({ lease: usual, limit, timeout, interval, others }: NatsLog["plan"]): number {
  const reached = 5_000;
  const lease = Math.max(usual, others?.kind === "rules" ? others.lease : 0);
  return lease * (3 / 4 + 1 / 8 + 1 / 8) + timeout + limit.per + reached + interval;
}

/** The stretches of time in which a collector is there, nothing goes wrong and no collector begins. */
export function calmStretches(log: NatsLog): { readonly calm: number; readonly until: number }[] {
  const { plan, ends } = log;
  const troubles = [
    ...plan.faults.map(({ from, until }) => ({ from: plan.start + from, until: plan.start + until })),
    ...plan.collectors.map(({ from }) => ({ from: plan.start + from, until: plan.start + from })),
    { from: ends, until: ends },
  ].sort((a, b) => a.from - b.from);
  const working = plan.collectors.filter((_, collector) => !isRefused(log, { collector }));
  const firstCollector = plan.start + Math.min(...working.map(({ from }) => from));
  const stretches: { readonly calm: number; readonly until: number }[] = [];
  let calm = plan.start;
  for (const { from, until } of troubles) {
    if (calm >= firstCollector && from > calm) stretches.push({ calm, until: from });
    calm = Math.max(calm, until);
  }
  return stretches;
}
