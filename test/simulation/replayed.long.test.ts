import { expect, it } from "vitest";
import { replaySeed } from "./replayed.js";

// replayed.test.ts plays those before them.
it("what was recorded under every fault is replayed, with seeds 4 to 38", async () => {
  for (let seed = 4; seed <= 38; seed += 1) {
    expect((await replaySeed(seed, 0.3)).difference, `seed ${seed}`).toBeUndefined();
  }
});
