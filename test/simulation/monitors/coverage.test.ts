import { expect, it } from "vitest";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { watchStatuses } from "./status.js";

const MINUTE = 60_000;
const START = Date.UTC(2024, 0, 10);
/** More intervals than any page has. */
const BACK = 9_000;
const FEED = {
  series: { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
  ...{ every: "close", settle: 0, revisionWindow: 2, weekStart: "monday", period: MINUTE },
} as unknown as FeedPlan;

const lookAt = (from: number, to: number) =>
  ({
    asked: { from: START - from * MINUTE, to: START - to * MINUTE },
    ...{ answeredAt: START, asOf: START, madeAt: START, received: START, sent: START, order: 1, old: 0 },
    ...{ isHistory: true, rows: new Map([[START, []]]), broken: new Set(), hasUnidentifiedRow: false },
  }) as unknown as Look;

/** What is broken by a status that says that the last `BACK` minutes are covered, after some answers. */
async function breachesOf(
  looks: readonly Look[],
  { settle = 0, cache = undefined as { tellsAge: boolean } | undefined } = {},
): Promise<string[]> {
  const breaches: string[] = [];
  const covered = { coveredFrom: START - BACK * MINUTE, coveredUntil: START };
  const status = { at: START + settle, order: 1, value: { state: "live", failures: 0, ...covered } };
  const stay = {
    id: 1,
    plan: { kind: "status", feed: { ...FEED, settle }, options: {} },
    joined: START + settle,
    statuses: [status],
  };
  const world = {
    start: START,
    createdAt: 0,
    latency: { base: 0, spread: 0 },
    client: {},
    quirks: {},
    cache,
  };
  const log = {
    plan: { world: { ...world, offset: 0, drift: 0 }, healthyFrom: 0, feeds: [], watchers: [] },
    source: { pair: () => ({ createdAt: 0, swaps: () => [] }) },
    ...{ told: [], exchanges: [], stays: [stay as unknown as StayLog] },
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    ...{ clockTolerance: 0, serviceClock: (at) => at, toleranceAt: () => 0 },
    ...{ isTrusted: () => true, isThrottled: () => false, isWatched: () => true },
    ...{ looksAt: () => looks, answersOf: () => looks, bornAt: () => 0, changeableFrom: () => START },
  };
  await watchStatuses(log, context as Context);
  return breaches;
}

it("misses an interval that was not read, however deep in what is covered", async () => {
  expect(await breachesOf([lookAt(BACK, 0)])).toEqual([]);
  const gap = [lookAt(BACK, 5_000), lookAt(4_999, 0)];
  const missing = new Date(START - 5_000 * MINUTE).toISOString();
  expect(await breachesOf(gap)).toEqual([
    `6: status 1 of 1min covers ${missing}, which was not read after its end`,
  ]);
});

it("takes a row that cannot be read for one of its own interval alone, where a week may begin on two days", async () => {
  const withBroken = (broken: number) => ({ ...lookAt(BACK, 0), broken: new Set([broken]) }) as Look;
  expect(await breachesOf([withBroken(START - 5.5 * MINUTE)])).toEqual([]);
  expect(await breachesOf([withBroken(START - 5 * MINUTE)])).toHaveLength(1);
});

it("takes a copy whose age a cache hides for a new answer within the second of its Date, and no longer", async () => {
  const breaches = (answeredAt: number, old: number, tellsAge: boolean) => {
    const copy = { ...lookAt(BACK, 0), answeredAt: START + answeredAt, old };
    return breachesOf([copy], { settle: 250, cache: { tellsAge } });
  };
  expect(await breaches(250, 0, true)).toEqual([]);
  expect(await breaches(235, 293, true)).toHaveLength(1);
  expect(await breaches(235, 293, false)).toEqual([]);
  expect(await breaches(235, 14, false)).toHaveLength(1);
  expect(await breaches(-5, 293, false)).toHaveLength(1);
});
