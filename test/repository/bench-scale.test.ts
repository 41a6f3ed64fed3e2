import { map, NEVER, timer } from "rxjs";
import { describe, expect, it } from "vitest";
import { FOLLOWERS, type Follower, MINUTE } from "../../bench/freshness/followers.js";
import { type Stretch, trialOf } from "../../bench/freshness/trial.js";
import { freshness } from "../../bench/freshness.js";
import { quantile } from "../../bench/quantile.js";
import { ask } from "../../bench/scale/processes.js";

describe("quantile", () => {
  it("gives the least, the middle and the greatest, in whatever order they come", () => {
    const numbers = [30, 10, 50, 20, 40];
    expect([0, 0.5, 0.99, 1].map((share) => quantile(numbers, share))).toEqual([10, 30, 50, 50]);
  });

  it("takes what never was for the greatest, and has none of nothing", () => {
    expect(quantile([Number.POSITIVE_INFINITY, 1, Number.POSITIVE_INFINITY], 0.5)).toBe(
      Number.POSITIVE_INFINITY,
    );
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe("the trial of freshness", () => {
  const stretch: Stretch = { seed: 3, phase: 7_000, minutes: 30 };

  it("takes all candles for missed by one who never says anything", async () => {
    const silent: Follower = { name: "silent", follow: () => NEVER };
    const { fates, requests, candles } = await trialOf(silent, stretch);
    expect(candles).toBeGreaterThan(20);
    expect(fates).toHaveLength(candles);
    expect(requests).toBe(0);
    expect(new Set(fates.map((fate) => JSON.stringify(fate)))).toEqual(new Set(['{"isReal":true}']));
  });

  it("takes what is told and is not so for wrong, as late as it comes", async () => {
    const liar: Follower = {
      name: "liar",
      follow: (_series, _fetch, clock) =>
        timer(MINUTE, MINUTE, clock).pipe(
          map(() => {
            const timestamp = Math.floor(clock.now() / MINUTE - 1) * MINUTE;
            return {
              timestamp,
              candle: { timestamp, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 },
            };
          }),
        ),
    };
    const { fates } = await trialOf(liar, stretch);
    expect(fates).toHaveLength(stretch.minutes - 1);
    for (const fate of fates) expect(fate).toMatchObject({ seenAfter: 7_000, rightAfter: undefined });
  });

  it("knows when a candle was right for good, which corrections make later than its first sight", async () => {
    const { fates } = await trialOf(FOLLOWERS[0]!, stretch);
    const real = fates.filter(({ isReal }) => isReal);
    for (const { seenAfter, rightAfter } of real) expect(rightAfter).toBeGreaterThanOrEqual(seenAfter!);
    expect(real.some(({ seenAfter, rightAfter }) => rightAfter! > seenAfter!)).toBe(true);
  });

  it("finds the pollers that people write wrong", async () => {
    const findings = await freshness.check();
    expect(findings.map((each) => each.split(":")[0])).toEqual(["`timer(0, 60_000)`", "`timer(0, 10_000)`"]);
    for (const finding of findings) expect(finding).not.toMatch(/ 0 wrong/);
  });
});

it("weighs series in a process of their own", async () => {
  const { bytes } = await ask<{ bytes: number }>("./heap.ts", { count: 50 });
  expect(bytes).toBeGreaterThan(0);
});
