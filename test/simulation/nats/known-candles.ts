import type { Candle, CandleEvent } from "../../../src/index.js";
import { isTrue } from "../truth.js";
import { calmStretches, isRefused, patienceOf, takenWithin } from "./health.js";
import type { NatsLog, SubscriberLog, Tell } from "./run-log.js";

/**
 * The interval from which on a subscriber has to know every candle: what was asked for of the past, and else the first one that
 * it was told of. Where it was told of none, what begins once its status has told of the series.
 */
function knownFrom({ plan, ends }: NatsLog, subscriber: SubscriberLog): number {
  if (subscriber.since !== undefined) return subscriber.since;
  const first = subscriber.events[0]?.event.candle.timestamp;
  const reached = reachedAt(subscriber) ?? ends;
  return first ?? Math.max(...serviceClocksAt(plan, reached)) + plan.interval;
}

/** When the status of a subscriber has first told what is covered: from then on it can hear of candles. */
function reachedAt({ statuses }: SubscriberLog): number | undefined {
  return statuses.find(({ status }) => status.coveredUntil !== undefined)?.at;
}

/** What the service's clock may show at an instant, as somebody may set it then. */
function serviceClocksAt({ start, serviceOffset, faults }: NatsLog["plan"], instant: number): number[] {
  const steps = faults.flatMap((fault) => (fault.kind === "service's clock set" ? [fault] : []));
  const shown = (until: number) =>
    steps.reduce((sum, { from, by }) => (start + from <= until ? sum + by : sum), serviceOffset) + instant;
  return [shown(instant - 1), shown(instant)];
}

/** Once all is healthy, every subscriber who has stayed knows what the service says. */
export function watchAgreement(log: NatsLog, tell: Tell): void {
  const { plan, ends, truth, settledUntil } = log;
  for (const subscriber of log.subscribers) {
    if (subscriber.left !== undefined || isRefused(log, { subscriber: subscriber.number })) continue;
    const status = subscriber.statuses.at(-1)?.status;
    const patience = patienceOf(plan);
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
    const from = Math.max(knownFrom(log, subscriber), status.coveredFrom ?? 0);
    const pair = plan.pairs[subscriber.plan.series]!;
    const difference = differenceOf(subscriber, truth.get(pair)!, from, settledUntil, plan.start);
    if (difference !== undefined) tell(`subscriber ${subscriber.number}: ${difference}`, ends);
  }
}

/** What anybody was told is final is what the service says, also to those who have left. */
export function watchFinals(log: NatsLog, tell: Tell): void {
  const { plan, truth, settledUntil, subscribers } = log;
  for (const { number, known, plan: subscriber, left } of subscribers) {
    const there = truth.get(plan.pairs[subscriber.series]!)!;
    for (const [timestamp, { candle, status }] of known) {
      if (status !== "final" || timestamp >= settledUntil) continue;
      const wanted = there.get(timestamp);
      if (wanted !== undefined && isTrue(candle, wanted)) continue;
      const text = `${textOf(candle)} is final for ${textOf(wanted)}`;
      tell(`subscriber ${number}: ${timestamp - plan.start}: ${text}`, left ?? log.ends);
      return;
    }
  }
}

/** So many candles may come or go late: of more than that plus what was asked for, enough are there. */
const MAY_CHANGE = 10;

/** Who asks for so many candles of the past gets that many, before the interval that runs then, where the series has more. */
export function watchHistories({ plan, subscribers, truth }: NatsLog, tell: Tell): void {
  for (const { number, plan: subscriber, events, statuses } of subscribers) {
    const { since } = subscriber;
    const [first] = events;
    if (since === undefined || !("candles" in since) || first === undefined) continue;
    const { coveredFrom = Number.POSITIVE_INFINITY } =
      statuses.findLast(({ at, status }) => at <= first.at && status.coveredUntil !== undefined)?.status ??
      {};
    const running = Math.max(...serviceClocksAt(plan, first.at)) - plan.interval;
    // What was there then counts, too, where it has gone since.
    const told = events.filter(({ at }) => at === first.at).map(({ event }) => event.candle.timestamp);
    const there = [...new Set([...truth.get(plan.pairs[subscriber.series]!)!.keys(), ...told])]
      .filter((timestamp) => timestamp >= coveredFrom && timestamp <= running)
      .sort((a, b) => a - b);
    if (there.length < since.candles + MAY_CHANGE) continue;
    const { timestamp } = first.event.candle;
    const [begins, wanted] = [timestamp, there.at(-since.candles)!].map((instant) => instant - plan.start);
    if (begins! > wanted!)
      tell(
        `subscriber ${number} has asked for ${since.candles} candles, from ${wanted}, and hears from ${begins} on`,
        first.at,
      );
  }
}

/** While a collector is at work and nothing goes wrong, a subscriber hears of its series: of candles, or that there are none. */
export function watchHearing(log: NatsLog, tell: Tell): void {
  const { plan, ends } = log;
  const bound = takenWithin(plan) + patienceOf(plan);
  const patience = patienceOf(plan);
  for (const subscriber of log.subscribers) {
    const { number, joined, left = ends, events, statuses } = subscriber;
    if (isRefused(log, { subscriber: number })) continue;
    const heard = events.map(({ at }) => at);
    let covered = 0;
    for (const { at, status } of plan.market.swaps === undefined ? [] : statuses) {
      // A silence is told of by what is covered.
      if ((status.coveredUntil ?? 0) > covered) heard.push(at);
      covered = Math.max(covered, status.coveredUntil ?? 0);
    }
    heard.sort((a, b) => a - b);
    for (const { calm, until } of calmStretches(log)) {
      const [from, to] = [Math.max(calm, joined) + bound, Math.min(until, left)];
      const within = [from, ...heard.filter((at) => at > from && at < to), to];
      const gap = within.findIndex((at, index) => at - (within[index - 1] ?? at) > patience);
      if (gap < 0) continue;
      const silence = Math.round(within[gap]! - within[gap - 1]!);
      tell(
        `subscriber ${number} hears nothing in ${silence} ms, calm since ${calm - plan.start}`,
        within[gap]!,
      );
      return;
    }
  }
}

/** Once all is healthy, what is stored of every series is what the service says, also where nobody has subscribed. */
export function watchStored({ plan, ends, kept, truth, settledUntil }: NatsLog, tell: Tell): void {
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
    const isSame = a !== undefined && b !== undefined && isTrue(a, b);
    if (!isSame) differing.push(`${timestamp - start}: ${textOf(a)} for ${textOf(b)}`);
    else if (known.get(timestamp)!.status !== "final") differing.push(`${timestamp - start} is not final`);
  }
  return differing.length === 0
    ? undefined
    : `${differing.length} differ: ${differing.slice(0, 4).join(", ")}`;
}

function textOf(candle: Candle | undefined): string {
  if (candle === undefined) return "nothing";
  const { open, high, low, close, volume, swaps } = candle;
  return `(${[open, high, low, close, volume, swaps].join(" ")})`;
}
