import { expect } from "vitest";
import { inStep } from "./calm.js";
import { playNats } from "./run.js";

/** Plays so many collectors that renew their leases at the same moments, and expects each to keep its own. */
export async function expectLeasesKept(count: number): Promise<void> {
  const plan = inStep(count);
  const log = await playNats(plan);
  const told = log.lives.flatMap(({ activities }) => activities);
  expect(told.filter(({ at }) => at > plan.start + plan.length / 2)).toEqual([]);
  expect(log.lives.map(({ activities }) => activities.length > 0)).toEqual(Array(count).fill(true));
}
