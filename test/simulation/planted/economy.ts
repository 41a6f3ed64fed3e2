import type { PlantedFault } from "./planted-fault.js";

/** What the bounds of the requests catch. */
export const ECONOMY_FAULTS: readonly PlantedFault[] = [];
