import { type Compared, check } from "./check.js";
import { CLOSED } from "./connections.js";
import { accountsOf } from "./economy/accounts.js";
import { healthOf } from "./economy/health.js";
import { textOf } from "./monitors/secrets.js";
import { drawPlan, type Plan } from "./plan.js";
import { play } from "./run.js";
import type { Breach, RunLog } from "./run-log.js";

/** What a run was, in numbers that add up over runs. */
interface RunCounts {
  readonly runs: number;
  readonly hours: number;
  readonly polls: number;
  readonly requests: number;
  /** As many requests as the run should have taken at most. */
  readonly mostRequests: number;
  /** The requests a closed candle in good health, of each seed whose feeds close often enough. */
  readonly aClosing: readonly number[];
  readonly events: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Stays with candles, and those of them that were compared with the truth, by timeframe. */
  readonly compared: Readonly<Record<string, Compared>>;
}

/** Which parts of a plan a run leaves out: a failing one is made smaller with it. */
export interface Selection {
  /** Indices of faults and of watchers; all where absent. */
  readonly faults?: readonly number[];
  readonly watchers?: readonly number[];
}

export interface Outcome {
  readonly seed: number;
  readonly breaches: readonly Breach[];
  readonly counts: RunCounts;
}

/** Plays and checks a seed. */
export async function runSeed(seed: number, hours: number, selection: Selection = {}): Promise<Outcome> {
  const plan = select(drawPlan(seed, hours), selection);
  const logs = await play(plan);
  const breaches: Breach[] = [];
  let counts: RunCounts = { ...NOTHING, runs: 1, hours };
  for (const log of logs) {
    const found = await check(log);
    breaches.push(...found.breaches);
    counts = sum(counts, { ...NOTHING, compared: found.compared });
  }
  for (const log of logs) counts = sum(counts, await countsOf(log));
  // A quota stretches polls.
  const stretches = plan.world.client.quota === undefined ? logs.flatMap(healthOf) : [];
  if (stretches.length > 0) {
    const total = (of: "requests" | "closings") => stretches.reduce((sum, stretch) => sum + stretch[of], 0);
    counts = { ...counts, aClosing: [total("requests") / total("closings")] };
  }
  return { seed, breaches, counts };
}

function select(plan: Plan, { faults, watchers }: Selection): Plan {
  return {
    ...plan,
    faults: plan.faults.filter((_, at) => faults === undefined || faults.includes(at)),
    watchers: plan.watchers.filter((_, at) => watchers === undefined || watchers.includes(at)),
  };
}

export const NOTHING: RunCounts = {
  runs: 0,
  hours: 0,
  polls: 0,
  requests: 0,
  mostRequests: 0,
  aClosing: [],
  events: 0,
  faults: {},
  compared: {},
};

export function sum(a: RunCounts, b: RunCounts): RunCounts {
  const faults: Record<string, number> = { ...a.faults };
  for (const [kind, count] of Object.entries(b.faults)) faults[kind] = (faults[kind] ?? 0) + count;
  return {
    runs: a.runs + b.runs,
    hours: a.hours + b.hours,
    polls: a.polls + b.polls,
    requests: a.requests + b.requests,
    mostRequests: a.mostRequests + b.mostRequests,
    aClosing: [...a.aClosing, ...b.aClosing],
    events: a.events + b.events,
    faults,
    compared: sumOfCompared(a.compared, b.compared),
  };
}

function sumOfCompared(a: RunCounts["compared"], b: RunCounts["compared"]): RunCounts["compared"] {
  const total: Record<string, Compared> = { ...a };
  for (const [timeframe, { stays, compared }] of Object.entries(b)) {
    const before = total[timeframe] ?? { stays: 0, compared: 0 };
    total[timeframe] = { stays: before.stays + stays, compared: before.compared + compared };
  }
  return total;
}

/** Those that do not strike single calls. */
const WHOLE_FAULTS: readonly string[] = ["asleep", "clock set", "restart"];

async function countsOf(log: RunLog): Promise<RunCounts> {
  const { plan, exchanges, stays } = log;
  const faults: Record<string, number> = {};
  const strike = (kind: string) => {
    faults[kind] = (faults[kind] ?? 0) + 1;
  };
  for (const exchange of exchanges) for (const kind of exchange.faults) strike(kind);
  if (log.isLast) {
    for (const { kind } of plan.faults) if (WHOLE_FAULTS.includes(kind)) strike(kind);
  }
  for (const { ended } of log.store?.calls ?? []) if (ended?.isGood === false) strike("store fails");
  const accounts = await accountsOf(log);
  return {
    runs: 0,
    hours: 0,
    // A poll begins with a request that is no retry, no further page and no history.
    polls: exchanges.filter(
      ({ attempt, priority, url, faults: struck }) =>
        attempt === 1 && !struck.includes(CLOSED) && priority !== "history" && !url.includes("&cursor="),
    ).length,
    // What a closed connection has lost never reached the service.
    requests: exchanges.filter(({ faults: struck }) => !struck.includes(CLOSED)).length,
    mostRequests: accounts.reduce((sum, { most }) => sum + most, 0),
    aClosing: [],
    events: stays.reduce((count, { events, sniperEvents }) => count + events.length + sniperEvents.length, 0),
    faults,
    compared: {},
  };
}

/** All that a run has shown to the outside, byte for byte. */
export function transcript(logs: readonly RunLog[]): string {
  return logs
    .map(({ exchanges, activities, stays, store }) => {
      const shown = exchanges.map(({ signal: _, told, ...exchange }) => ({ ...exchange, told: told?.order }));
      return textOf({ exchanges: shown, activities, stays, ...(store && { calls: store.calls }) });
    })
    .join("\n");
}
