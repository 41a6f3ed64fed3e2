import type { PlantedFault } from "./planted-fault.js";

/** What the monitors of statuses, slots, lateness and second looks catch. */
export const STATUS_FAULTS: readonly PlantedFault[] = [];
