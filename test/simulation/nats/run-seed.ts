import { checkNats } from "./check.js";
import { drawNatsPlan, type NatsPlan } from "./plan.js";
import { playNats } from "./run.js";
import type { NatsBreach, NatsLog } from "./run-log.js";

/** What a run was, in numbers that add up over runs. */
export interface NatsCounts {
  readonly runs: number;
  readonly seconds: number;
  readonly requests: number;
  readonly messages: number;
  readonly events: number;
  /** How often a feed has begun under a lease after its first. */
  readonly handOvers: number;
  /** Windows that saw all the requests that the key allows. */
  readonly fullWindows: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Runs of which kind there were. */
  readonly worlds: Readonly<Record<string, number>>;
}

/** Which parts of a plan a run leaves out: a failing one is made smaller with it. */
export interface NatsSelection {
  /** The plan, where it is not the one that the seed draws. */
  readonly plan?: NatsPlan;
  /** Indices; all where absent. */
  readonly faults?: readonly number[];
  readonly subscribers?: readonly number[];
}

export interface NatsOutcome {
  readonly seed: number;
  readonly breaches: readonly NatsBreach[];
  readonly counts: NatsCounts;
}

/** Plays and checks a seed. */
export async function runNatsSeed(seed: number, selection: NatsSelection = {}): Promise<NatsOutcome> {
  const log = await playNats(selected(selection.plan ?? drawNatsPlan(seed), selection));
  return { seed, breaches: checkNats(log), counts: countsOf(log) };
}

/** A plan with some of its faults and subscribers alone. The others stay as they are. */
function selected(plan: NatsPlan, { faults, subscribers }: NatsSelection): NatsPlan {
  return {
    ...plan,
    faults: plan.faults.filter((_, at) => faults === undefined || faults.includes(at)),
    subscribers: plan.subscribers.map((subscriber, at) =>
      subscribers === undefined || subscribers.includes(at)
        ? subscriber
        : { ...subscriber, from: plan.length + 120_000 },
    ),
  };
}

export const NOTHING: NatsCounts = {
  runs: 0,
  seconds: 0,
  requests: 0,
  messages: 0,
  events: 0,
  handOvers: 0,
  fullWindows: 0,
  faults: {},
  worlds: {},
};

export function sum(a: NatsCounts, b: NatsCounts): NatsCounts {
  return {
    runs: a.runs + b.runs,
    seconds: a.seconds + b.seconds,
    requests: a.requests + b.requests,
    messages: a.messages + b.messages,
    events: a.events + b.events,
    handOvers: a.handOvers + b.handOvers,
    fullWindows: a.fullWindows + b.fullWindows,
    faults: sumOf(a.faults, b.faults),
    worlds: sumOf(a.worlds, b.worlds),
  };
}

function sumOf(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) {
  const sums: Record<string, number> = { ...a };
  for (const [kind, count] of Object.entries(b)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums;
}

function countsOf({ plan, arrivals, stored, subscribers, lives, faults }: NatsLog): NatsCounts {
  const { requests, per } = plan.limit;
  const instants = arrivals.map(({ at }) => at);
  const fullWindows = instants.filter(
    (at, first) => first + requests - 1 < instants.length && instants[first + requests - 1]! - at < per,
  ).length;
  const starts = lives.flatMap(({ activities }) =>
    activities.filter(({ activity }) => activity.type === "started"),
  );
  return {
    runs: 1,
    seconds: plan.length / 1_000,
    requests: arrivals.length,
    messages: stored,
    events: subscribers.reduce((count, { events }) => count + events.length, 0),
    handOvers: Math.max(0, starts.length - plan.pairs.length),
    fullWindows,
    faults,
    worlds: {
      [plan.market.swaps === undefined ? "busy" : "sparse"]: 1,
      ...(plan.others && { [`others by ${plan.others.kind}`]: 1 }),
    },
  };
}

/** All that a run has shown to the outside. */
export function transcript({ arrivals, lives, subscribers }: NatsLog): string {
  const shown = {
    arrivals,
    lives: lives.map(({ activities, ...life }) => ({ ...life, activities })),
    subscribers: subscribers.map(({ events, statuses }) => ({ events, statuses })),
  };
  return JSON.stringify(shown);
}
