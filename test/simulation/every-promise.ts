import { describe, expect, it } from "vitest";
import type { Compared } from "./check.js";
import { mendedOf, unknownOf } from "./known.js";
import { NOTHING, runSeed, sum } from "./run-seed.js";
import { describeFailure, shrink } from "./shrink.js";

/** Short runs; `npm run simulate` plays longer ones, and more of them. */
export const HOURS = 0.4;
const SEEDS = 20;
/** simulation.test.ts and simulation.long.test.ts play the seeds up to this one. */
export const SUITE = 240;

async function failuresOf(from: number, counted: (counts: typeof NOTHING) => void): Promise<string[]> {
  const failures: string[] = [];
  for (let seed = from; seed < from + SEEDS; seed += 1) {
    const { breaches, counts } = await runSeed(seed, HOURS);
    counted(counts);
    const run = { seed, hours: HOURS, breaches };
    const [first] = unknownOf(run);
    if (first !== undefined)
      failures.push(describeFailure(seed, HOURS, await shrink(seed, HOURS, first.promise)));
    for (const name of mendedOf(run)) failures.push(`seed ${seed} does not show any more: ${name}`);
  }
  return failures;
}

/** Plays so many batches of seeds, from a seed on; what is known to be wrong has to show. */
export function describeEveryPromise(first: number, batches: number): void {
  // The last test counts what those before it have played.
  describe("every promise holds under every fault", { shuffle: false }, () => {
    let total = NOTHING;
    const count = (counts: typeof NOTHING) => {
      total = sum(total, counts);
    };

    it.each(Array.from({ length: batches }, (_, batch) => first + batch * SEEDS))(
      `from seed %i on, ${SEEDS} of them`,
      async (from) => {
        expect(await failuresOf(from, count)).toEqual([]);
      },
    );

    it("and nine of ten who are shown candles are compared with the truth, at 1s, too", () => {
      const shareOf = (all: readonly Compared[]) =>
        all.reduce((sum, { compared }) => sum + compared, 0) / all.reduce((sum, { stays }) => sum + stays, 0);
      expect(shareOf(Object.values(total.compared))).toBeGreaterThan(0.9);
      expect(shareOf([total.compared["1s"]!])).toBeGreaterThan(0.9);
    });
  });
}
