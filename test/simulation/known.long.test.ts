import { expect, it } from "vitest";
import { SUITE } from "./every-promise.js";
import { knownRuns, mendedOf, unknownOf } from "./known.js";
import { runSeed } from "./run-seed.js";

/** Those that no other test plays. */
const runs = knownRuns().filter(({ seed }) => seed > SUITE);

it(`what is known to be wrong shows in ${runs.length} more seeds, and nothing else`, async () => {
  for (const { seed, hours } of runs) {
    const { breaches } = await runSeed(seed, hours);
    const run = { seed, hours, breaches };
    expect({ seed, mended: mendedOf(run), unknown: unknownOf(run) }).toEqual({
      seed,
      mended: [],
      unknown: [],
    });
  }
});
