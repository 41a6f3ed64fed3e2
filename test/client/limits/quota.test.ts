import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  charged,
  type Ledger,
  ledgerAt,
  pollThrottle,
  type Quota,
  throttleFor,
} from "../../../src/client/limits/quota.js";

const HOUR = 3_600_000;
const quota: Quota = { units: 1_000, per: HOUR };
const COSTS = { ohlcv: 10, snipers: 3 };

describe("the ledger", () => {
  it("begins anew with each period, but for what may count for the next", () => {
    let ledger = charged(ledgerAt(undefined, quota, HOUR - 10, 0), 150, false);
    ledger = charged(ledger, 150, true);
    expect(ledger).toMatchObject({ period: 0, spent: 300 });
    expect(ledgerAt(ledger, quota, HOUR - 1, 0)).toEqual(ledger);
    expect(ledgerAt(ledger, quota, HOUR, 0)).toMatchObject({ period: 1, spent: 150 });
    expect(ledgerAt(ledger, quota, HOUR, 50)).toMatchObject({ period: 1, spent: 200 });
    expect(ledgerAt(ledger, quota, 2 * HOUR, 0)).toMatchObject({ period: 2, spent: 0 });
  });

  it("leaves out polls within an interval first, those at its end last", () => {
    const ledger: Ledger = { period: 0, spent: 0, spentAhead: 0 };
    const demand = (closeEvery: number, refreshEvery: number) => [
      { closeEvery, refreshEvery, kind: "ohlcv" as const },
    ];
    const never = Number.POSITIVE_INFINITY;
    expect(pollThrottle(ledger, quota, demand(HOUR / 50, HOUR / 50), COSTS, 0)).toEqual({
      refresh: 1,
      close: 1,
    });
    expect(pollThrottle(ledger, quota, demand(HOUR / 51, HOUR / 102), COSTS, 0)).toEqual({
      refresh: expect.closeTo(510 / 490),
      close: 1,
    });
    expect(pollThrottle(ledger, quota, demand(HOUR / 400, HOUR / 100), COSTS, 0)).toEqual({
      refresh: never,
      close: expect.closeTo(4),
    });
    // What fits exactly fits, and without a poll in between there is none to leave out.
    expect(pollThrottle(ledger, quota, demand(HOUR / 100, never), COSTS, 0)).toEqual({
      refresh: 1,
      close: 1,
    });
    // Costs that an answer names may have spent more than there was.
    for (const spent of [1_000, 1_200]) {
      for (const each of [demand(HOUR / 2, HOUR), demand(HOUR / 2, never), demand(never, HOUR / 2)]) {
        const throttle = pollThrottle({ ...ledger, spent }, quota, each, COSTS, 0);
        expect(throttle).toEqual({ refresh: never, close: never });
      }
    }
    // Half of the time with all of the units: nothing has to give way.
    expect(pollThrottle(ledger, quota, demand(HOUR / 51, HOUR / 102), COSTS, HOUR / 2)).toEqual({
      refresh: 1,
      close: 1,
    });
  });

  it("stretches no poll where all that are left fit, and some where they do not", () => {
    const lengths = [1_000, 60_000, 300_000, 900_000, HOUR];
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            closeEvery: fc.constantFrom(...lengths, Number.POSITIVE_INFINITY),
            refreshEvery: fc.oneof(
              fc.integer({ min: 250, max: HOUR }),
              fc.constantFrom(...lengths, Number.POSITIVE_INFINITY),
            ),
            kind: fc.constantFrom("ohlcv" as const, "snipers" as const),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        fc.integer({ min: 0, max: HOUR - 1 }),
        fc.integer({ min: -2, max: 2 }),
        (demands, now, spare) => {
          const polls = demands.map(({ closeEvery, refreshEvery }) => pollsIn(closeEvery, refreshEvery, now));
          const cost = demands.reduce((sum, { kind }, at) => sum + COSTS[kind] * polls[at]!, 0);
          // A poll of each stream, more or less.
          const each = demands.reduce((sum, { kind }) => sum + 2 * COSTS[kind], 0);
          const units = cost + spare * each;
          const throttle = pollThrottle(
            ledgerAt(undefined, quota, 0, 0),
            { units, per: HOUR },
            demands,
            COSTS,
            now,
          );
          if (spare > 0) expect(throttle).toEqual({ refresh: 1, close: 1 });
          if (spare < 0 && cost > each && units > 0)
            expect(Math.max(throttle.refresh, throttle.close)).toBeGreaterThan(1);
          if (throttle.close > 1) expect(throttle.refresh).toBe(Number.POSITIVE_INFINITY);
          const { refresh } = throttleFor({ closeEvery: Number.POSITIVE_INFINITY }, throttle);
          expect(refresh).toBe(throttle.close);
        },
      ),
    );
  });
});

/** How many polls follow in this hour, if intervals begin with it: at the end of each, and at multiples within each. */
function pollsIn(closeEvery: number, refreshEvery: number, now: number): number {
  let polls = 0;
  const length = Math.min(closeEvery, HOUR);
  for (let start = 0; start < HOUR; start += length) {
    const isSteady = closeEvery === Number.POSITIVE_INFINITY;
    if (start > now && !isSteady) polls += 1;
    for (let at = start + refreshEvery; at < start + length; at += refreshEvery) if (at > now) polls += 1;
  }
  return polls;
}
