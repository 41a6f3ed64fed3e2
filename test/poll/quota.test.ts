import { Subscription } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  createClient,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
  watchSniperReport,
} from "../../src/index.js";
import { demoService } from "../../src/service/index.js";

const MINUTE = 60_000;
const START = Date.UTC(2025, 0, 1, 2, 0, 25);
const POLL = 150;

describe("streams that cost more than a quota allows", () => {
  it.each([
    { streams: 12, polls: 24, per: MINUTE, every: 2_000 },
    { streams: 12, polls: 24, per: MINUTE, every: "close" },
    { streams: 12, polls: 13, per: MINUTE, every: "close" },
    { streams: 12, polls: 11, per: MINUTE, every: "close" },
    { streams: 12, polls: 6, per: MINUTE, every: 3_000 },
    { streams: 30, polls: 24, per: 3 * MINUTE, every: "close" },
    { streams: 5, polls: 100, per: 10 * MINUTE, every: "close" },
  ] as const)("share it evenly, and all of it: %o", async ({ streams, polls, per, every }) => {
    const clock = new VirtualClock(START);
    const { pairs, clientOptions } = demoService({
      pairs: streams,
      createdAt: "2025-01-01",
      clock: () => clock.now(),
    });
    const quota = { units: polls * POLL, per };
    const client = createClient({ ...clientOptions, scheduler: clock, quota, warn: false });
    const spent = new Map<number, number>();
    const all = new Subscription();
    all.add(
      client.activity.subscribe((activity) => {
        if (activity.type !== "response") return;
        const period = Math.floor(activity.at / per);
        spent.set(period, (spent.get(period) ?? 0) + (activity.weight ?? 0));
      }),
    );
    const covered = new Map<string, number>();
    for (const pairAddress of pairs) {
      const series = { network: "mainnet", pairAddress, timeframe: "10s", currency: "usd" } as const;
      all.add(watchCandles(client, { ...series, every }).subscribe());
      all.add(
        watchFeedStatus(client, { ...series, every }).subscribe(({ coveredUntil = 0 }) =>
          covered.set(pairAddress, coveredUntil),
        ),
      );
    }
    // In the first periods clocks are learned and beginnings looked for.
    await clock.advanceBy(5 * per);
    let oldest = 0;
    const until = clock.now() + 10 * per;
    while (clock.now() < until) {
      await clock.advanceBy(10_000);
      oldest = Math.max(oldest, clock.now() - Math.min(...covered.values()));
    }
    all.unsubscribe();
    // Each has its turn; where a period has fewer than two for each, one may fall into the next.
    const turn = (per * streams) / polls;
    expect(oldest).toBeLessThan(2 * turn <= per ? per : turn + per);
    const whole = [...spent.values()].slice(6, -1);
    expect(Math.min(...whole)).toBeGreaterThanOrEqual(0.9 * quota.units);
    expect(Math.max(...whole)).toBeLessThanOrEqual(quota.units);
  });

  it.each([
    { polls: 70, every: "close", apart: 2 },
    { polls: 24, every: "close", apart: 4 },
    { polls: 110, every: 2_000, apart: 1 },
  ] as const)("leave the snipers of a pair their turns, as many as closes have: %o", async (plan) => {
    const clock = new VirtualClock(START);
    const { pairs, clientOptions } = demoService({ createdAt: "2025-01-01", clock: () => clock.now() });
    const quota = { units: plan.polls * POLL, per: 10 * MINUTE };
    const client = createClient({ ...clientOptions, scheduler: clock, quota, warn: false });
    const [pairAddress] = pairs;
    const series = { network: "mainnet", pairAddress, timeframe: "10s", currency: "usd" } as const;
    const all = new Subscription();
    all.add(watchCandles(client, { ...series, every: plan.every }).subscribe());
    all.add(watchCandles(client, { ...series, timeframe: "30s", every: plan.every }).subscribe());
    let reports = 0;
    all.add(
      watchSniperReport(client, { pairAddress, every: MINUTE }).subscribe(() => {
        reports += 1;
      }),
    );
    await clock.advanceBy(20 * MINUTE);
    reports = 0;
    await clock.advanceBy(60 * MINUTE);
    all.unsubscribe();
    expect(reports).toBeGreaterThanOrEqual(60 / plan.apart - 1);
  });

  it.each(["30min", "1d"] as const)(
    "poll within an interval of %s again once a new period begins, however little the last one has left",
    async (timeframe) => {
      for (let units = 4_000; units <= 5_000; units += 25) {
        const clock = new VirtualClock(START);
        const { pairs, clientOptions } = demoService({ createdAt: "2024-12-01", clock: () => clock.now() });
        const quota = { units, per: 10 * MINUTE };
        const client = createClient({ ...clientOptions, scheduler: clock, quota, warn: false });
        const [pairAddress] = pairs;
        const series = { network: "mainnet", pairAddress, currency: "usd" } as const;
        const asked: number[] = [];
        const all = client.activity.subscribe((activity) => {
          const isPoll = activity.type === "request" && activity.url.includes(`timeframe=${timeframe}&`);
          if (isPoll) asked.push(activity.at - START);
        });
        all.add(watchCandles(client, { ...series, timeframe, every: MINUTE }).subscribe());
        all.add(watchCandles(client, { ...series, timeframe: "5min", every: "close" }).subscribe());
        const range = { fromDate: START - 60 * MINUTE, toDate: START };
        for (let call = 0; call < 24; call += 1)
          void client.ohlcvPage({ ...series, timeframe: "1min", ...range }).catch(() => {});
        await clock.advanceTo(START + 10 * MINUTE);
        const before = asked.length;
        await clock.advanceTo(START + 20 * MINUTE);
        all.unsubscribe();
        expect([units, asked.length - before]).toEqual([units, 10]);
      }
    },
  );
});
