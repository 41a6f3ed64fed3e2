import { expect, it } from "vitest";
import { driftsIn } from "../economy/spans.js";
import type { RunLog } from "../run-log.js";
import { copiedClosings, followsPoll, leastOf, searchOf, slackOf } from "./slots.js";

it("wants a poll for each slot that comes once the one before is surely answered", () => {
  const slots = [0, 447, 894, 1_000, 1_447, 1_894, 2_000];
  expect(leastOf(slots, 20)).toBe(7);
  expect(leastOf(slots, 107)).toBe(5);
  // A poll that is a second late leaves out those that are due meanwhile.
  expect(leastOf(slots, 1_000)).toBe(3);
  // However short the way is: a closing that is asked for no later serves a refresh just before it, too.
  expect(leastOf([0, 19_990, 20_000, 39_980], 0)).toBe(3);
});

it("lets polls come two seconds late behind machines whose clocks are less than a second apart", () => {
  expect(slackOf(426, 427, false)).toBe(2_000);
  expect(slackOf(999, 1_000, false)).toBe(2_050);
  // Others are as late as the clock is unknown.
  expect(slackOf(0, 1, false)).toBe(1_051);
  expect(slackOf(1_000, 1_001, false)).toBe(2_051);
  expect(slackOf(1_000, 1, true)).toBe(1_501);
});

it("takes what asks for the first rows of a pair that shows none any more for a search", () => {
  const look = (limit: number, rows: number) => ({
    url: `/ohlcv?limit=${limit}`,
    rows: new Map(Array.from({ length: rows }, (_, at) => [at, []])),
  });
  const probes = [look(2, 0), look(2, 0)];
  expect(searchOf([look(7, 1), look(7, 0), ...probes], false)).toBe(2);
  // As long as it shows some there is nothing to look for.
  expect(searchOf([look(7, 1), ...probes], false)).toBe(0);
  expect(searchOf([look(7, 0), ...Array.from({ length: 20 }, () => probes).flat()], false)).toBe(25);
  // What it shows first may come with any of them.
  expect(searchOf([look(7, 0)], true)).toBe(25);
});

it("wants no slot for what looks for the beginning of a pair, or again at what was in doubt", () => {
  const look = (sent: number, limit: number) => ({ sent, url: `/ohlcv?limit=${limit}` });
  expect(followsPoll(look(9_000, 7), [])).toBe(false);
  expect(followsPoll(look(9_000, 2), [])).toBe(true);
  expect(followsPoll(look(9_000, 7), [{ received: 5_000 }])).toBe(true);
  expect(followsPoll(look(9_000, 7), [{ received: 3_000 }])).toBe(false);
});

it("lets a closing be asked for twice each time clocks have drifted apart by 20 ms", () => {
  const within = (drift: number, minutes: number) =>
    driftsIn({ plan: { world: { drift } } } as unknown as RunLog, { from: 0, until: minutes * 60_000 });
  expect(within(0, 60)).toBe(0);
  expect(within(-1e-4, 10)).toBeCloseTo(3);
  expect(within(5e-5, 20)).toBeCloseTo(3);
});

it("lets a closing be asked for once more where a cache has answered with a copy from before it", () => {
  const series = { network: "mainnet", pairAddress: "", timeframe: "10s", currency: "usd" } as const;
  const count = (...looks: (readonly [answeredAt: number, old: number])[]) =>
    copiedClosings(
      looks.map(([answeredAt, old]) => ({ answeredAt, old })),
      { series, weekStart: "monday", settle: 1_000 },
    );
  expect(count([11_010, 0], [11_010, 800])).toBe(0);
  // However often.
  expect(count([10_900, 0], [10_900, 120], [10_900, 900])).toBe(1);
  expect(count([10_900, 120], [20_900, 120])).toBe(2);
});
