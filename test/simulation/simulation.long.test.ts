import { describeEveryPromise } from "./every-promise.js";

// Those before them are played by simulation.test.ts.
describeEveryPromise(21, 11);
