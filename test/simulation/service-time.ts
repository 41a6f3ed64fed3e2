import type { WorldPlan } from "./world-plan.js";

/** The two clocks of a world, and how they go together. */
export interface ServiceTime {
  /** The service's clock at an instant of the run's. */
  readonly at: (instant: number) => number;
  /** When the service's clock shows an instant, by the run's clock. */
  readonly until: (serviceNow: number) => number;
}

/** Instants of the run are whole ms for the most part: a way back to them is rounded to a part of one, so that it meets them. */
const PARTS = 64;

/** How the service's clock goes: it is ahead of the run's, and may drift away from it. */
export function serviceClockOf({
  start,
  offset,
  drift,
}: Pick<WorldPlan, "start" | "offset" | "drift">): ServiceTime {
  if (drift === 0) return { at: (instant) => instant + offset, until: (serviceNow) => serviceNow - offset };
  const begins = start + offset;
  return {
    at: (instant) => instant + offset + (instant - start) * drift,
    until: (serviceNow) => Math.round((start + (serviceNow - begins) / (1 + drift)) * PARTS) / PARTS,
  };
}
