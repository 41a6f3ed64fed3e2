import { beforeAll, describe, expect, it } from "vitest";
import { bundledReplay } from "./bundle.js";
import { REPLAY_FAULTS } from "./planted/records.js";

const HOURS = 0.3;

describe("a recording that is replayed catches a library that", () => {
  let sound: Awaited<ReturnType<typeof bundledReplay>>;
  beforeAll(async () => {
    sound = await bundledReplay();
  });

  it.each(REPLAY_FAULTS)("$name", async (fault) => {
    const broken = await bundledReplay(fault);
    const [seed] = fault.seeds;
    expect((await broken(seed!, HOURS)).difference).toBeDefined();
    expect((await sound(seed!, HOURS)).difference).toBeUndefined();
  });
});
