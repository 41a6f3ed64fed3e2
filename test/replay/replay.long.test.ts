import { expect, it } from "vitest";
import { livedTwice } from "./lived-twice.js";

// replay.test.ts plays those before them.
it("a session in which every timer is up to 40 ms late is replayed byte for byte, with seeds 11 to 50", async () => {
  for (let seed = 11; seed <= 50; seed += 1) {
    const { seen, again } = await livedTwice(seed, { late: 40 });
    expect(again, `seed ${seed}`).toEqual(seen);
  }
});
