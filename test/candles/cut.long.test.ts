import { describeCutRanges, LONG_CASES } from "./cut-ranges.js";

// Those before them are played by cut.test.ts.
describeCutRanges(LONG_CASES);
