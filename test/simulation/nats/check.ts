import { isPairstreamError } from "../../../src/index.js";
import { calmStretches, isRefused, takenWithin } from "./health.js";
import { watchAgreement, watchFinals, watchHearing, watchHistories, watchStored } from "./known-candles.js";
import type { Arrival, CollectorLife, NatsBreach, NatsLog, Tell } from "./run-log.js";

type Monitor = (log: NatsLog, tell: Tell) => void;

export const MONITORS: Readonly<Record<string, Monitor>> = {
  windows: watchWindows,
  holders: watchHolders,
  fences: (log, tell) => {
    for (const { what, at } of log.unfenced) tell(what, at);
  },
  revisions: (log, tell) => {
    for (const { what, at } of log.unordered) tell(what, at);
  },
  covered: watchCovered,
  epochs: watchEpochs,
  order: (log, tell) => {
    for (const { breaches, number } of log.subscribers) {
      for (const { what, at } of breaches) tell(`subscriber ${number}: ${what}`, at);
    }
  },
  ends: watchEnds,
  versions: watchVersions,
  agreement: watchAgreement,
  finals: watchFinals,
  histories: watchHistories,
  hearing: watchHearing,
  stored: watchStored,
  takeovers: watchTakeovers,
  memory: watchMemory,
};

/** The promises that a run has broken. */
export function checkNats(log: NatsLog): NatsBreach[] {
  const breaches: NatsBreach[] = [];
  for (const [monitor, watch] of Object.entries(MONITORS)) {
    watch(log, (what, at) => breaches.push({ monitor, what, at: Math.round(at - log.plan.start) }));
  }
  return breaches;
}

/** No window at the service sees more requests than the key allows, save for those that a collector has given up on their way. */
function watchWindows({ plan, arrivals }: NatsLog, tell: Tell): void {
  const { requests, per } = plan.limit;
  const inOrder = arrivals.filter(({ isGivenUp }) => !isGivenUp).sort((a, b) => a.at - b.at);
  let first = 0;
  for (const [last, { at }] of inOrder.entries()) {
    while (at - inOrder[first]!.at >= per - 0.001) first += 1;
    if (last - first < requests) continue;
    const window = inOrder.slice(first, last + 1).filter((arrival) => !isForgotten(plan, arrival, at));
    if (window.length <= requests) continue;
    tell(`${window.length} requests within ${(at - window[0]!.at).toFixed(1)} ms`, at);
    return;
  }
}

/**
 * Whether the clock of a request's collector was set forward after it was sent, and before an instant. Then the request
 * seems older than it is, and does not count any more.
 */
function isForgotten(plan: NatsLog["plan"], { collector, sent }: Arrival, before: number): boolean {
  return plan.faults.some((fault) => {
    if (fault.kind !== "clock set" || !("collector" in fault.whom) || fault.by < 0) return false;
    const at = plan.start + fault.from;
    return fault.whom.collector === collector && sent < at && at <= before;
  });
}

function areLeasesLost(plan: NatsLog["plan"], from: number, to: number): boolean {
  return plan.faults.some((fault) => {
    const isLoss = "what" in fault && fault.what === "leases";
    return isLoss && from <= plan.start + fault.from && plan.start + fault.from <= to;
  });
}

/** A collector sends nothing for a series once another one has begun to work on it under a later lease. */
function watchHolders({ plan, arrivals, lives }: NatsLog, tell: Tell): void {
  const begun = new Map<string, { at: number; epoch: number; collector: number; life: number }[]>();
  for (const { collector, life, activities } of lives) {
    for (const { at, activity } of activities) {
      if (activity.type !== "started") continue;
      const pair = activity.feed.split(".")[3]!;
      const list = begun.get(pair) ?? [];
      begun.set(pair, [...list, { at, epoch: activity.epoch, collector, life }]);
    }
  }
  for (const list of begun.values()) list.sort((a, b) => a.at - b.at);
  for (const { sent, pair, collector, life } of arrivals) {
    const before = (begun.get(pair) ?? []).filter(({ at }) => at <= sent);
    const latest = before.reduce((a, b) => (b.epoch >= a.epoch ? b : a), before[0]!);
    if (latest === undefined) {
      tell(`${pair} is asked for by collector ${collector}, who has not begun with it`, sent);
      return;
    }
    if (latest.collector === collector && latest.life === life) continue;
    // Where the leases are lost, a holder hears of the next one with its next renewal.
    if (areLeasesLost(plan, latest.at - plan.lease, sent)) continue;
    tell(
      `${pair} is asked for by collector ${collector} and held by ${latest.collector} since ${latest.at - plan.start}`,
      sent,
    );
    return;
  }
}

/** No two lives of collectors work on a series under the same epoch. */
function watchEpochs({ lives }: NatsLog, tell: Tell): void {
  const holders = new Map<string, string>();
  for (const { collector, life, activities } of lives) {
    for (const { at, activity } of activities) {
      if (activity.type !== "started") continue;
      const lease = `${activity.feed} under ${activity.epoch}`;
      const holder = `${collector}.${life}`;
      const other = holders.get(lease);
      holders.set(lease, holder);
      if (other === undefined || other === holder) continue;
      tell(`${holder} works on ${lease}, as ${other} has done`, at);
      return;
    }
  }
}

