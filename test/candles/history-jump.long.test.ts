import { describeHistoryJumps, LONG_SCENES } from "./history-jumps.js";

// The others are played by history-jump.test.ts.
describeHistoryJumps(LONG_SCENES);
