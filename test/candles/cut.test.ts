import { describeCutRanges, QUICK_CASES } from "./cut-ranges.js";

// cut.long.test.ts plays the others.
describeCutRanges(QUICK_CASES);
