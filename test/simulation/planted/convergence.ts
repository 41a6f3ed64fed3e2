import type { PlantedFault } from "./planted-fault.js";

/** What the comparison with the truth catches: streams, histories and calls that are not what the service has. */
export const CONVERGENCE_FAULTS: readonly PlantedFault[] = [];
