import { expect, it } from "vitest";
import { describeEveryPromise, HOURS } from "./every-promise.js";
import { drawPlan } from "./plan.js";
import { play } from "./run.js";
import { runSeed, transcript } from "./run-seed.js";

// simulation.long.test.ts plays more.
describeEveryPromise(1, 1);

it("a seed gives the same run, byte for byte", async () => {
  for (const seed of [3, 5, 30]) {
    const [first, second] = [await play(drawPlan(seed, HOURS)), await play(drawPlan(seed, HOURS))];
    expect(transcript(first)).toBe(transcript(second));
    expect(first.flatMap(({ exchanges }) => exchanges).length).toBeGreaterThan(20);
  }
});

it("leaves out faults and watchers without changing the others", async () => {
  const plan = drawPlan(4, HOURS);
  const { counts } = await runSeed(4, HOURS, { faults: [], watchers: [0] });
  expect(plan.faults.length).toBeGreaterThan(0);
  expect(counts.faults).toEqual({});
});
