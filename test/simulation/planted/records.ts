import type { PlantedFault } from "./planted-fault.js";

/** What the monitors of snipers, stores and replays catch. */
export const RECORDS_FAULTS: readonly PlantedFault[] = [];
