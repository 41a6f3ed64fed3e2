import { describe, expect, it } from "vitest";
import { KNOWN_CASES, knownRuns, mendedOf } from "./known.js";
import { runSeed } from "./run-seed.js";

describe("what is known to be wrong is still wrong, or is taken off the list", () => {
  it.each(KNOWN_CASES)("$name", async ({ sees, play }) => {
    expect(await play()).toMatch(sees);
  });

  it.each(knownRuns())("seed $seed of $hours hours", async ({ seed, hours }) => {
    const { breaches } = await runSeed(seed, hours);
    expect(mendedOf({ seed, hours, breaches })).toEqual([]);
  });
});
