import { expect, it } from "vitest";
import { drawNatsPlan } from "./plan.js";
import { playNats } from "./run.js";
import { runNatsSeed, transcript } from "./run-seed.js";
import { describeNatsFailure, shrinkNats } from "./shrink.js";

/** `npm run simulate:nats` plays more, and cases.long.test.ts single cases. */
const SEEDS = [10, 34, 42];

it.each(SEEDS)("collectors keep every promise under seed %i", async (seed) => {
  const { breaches } = await runNatsSeed(seed);
  const first = breaches[0];
  expect(first && describeNatsFailure(seed, await shrinkNats(seed, first.monitor))).toBeUndefined();
});

it("a seed gives the same run", async () => {
  const [first, second] = [await playNats(drawNatsPlan(34)), await playNats(drawNatsPlan(34))];
  expect(transcript(second) === transcript(first)).toBe(true);
  expect(first.arrivals.length).toBeGreaterThan(100);
});
