import { drawPlan } from "./plan.js";
import type { Breach } from "./run-log.js";
import { runSeed, type Selection } from "./run-seed.js";
import { smallestOf } from "./smallest.js";

export interface Shrunk {
  readonly selection: Required<Selection>;
  readonly breaches: readonly Breach[];
}

/** The fewest faults and watchers of a failing seed with which it still breaks the promise that it broke first. */
export async function shrink(seed: number, hours: number, promise: number): Promise<Shrunk> {
  const plan = drawPlan(seed, hours);
  const counts = { faults: plan.faults.length, watchers: plan.watchers.length, leastWatchers: 1 };
  const { faults, watchers, shown } = await smallestOf(counts, async (faults, watchers) => {
    const { breaches } = await runSeed(seed, hours, { faults, watchers });
    return breaches.some((breach) => breach.promise === promise) ? breaches : undefined;
  });
  return { selection: { faults, watchers }, breaches: shown ?? [] };
}

/** What to tell of a failing seed, and how to see it again. */
export function describeFailure(seed: number, hours: number, { selection, breaches }: Shrunk): string {
  const { faults, watchers } = selection;
  const plan = drawPlan(seed, hours);
  return [
    `seed ${seed} breaks promise ${[...new Set(breaches.map(({ promise }) => promise))].join(", ")}:`,
    ...breaches
      .slice(0, 5)
      .map(({ promise, monitor, what, at }) => `  ${promise} (${monitor}) at ${at} ms: ${what}`),
    `with these faults${plan.hasStore ? ", and a store" : ""}:`,
    ...faults.map((at) => `  ${at}: ${JSON.stringify(plan.faults[at])}`),
    "and these watchers:",
    ...watchers.map((at) => {
      const { kind, options, from, until } = plan.watchers[at]!;
      return `  ${at}: ${kind} from ${from} to ${until} ms ${JSON.stringify(options)}`;
    }),
    `again: npm run simulate -- --seed ${seed} --hours ${hours} --faults ${faults.join(",") || "none"} --watchers ${watchers.join(",")}`,
  ].join("\n");
}
