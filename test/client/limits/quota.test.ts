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
    expect(pollThrottle(ledger, quota, demand(HOUR / 50, HOUR / 100), COSTS, 0)).toEqual({
      refresh: 2,
      close: 1,
    });
    expect(pollThrottle(ledger, quota, demand(HOUR / 400, HOUR / 100), COSTS, 0)).toEqual({
      refresh: never,
      close: 4,
    });
    // What fits exactly fits, and without a poll in between there is none to leave out.
    expect(pollThrottle(ledger, quota, demand(HOUR / 100, never), COSTS, 0)).toEqual({
      refresh: 1,
      close: 1,
    });
    // Costs that an answer names may have spent more than there was.
    for (const spent of [1_000, 1_200]) {
      for (const each of [demand(HOUR, HOUR), demand(HOUR, never), demand(never, HOUR)]) {
        const throttle = pollThrottle({ ...ledger, spent }, quota, each, COSTS, 0);
        expect(throttle).toEqual({ refresh: never, close: never });
      }
    }
    // Half of the time with all of the units: nothing has to give way.
    expect(pollThrottle(ledger, quota, demand(HOUR / 50, HOUR / 100), COSTS, HOUR / 2)).toEqual({
      refresh: 1,
      close: 1,
    });
  });

  it("never plans for more than is left", () => {
    const positive = fc.double({ min: 1_000, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            closeEvery: fc.oneof(positive, fc.constant(Number.POSITIVE_INFINITY)),
            refreshEvery: positive,
            kind: fc.constantFrom("ohlcv" as const, "snipers" as const),
          }),
        ),
        fc.integer({ min: 0, max: 1_000 }),
        fc.integer({ min: 0, max: HOUR - 1 }),
        (demands, spent, now) => {
          const throttle = pollThrottle({ period: 0, spent, spentAhead: 0 }, quota, demands, COSTS, now);
          const planned = demands.reduce((sum, { closeEvery, refreshEvery, kind }) => {
            const { refresh, close } = throttleFor({ closeEvery }, throttle);
            // Of a stream without intervals nothing gives way before a close does.
            if (closeEvery === Number.POSITIVE_INFINITY) expect(refresh).toBe(throttle.close);
            const each = (every: number, stretch: number) => ((HOUR - now) * COSTS[kind]) / (every * stretch);
            return sum + each(closeEvery, close) + each(refreshEvery, refresh);
          }, 0);
          expect(planned).toBeLessThanOrEqual((quota.units - spent) * (1 + 1e-9));
          if (throttle.close > 1) expect(throttle.refresh).toBe(Number.POSITIVE_INFINITY);
        },
      ),
    );
  });
});
