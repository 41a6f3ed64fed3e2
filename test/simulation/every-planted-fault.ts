import { beforeAll, describe, expect, it } from "vitest";
import { bundled, playedOnce } from "./bundle.js";
import type { PlantedFault } from "./planted-faults.js";

const HOURS = 0.4;
/** Tried where none of a fault's own seeds catches it any more. */
const FALLBACK = Array.from({ length: 200 }, (_, at) => at + 1);

/** Plants some faults, and has the simulation catch each of them. */
export function describePlantedFaults(faults: readonly PlantedFault[]): void {
  describe("the simulation catches a library that", () => {
    let sound: Awaited<ReturnType<typeof bundled>>;
    beforeAll(async () => {
      sound = playedOnce(await bundled());
    });

    it.each(faults)("$name", async (fault) => {
      const broken = await bundled(fault);
      const { hours = HOURS } = fault;
      for (const seed of [...fault.seeds, ...FALLBACK]) {
        const { breaches } = await broken(seed, hours);
        if (breaches.length === 0) continue;
        // What a seed breaks as it is tells nothing.
        const asItIs = (await sound(seed, hours)).breaches.map(
          ({ promise, monitor }) => `${promise} ${monitor}`,
        );
        if (breaches.some(({ promise, monitor }) => !asItIs.includes(`${promise} ${monitor}`))) return;
      }
      expect.unreachable("no seed catches it");
    });
  });
}
