import { smallestOf } from "../smallest.js";
import { drawNatsPlan } from "./plan.js";
import type { NatsBreach } from "./run-log.js";
import { type NatsSelection, runNatsSeed } from "./run-seed.js";

interface Shrunk {
  readonly selection: Required<Omit<NatsSelection, "plan">>;
  readonly breaches: readonly NatsBreach[];
}

/** The fewest faults and subscribers of a failing seed with which the monitor that told first still tells. */
export async function shrinkNats(seed: number, monitor: string): Promise<Shrunk> {
  const plan = drawNatsPlan(seed);
  const counts = { faults: plan.faults.length, watchers: plan.subscribers.length, leastWatchers: 0 };
  const { faults, watchers, shown } = await smallestOf(counts, async (faults, subscribers) => {
    const { breaches } = await runNatsSeed(seed, { faults, subscribers });
    return breaches.some((breach) => breach.monitor === monitor) ? breaches : undefined;
  });
  return { selection: { faults, subscribers: watchers }, breaches: shown ?? [] };
}

/** What to tell of a failing seed, and how to see it again. */
export function describeNatsFailure(seed: number, { selection, breaches }: Shrunk): string {
  const { faults, subscribers } = selection;
  const plan = drawNatsPlan(seed);
  return [
    `seed ${seed}: ${plan.collectors.length} collectors, ${plan.pairs.length} series, a lease of ${plan.lease} ms`,
    ...breaches.slice(0, 5).map(({ monitor, what, at }) => `  ${monitor} at ${at} ms: ${what}`),
    "with these faults:",
    ...faults.map((at) => `  ${at}: ${JSON.stringify(plan.faults[at])}`),
    "and these subscribers:",
    ...subscribers.map((at) => `  ${at}: ${JSON.stringify(plan.subscribers[at])}`),
    `again: npm run simulate:nats -- --seed ${seed} --faults ${faults.join(",") || "none"} --subscribers ${subscribers.join(",") || "none"}`,
  ].join("\n");
}
