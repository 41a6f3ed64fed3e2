import { beforeAll, describe, expect, it } from "vitest";
import { bundled, playedOnce } from "./bundle.js";
import { HOURS, SUITE } from "./every-promise.js";
import { unknownOf } from "./known.js";
import type { PlantedFault } from "./planted-faults.js";
import type { Breach } from "./run-log.js";

/** Tried where none of a fault's own seeds catches it any more. */
const FALLBACK = Array.from({ length: 200 }, (_, at) => at + 1);

const nameOf = ({ promise, monitor }: Breach) => `${promise} ${monitor}`;

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
        // What a seed breaks as it is tells nothing. Of those that the suite plays it is known.
        const isPlayed = seed <= SUITE && hours === HOURS;
        const asItIs = isPlayed ? [] : (await sound(seed, hours)).breaches.map(nameOf);
        if (unknownOf({ seed, hours, breaches }).some((breach) => !asItIs.includes(nameOf(breach)))) return;
      }
      expect.unreachable("no seed catches it");
    });
  });
}
