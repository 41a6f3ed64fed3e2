import { describePlantedFaults } from "./every-planted-fault.js";
import { HALF, PLANTED_FAULTS } from "./planted-faults.js";

// The first half is in planted.long.test.ts.
describePlantedFaults(PLANTED_FAULTS.slice(HALF));
