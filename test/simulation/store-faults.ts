import type { Draw } from "./draw.js";

/** What may befall a client's store, and the process that holds it; times in ms after the start of the run. */
export type StoreFault = { readonly from: number; readonly until: number } & (
  | {
      readonly kind: "store fails";
      readonly how: "rejects" | "throws";
      /** Default: all of them. */
      readonly operation?: StoreOperation;
      /** How many of the calls are struck. */
      readonly share: number;
    }
  /** A call takes so many ms at most, and those behind it wait. */
  | { readonly kind: "store slow"; readonly by: number; readonly share: number }
  /** The process ends at `from`, and another one begins at `until`, with what is left of the store. */
  | { readonly kind: "restart"; readonly how: Ending; readonly loses: number }
);

export type StoreOperation = "read" | "write" | "forget";

/**
 * How a process ends: it waits for its writes; it is killed, and of those under way the first are there, each of them
 * whole; or the power goes, and with those under way the last that were acknowledged, as in a database that does not wait
 * for the disk.
 */
export type Ending = "waits" | "killed" | "power cut";

/** What befalls a store, and when its process is begun anew; nothing where a run has no store. */
export function drawStoreFaults(
  draw: Draw,
  { feeds, healthyFrom }: { feeds: readonly { from: number; until: number }[]; healthyFrom: number },
): readonly StoreFault[] {
  const faults: StoreFault[] = [];
  let ready = 0;
  const restarts = Array.from({ length: draw.whole(1, 3) }, () => {
    const { from, until } = draw.pick(feeds);
    const at = draw.between(from, until);
    return { at, pause: Math.min(draw.scaled(100, 3_600_000), (until - at) / 2) };
  });
  for (const { at, pause } of restarts.sort((a, b) => a.at - b.at)) {
    const how = draw.weighed({ waits: 2, killed: 2, "power cut": 2 });
    const loses = how === "power cut" ? draw.scaled(1, 60) : 0;
    const from = Math.round(at);
    if (from <= ready) continue;
    ready = from + Math.max(1, Math.round(pause));
    faults.push({ kind: "restart", from, until: ready, how, loses });
  }
  for (let left = draw.whole(0, 3); left > 0; left -= 1) {
    const begins = Math.round(draw.between(0, healthyFrom - 1_000));
    const until = Math.min(healthyFrom, begins + draw.scaled(1_000, healthyFrom));
    const span = { from: begins, until, share: draw.chance(0.4) ? 1 : draw.between(0.05, 0.8) };
    if (draw.chance(0.35)) {
      faults.push({ kind: "store slow", ...span, by: draw.scaled(5, 30_000) });
      continue;
    }
    const operation = draw.pick([undefined, "read", "write", "write", "forget"] as const);
    const how = draw.chance(0.25) ? "throws" : "rejects";
    faults.push({ kind: "store fails", ...span, how, ...(operation && { operation }) });
  }
  return faults;
}
