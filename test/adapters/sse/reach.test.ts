import fc from "fast-check";
import { expect, it } from "vitest";
import { covers, furtherReach, intervalsBack, type Since, startOf } from "../../../src/adapters/sse/reach.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { MINUTE, minuteCandle } from "../../candles/minute-candles.js";

const NOW = 1_000 * MINUTE + 5;
const RULES = { intervals: intervalsOf("1min"), fillGaps: false, most: 500 };

const since: fc.Arbitrary<Since> = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: 501, max: 1_000 }).map((minute) => minute * MINUTE),
  fc.record({ candles: fc.integer({ min: 1, max: 500 }) }),
);
/** The minutes in which there was a swap, the running one and one before it included. */
const minutes = fc
  .uniqueArray(fc.integer({ min: 0, max: 999 }), { minLength: 1 })
  .map((list) => [...list, 1_000].sort((a, b) => a - b));

/** What a stream tells that begins there. */
function toldFrom(reach: Since, all: readonly number[]) {
  const candles = all.map((minute) => minuteCandle(minute));
  const start = startOf(reach, candles, NOW, RULES);
  return candles.filter(({ timestamp }) => timestamp >= start);
}

it("a stream that covers what is asked for has all of it, whatever was asked for before", () => {
  fc.assert(
    fc.property(minutes, fc.array(since, { minLength: 1 }), fc.array(fc.boolean()), (all, asked, isTold) => {
      let reach: Since;
      let runs = 0;
      let told = toldFrom(undefined, all);
      for (const [at, one] of asked.entries()) {
        const isSettled = isTold[at] ?? true;
        const known = isSettled ? { candles: told, after: -Infinity } : undefined;
        if (runs === 0 || !covers(reach, one, known, NOW, RULES)) {
          reach = runs === 0 ? one : furtherReach(reach, one, isSettled, NOW, RULES);
          told = toldFrom(reach, all);
          runs += 1;
        }
        const start = startOf(one, told, NOW, RULES);
        expect(told.filter(({ timestamp }) => timestamp >= start)).toEqual(toldFrom(one, all));
        expect(intervalsBack(reach, NOW, RULES)).toBeLessThanOrEqual(RULES.most + 1);
      }
      // As many as there are steps from 10 to 500, of both kinds.
      expect(runs).toBeLessThanOrEqual(1 + 2 * 7);
    }),
    { numRuns: 500 },
  );
});

it("what was forgotten is not covered, whatever the stream began with", () => {
  const candles = [5, 6, 7].map((minute) => minuteCandle(minute));
  const told = { candles, after: 4 * MINUTE };
  expect(covers(0, 4 * MINUTE, told, NOW, RULES)).toBe(false);
  expect(covers(0, 5 * MINUTE, told, NOW, RULES)).toBe(true);
  expect(covers({ candles: 100 }, { candles: 4 }, told, NOW, RULES)).toBe(false);
  expect(covers({ candles: 100 }, { candles: 3 }, told, NOW, RULES)).toBe(true);
});
