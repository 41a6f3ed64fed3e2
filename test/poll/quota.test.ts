import { Subscription } from "rxjs";
import { describe, expect, it } from "vitest";
import { createClient, VirtualClock, watchCandles, watchFeedStatus } from "../../src/index.js";
import { demoService } from "../../src/service/index.js";

const MINUTE = 60_000;
const START = Date.UTC(2025, 0, 1, 2, 0, 25);

describe("streams that cost three times what a quota allows", () => {
  it.each([
    ["2 s", 2_000],
    ["close", "close"],
  ] as const)("share it evenly, and all of it: every %s", async (_, every) => {
    const clock = new VirtualClock(START);
    const { pairs, clientOptions } = demoService({
      pairs: 12,
      createdAt: "2025-01-01",
      clock: () => clock.now(),
    });
    const quota = { units: 24 * 150, per: MINUTE };
    const client = createClient({ ...clientOptions, scheduler: clock, quota, warn: false });
    const spent = new Map<number, number>();
    const all = new Subscription();
    all.add(
      client.activity.subscribe((activity) => {
        if (activity.type !== "response") return;
        const minute = Math.floor(activity.at / MINUTE);
        spent.set(minute, (spent.get(minute) ?? 0) + (activity.weight ?? 0));
      }),
    );
    const covered = new Map<string, number>();
    for (const pairAddress of pairs) {
      const series = { network: "mainnet", pairAddress, timeframe: "10s", currency: "usd" } as const;
      const watch = { ...series, every, since: { candles: 20 } };
      all.add(watchCandles(client, watch).subscribe());
      all.add(
        watchFeedStatus(client, watch).subscribe(({ coveredUntil = 0 }) =>
          covered.set(pairAddress, coveredUntil),
        ),
      );
    }
    await clock.advanceBy(5 * MINUTE);
    let oldest = 0;
    for (let step = 0; step < 60; step += 1) {
      await clock.advanceBy(10_000);
      oldest = Math.max(oldest, clock.now() - Math.min(...covered.values()));
    }
    all.unsubscribe();
    // Each is polled twice a minute.
    expect(oldest).toBeLessThan(MINUTE);
    const whole = [...spent.values()].slice(6, -1);
    expect(Math.min(...whole)).toBeGreaterThanOrEqual(0.9 * quota.units);
    expect(Math.max(...whole)).toBeLessThanOrEqual(quota.units);
  });
});
