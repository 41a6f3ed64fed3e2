import { type Candle, type CandleEvent, isPairstreamError } from "../../../src/index.js";
import { isOther, leastLease, type Whom } from "./plan.js";
import type { Arrival, CollectorLife, NatsBreach, NatsLog, SubscriberLog } from "./run-log.js";

type Tell = (what: string, at: number) => void;
type Monitor = (log: NatsLog, tell: Tell) => void;

const MONITORS: Readonly<Record<string, Monitor>> = {
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

/** No window at the service sees more requests than the key allows. */
function watchWindows({ plan, arrivals }: NatsLog, tell: Tell): void {
  const { requests, per } = plan.limit;
  const inOrder = [...arrivals].sort((a, b) => a.at - b.at);
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

/** Whether a process is of the version that came second: of two that do not know one another, the first one goes on. */
function isRefused({ plan, lives }: NatsLog, whom: Whom): boolean {
  if (plan.others?.kind !== "version") return false;
  const begun = lives.flatMap(({ collector, activities }) => {
    const first = activities.find(({ activity }) => activity.type === "slots" && activity.held.length > 0);
    return first === undefined ? [] : [{ collector, at: first.at }];
  });
  const [first] = begun.sort((a, b) => a.at - b.at);
  return first !== undefined && isOther(plan, whom) !== isOther(plan, { collector: first.collector });
}

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

/** The interval from which on a subscriber has to know every candle. */
function knownFrom({ since, events }: SubscriberLog): number | undefined {
  if (since !== undefined) return since;
  const first = events[0]?.event.candle.timestamp;
  return first;
}

/**
 * How long the polls of a tight world may need to come before a closing again, in ms: each pair of them takes a second
 * and a round trip, so they slip by that against the closings.
 */
const SLIPPED_BY = 20_000;

/** Once all is healthy, every subscriber who has stayed knows what the service says. */
function watchAgreement(log: NatsLog, tell: Tell): void {
  const { plan, ends, truth, settledUntil } = log;
  for (const subscriber of log.subscribers) {
    if (subscriber.left !== undefined || isRefused(log, { subscriber: subscriber.number })) continue;
    const status = subscriber.statuses.at(-1)?.status;
    // Where all that the key allows is asked for, a closing waits at times until the next one is due.
    const patience =
      2 * plan.interval + plan.timeout + (plan.limit.requests === 2 * plan.slots ? SLIPPED_BY : 0);
    const isLive = subscriber.statuses.some(
      ({ status: { state } }, at, all) => state === "live" && (all[at + 1]?.at ?? ends) > ends - patience,
    );
    if (status === undefined || !isLive) {
      tell(`subscriber ${subscriber.number} is ${status?.state}: ${status?.lastError?.message}`, ends);
      continue;
    }
    if ((status.coveredUntil ?? 0) < settledUntil) {
      tell(`subscriber ${subscriber.number} is covered until ${status.coveredUntil} alone`, ends);
      continue;
    }
    const from = Math.max(knownFrom(subscriber) ?? ends, status.coveredFrom ?? 0);
    const pair = plan.pairs[subscriber.plan.series]!;
    const difference = differenceOf(subscriber, truth.get(pair)!, from, settledUntil, plan.start);
    if (difference !== undefined) tell(`subscriber ${subscriber.number}: ${difference}`, ends);
  }
}

/** What a status covers is stored, unless the service has taken it back: then nobody has it to store it again. */
function watchCovered({ uncovered, truth }: NatsLog, tell: Tell): void {
  for (const { at, subject, gone } of uncovered) {
    const there = gone.filter((timestamp) => truth.get(subject.split(".")[3]!)?.has(timestamp));
    if (there.length > 0) tell(`${subject} covers ${there.join(", ")}, which is gone`, at);
  }
}

/** Once all is healthy, what is stored of every series is what the service says, also where nobody has subscribed. */
function watchStored({ plan, ends, kept, truth, settledUntil }: NatsLog, tell: Tell): void {
  for (const [pair, messages] of kept) {
    const { status } = JSON.parse(messages.get("status") ?? '{"status":{}}');
    if ((status.coveredUntil ?? 0) < settledUntil) {
      tell(`${pair} is stored as covered until ${status.coveredUntil} alone`, ends);
      continue;
    }
    const known = new Map<number, Pick<CandleEvent, "candle" | "status">>();
    for (const [last, text] of messages) {
      const message = JSON.parse(text);
      if (/^\d+$/.test(last) && message.removed !== true) known.set(Number(last), message);
    }
    const difference = differenceOf(
      { known },
      truth.get(pair)!,
      status.coveredFrom,
      settledUntil,
      plan.start,
    );
    if (difference !== undefined) tell(`${pair} as it is stored: ${difference}`, ends);
  }
}

/** Where somebody knows something else than the service says, or not that it is final; in short. */
function differenceOf(
  { known }: { readonly known: ReadonlyMap<number, Pick<CandleEvent, "candle" | "status">> },
  truth: ReadonlyMap<number, Candle>,
  from: number,
  until: number,
  start: number,
): string | undefined {
  const differing: string[] = [];
  const isAsked = (timestamp: number) => timestamp >= from && timestamp < until;
  for (const timestamp of [...new Set([...known.keys(), ...truth.keys()])].sort((a, b) => a - b)) {
    if (!isAsked(timestamp)) continue;
    const [a, b] = [known.get(timestamp)?.candle, truth.get(timestamp)];
    const isSame = a && b && a.close === b.close && a.open === b.open && a.swaps === b.swaps;
    if (!isSame) differing.push(`${timestamp - start}: ${a?.swaps} for ${b?.swaps}`);
    else if (known.get(timestamp)!.status !== "final") differing.push(`${timestamp - start} is not final`);
  }
  return differing.length === 0
    ? undefined
    : `${differing.length} differ, in swaps: ${differing.slice(0, 4).join(", ")}`;
}

/** How long after trouble every series is asked for again, in ms: as docs/scaling.md says, and the tries of a start. */
function takenWithin({ lease: usual, limit, timeout, interval, others }: NatsLog["plan"]): number {
  const reached = 5_000;
  const lease = Math.max(usual, others?.kind === "rules" ? others.lease : 0);
  return lease * (3 / 4 + 1 / 8 + 1 / 8) + timeout + limit.per + reached + interval;
}

/** In every stretch without trouble each series is asked for again within a bound, and then steadily. */
function watchTakeovers(log: NatsLog, tell: Tell): void {
  const { plan, arrivals, ends } = log;
  const troubles = [
    ...plan.faults.map(({ from, until }) => ({ from: plan.start + from, until: plan.start + until })),
    ...plan.collectors.map(({ from }) => ({ from: plan.start + from, until: plan.start + from })),
    { from: ends, until: ends },
  ].sort((a, b) => a.from - b.from);
  const bound = takenWithin(plan);
  // With a lease that is shorter than docs/nats.md asks for, slots are lost at times, and taken again.
  const isShort = plan.lease < 1.5 * leastLease(plan.collectors.length, plan.latency);
  const steady = isShort ? bound : 2 * plan.interval + plan.timeout;
  let calm = plan.start;
  const working = plan.collectors.filter((_, collector) => !isRefused(log, { collector }));
  const firstCollector = plan.start + Math.min(...working.map(({ from }) => from));
  for (const { from, until } of troubles) {
    if (calm >= firstCollector && from > calm + bound) {
      for (const pair of plan.pairs) {
        const asked = arrivals.filter((one) => one.pair === pair && one.at >= calm + bound && one.at <= from);
        const instants = [calm + bound, ...asked.map(({ at }) => at), from];
        const gap = instants.findIndex((at, index) => at - (instants[index - 1] ?? at) > steady);
        if (gap >= 0) {
          tell(
            `${pair} is not asked for in ${Math.round(instants[gap]! - instants[gap - 1]!)} ms, calm since ${Math.round(calm - plan.start)}`,
            instants[gap]!,
          );
          return;
        }
      }
    }
    calm = Math.max(calm, until);
  }
}

/** Nothing is left behind, and what is kept is bounded. */
function watchMemory({ plan, ends, left, most, lives }: NatsLog, tell: Tell): void {
  if (left.timers > 0) tell(`${left.timers} timers are left`, ends);
  if (left.consumers > 0) tell(`${left.consumers} consumers are left`, ends);
  if (left.waiting > 0) tell(`${left.waiting} questions are left`, ends);
  const candles = plan.pairs.length * (plan.length / plan.interval + 40);
  // A status and a message that only another version knows for each pair, and the leases.
  if (most.messages > candles + 2 * plan.pairs.length + 1) tell(`${most.messages} messages are kept`, ends);
  // A collector reads with 32 at once. Those of the dead, and those whose deletion is lost, end within half a minute.
  const readers = 40 * lives.length + 60 * plan.subscribers.length;
  // One whose creation comes once more after its deletion does so, too.
  const copies = plan.faults.some((fault) => fault.kind === "messages" && fault.how === "doubled") ? 2 : 1;
  if (most.consumers > copies * readers) tell(`${most.consumers} consumers at once`, ends);
}
