import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateCost, type Timeframe } from "../src/index.js";
import {
  candleWatch,
  DAY,
  expectEstimated,
  framesBetween,
  HOUR,
  MINUTE,
  run,
  type SpanRow,
  someLatency,
  someStart,
  worldAt,
} from "./sent-by-client.js";
import { MINUTES } from "./world.js";

// cost.test.ts takes shorter spans.
describe("what a client sends", () => {
  it.each<SpanRow>([
    ["a day", DAY, candleWatch(framesBetween(MINUTE, DAY), MINUTE), 8],
    ["a week", 7 * DAY, candleWatch(["1w"], 2 * HOUR).filter((options) => options.every !== undefined), 5],
  ])("in %s is the estimate", async (...row) => {
    await expectEstimated(row);
  });

  it("in a day is at most ten more a stream while the service's clock is being learned", async () => {
    const watches = fc.uniqueArray(fc.constantFrom<Timeframe>("1min", "5min", "1h"), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(
        someStart,
        someLatency,
        fc.integer({ min: -HOUR, max: HOUR }),
        watches,
        async (start, latency, offset, timeframes) => {
          const set = timeframes.map((timeframe) => ({ ...MINUTES, timeframe, every: "close" as const }));
          const world = worldAt(start, latency, true);
          world.offset = offset;
          world.swap(start + offset, 1);
          const { initial, later } = await run(world, set, DAY);
          const estimate = estimateCost(set);
          const expected = estimate.requests + estimate.initial.requests;
          const extra = initial.ohlcv + later.ohlcv - expected;
          expect(extra).toBeGreaterThanOrEqual(0);
          expect(extra).toBeLessThanOrEqual(10 * set.length);
        },
      ),
      { numRuns: 5 },
    );
  });
});
