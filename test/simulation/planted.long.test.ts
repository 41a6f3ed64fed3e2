import { describePlantedFaults } from "./every-planted-fault.js";
import { HALF, PLANTED_FAULTS } from "./planted-faults.js";

// The other half has a file of its own, so that two processes share them.
describePlantedFaults(PLANTED_FAULTS.slice(0, HALF));
