import { describe, expect, it } from "vitest";
import { unknownOf } from "./known.js";
import { drawPlan } from "./plan.js";
import { play } from "./run.js";
import { runSeed, transcript } from "./run-seed.js";
import { describeFailure, shrink } from "./shrink.js";

/** Short runs; `npm run simulate` plays longer ones, and more of them. */
const HOURS = 0.4;
const BATCHES = 12;
const SEEDS = 20;

async function failuresOf(from: number): Promise<string[]> {
  const failures: string[] = [];
  for (let seed = from; seed < from + SEEDS; seed += 1) {
    const { breaches } = await runSeed(seed, HOURS);
    const [first] = unknownOf({ seed, hours: HOURS, breaches });
    if (first !== undefined)
      failures.push(describeFailure(seed, HOURS, await shrink(seed, HOURS, first.promise)));
  }
  return failures;
}

describe("every promise holds under every fault", () => {
  it.each(Array.from({ length: BATCHES }, (_, batch) => 1 + batch * SEEDS))(
    `from seed %i on, ${SEEDS} of them`,
    async (from) => {
      expect(await failuresOf(from)).toEqual([]);
    },
  );
});

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