/** Nothing ends with an error, but who refuses the others. */
function watchEnds(log: NatsLog, tell: Tell): void {
  const { plan, lives, subscribers } = log;
  const isRefusal = ({ collector, error }: CollectorLife) =>
    isRefused(log, { collector })
      ? isOfVersion(error)
      : plan.others?.kind === "rules" && /follow different rules/.test(String(error));
  for (const life of lives) {
    const { collector, error } = life;
    if (error !== undefined && !isRefusal(life)) tell(`collector ${collector} ended: ${error}`, plan.start);
  }
  for (const { number, error } of subscribers) {
    if (error === undefined || (isRefused(log, { subscriber: number }) && isOfVersion(error))) continue;
    tell(`subscriber ${number} ended: ${error}`, plan.start);
  }
  for (const { collector, activities } of lives) {
    for (const { at, activity } of activities) {
      if (activity.type === "failed")
        tell(`collector ${collector}: ${activity.feed} failed: ${activity.error}`, at);
    }
  }
}

const isOfVersion = (error: unknown) => isPairstreamError(error) && error.name === "ContractError";

/** Of two versions that do not know one another, the second one believes nothing, asks for nothing, and says so. */
function watchVersions(log: NatsLog, tell: Tell): void {
  const { ends, lives, subscribers, arrivals } = log;
  for (const { collector, life, activities, error, ended } of lives) {
    if (!isRefused(log, { collector })) continue;
    const begun = activities.find(({ activity }) => activity.type === "started");
    if (begun !== undefined) tell(`collector ${collector} works beside another version`, begun.at);
    const asked = arrivals.find((arrival) => arrival.collector === collector && arrival.life === life);
    if (asked !== undefined) tell(`collector ${collector} asks beside another version`, asked.at);
    if (error === undefined && ended === undefined) tell(`collector ${collector} stands by in silence`, ends);
  }
  for (const { number, events, statuses, error, left } of subscribers) {
    if (!isRefused(log, { subscriber: number })) continue;
    if (events[0] !== undefined) tell(`subscriber ${number} reads another version`, events[0].at);
    const live = statuses.find(({ status }) => status.state === "live");
    if (live !== undefined) tell(`subscriber ${number} is live by another version`, live.at);
    if (error === undefined && left === undefined) tell(`subscriber ${number} waits in silence`, ends);
  }
}

/**
 * What a status covers is stored, unless the service has taken it back: since it was stored, an answer to a collector has
 * lacked it. Then nobody has it to store it again, and a later leader covers what an earlier one has.
 */
function watchCovered({ uncovered, lives }: NatsLog, tell: Tell): void {
  const shown = lives.flatMap((life) => life.shown);
  for (const { at, subject, gone } of uncovered) {
    const pair = subject.split(".")[3];
    const there = gone.filter(({ timestamp, storedAt }) => {
      const isTakenBack = shown.some(
        (answer) =>
          pair === answer.pair &&
          storedAt < answer.at &&
          answer.at <= at &&
          answer.from <= timestamp &&
          timestamp < answer.until &&
          !answer.timestamps.has(timestamp),
      );
      return !isTakenBack;
    });
    const names = there.map(({ timestamp }) => timestamp);
    if (names.length > 0) tell(`${subject} covers ${names.join(", ")}, which is gone`, at);
  }
}

/** In every stretch without trouble each series is asked for again within a bound, and then steadily. */
function watchTakeovers(log: NatsLog, tell: Tell): void {
  const { plan, arrivals } = log;
  const bound = takenWithin(plan);
  const steady = 2 * plan.interval + plan.timeout;
  for (const { calm, until } of calmStretches(log)) {
    if (until <= calm + bound) continue;
    for (const pair of plan.pairs) {
      const asked = arrivals.filter((one) => one.pair === pair && one.at >= calm + bound && one.at <= until);
      const instants = [calm + bound, ...asked.map(({ at }) => at), until];
      const gap = instants.findIndex((at, index) => at - (instants[index - 1] ?? at) > steady);
      if (gap < 0) continue;
      const silence = Math.round(instants[gap]! - instants[gap - 1]!);
      tell(
        `${pair} is not asked for in ${silence} ms, calm since ${Math.round(calm - plan.start)}`,
        instants[gap]!,
      );
      return;
    }
  }
}

/** Nothing is left behind, and what is kept is bounded. */
function watchMemory({ plan, ends, left, most, lives }: NatsLog, tell: Tell): void {
  if (left.timers > 0) tell(`${left.timers} timers are left`, ends);
  if (left.consumers > 0) tell(`${left.consumers} consumers are left`, ends);
  if (left.waiting > 0) tell(`${left.waiting} questions are left`, ends);
  const candles = plan.pairs.length * (plan.length / plan.interval + 40);
  const asked = plan.faults.some(({ kind }) => kind === "asked") ? 1 : 0;
  // A status and a message that only another version knows for each pair, the leases, and what was asked for.
  if (most.messages > candles + 2 * plan.pairs.length + 1 + asked)
    tell(`${most.messages} messages are kept`, ends);
  // A collector reads with 32 at once. Those of the dead, and those whose deletion is lost, end within half a minute.
  const readers = 40 * lives.length + 60 * plan.subscribers.length;
  // One whose creation comes once more after its deletion does so, too.
  const copies = plan.faults.some((fault) => fault.kind === "messages" && fault.how === "doubled") ? 2 : 1;
  if (most.consumers > copies * readers) tell(`${most.consumers} consumers at once`, ends);
}
