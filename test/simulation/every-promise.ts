import { describe, expect, it } from "vitest";
import { runSeed } from "./run-seed.js";
import { describeFailure, shrink } from "./shrink.js";

/** Short runs; `npm run simulate` plays longer ones, and more of them. */
export const HOURS = 0.4;
const SEEDS = 20;

async function failuresOf(from: number): Promise<string[]> {
  const failures: string[] = [];
  for (let seed = from; seed < from + SEEDS; seed += 1) {
    const { breaches } = await runSeed(seed, HOURS);
    const first = breaches[0];
    if (first !== undefined)
      failures.push(describeFailure(seed, HOURS, await shrink(seed, HOURS, first.promise)));
  }
  return failures;
}

/** Plays so many batches of seeds, from a seed on. */
export function describeEveryPromise(first: number, batches: number): void {
  describe("every promise holds under every fault", () => {
    it.each(Array.from({ length: batches }, (_, batch) => first + batch * SEEDS))(
      `from seed %i on, ${SEEDS} of them`,
      async (from) => {
        expect(await failuresOf(from)).toEqual([]);
      },
    );
  });
}
