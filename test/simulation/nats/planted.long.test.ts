import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { bundledNats, playedOnce } from "../bundle.js";
import { PLANTED_NATS_FAULTS } from "./planted-faults.js";

/** Tried where none of a fault's own seeds catches it any more. */
const FALLBACK = Array.from({ length: 60 }, (_, at) => at + 1);

describe("the simulation of collectors catches a library that", () => {
  let sound: Awaited<ReturnType<typeof bundledNats>>;
  beforeAll(async () => {
    sound = playedOnce(await bundledNats());
  });

  it.each(PLANTED_NATS_FAULTS)("$name", async (fault) => {
    const broken = await bundledNats(fault);
    const { plan } = fault;
    const worlds: Parameters<typeof sound>[] = plan
      ? [[plan.seed, { plan }]]
      : [...fault.seeds, ...FALLBACK].map((seed) => [seed]);
    for (const world of worlds) {
      const { breaches } = await broken(...world);
      if (!breaches.some(({ monitor }) => monitor === fault.monitor)) continue;
      expect((await sound(...world)).breaches).toEqual([]);
      return;
    }
    expect.unreachable("no seed catches it");
  });
});

it.each(PLANTED_NATS_FAULTS)("the place of “$name” occurs once in $file", ({ file, find }) => {
  const text = readFileSync(new URL(`../../../src/${file}`, import.meta.url), "utf8");
  expect(text.split(find)).toHaveLength(2);
});
