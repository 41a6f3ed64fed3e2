import { expect, it } from "vitest";
import type { FeedStatus } from "../../../src/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { watchStatuses } from "./status.js";

const START = Date.UTC(2024, 0, 1);
/** When the back-off after all trouble has passed, ms. */
const CALM = 600_000;
/** As close to each other as the last poll within an interval and the one at its end. */
const FEED = {
  series: { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
  every: 29_900,
  settle: 0,
  revisionWindow: 2,
  weekStart: "monday",
  period: 29_900,
} as unknown as FeedPlan;
/** One way, ms. */
const TRIP = 100;
/** Two round trips. */
const LOOK = 4 * TRIP;

interface Case {
  readonly stalledFor: number;
  readonly end: "live" | "left";
  /** When it is stalled, ms after the start of an interval. */
  readonly from?: number;
  /** How often, a minute apart. */
  readonly flaps?: number;
  readonly told?: readonly Partial<Exchange>[];
}

/** The breaches of a status that is stalled for a while in good health, and live after it or left. */
async function breachesOf({ stalledFor, end, from = 60_000, flaps = 1, told = [] }: Case): Promise<string[]> {
  const breaches: string[] = [];
  const stalledAt = START + CALM + from;
  const seen = (at: number, state: FeedStatus["state"]) => ({ at, order: 0, value: { state, failures: 0 } });
  const statuses = [seen(START, "starting"), seen(START + 1_000, "live")];
  for (let flap = 0; flap < flaps; flap += 1) {
    statuses.push(seen(stalledAt + flap * 60_000, "stalled"));
    if (end === "live") statuses.push(seen(stalledAt + flap * 60_000 + stalledFor, "live"));
  }
  const left = statuses.at(-1)!.at + (end === "live" ? 1_000 : stalledFor);
  const stay = {
    id: 1,
    plan: { kind: "status", feed: FEED, options: {} },
    joined: START,
    left,
    statuses,
  } as unknown as StayLog;
  const world = {
    start: START,
    createdAt: START - 1_000_000,
    latency: { base: TRIP, spread: 0 },
    client: {},
  };
  const log = {
    plan: { world, healthyFrom: 0, feeds: [], watchers: [] },
    told,
    exchanges: told,
    stays: [stay],
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what.replace(/( for \d+ ms)?:.*/, "")}`),
    serviceClock: (at) => at,
    clockTolerance: 0,
    looksAt: () => [],
    answersOf: () => [],
    bornAt: () => 0,
    isThrottled: () => false,
  };
  await watchStatuses(log, context as Context);
  return breaches;
}

const STALLED = ["6: status 1 of 1min is stalled in good health"];

it("takes a status for well that is stalled for less than two round trips, as two polls are due close to each other", async () => {
  expect(await breachesOf({ stalledFor: LOOK, end: "live" })).toEqual([]);
  expect(await breachesOf({ stalledFor: LOOK + 1, end: "live" })).toEqual(STALLED);
  expect(await breachesOf({ stalledFor: LOOK, end: "left" })).toEqual([]);
  expect(await breachesOf({ stalledFor: LOOK + 1, end: "left" })).toEqual(STALLED);
});

it("lets a status flap once for two round trips where polls are far apart", async () => {
  const far = { end: "live", from: 29_900 } as const;
  expect(await breachesOf({ ...far, stalledFor: LOOK })).toEqual([]);
  expect(await breachesOf({ ...far, stalledFor: LOOK + 1 })).toEqual(STALLED);
  expect(await breachesOf({ ...far, stalledFor: LOOK, flaps: 2 })).toEqual(STALLED);
});

it("wants no status that stays live after a poll whose last attempt has failed", async () => {
  const failed = {
    url: "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd",
    priority: "close",
    sent: START + 29_000,
    received: START + 30_000,
    told: { order: 0, isGood: false, error: undefined },
  };
  const stays = ["6: status 1 of 1min stays live after a poll that failed"];
  expect(await breachesOf({ stalledFor: 1, end: "live", told: [{ ...failed, attempt: 3 }] })).toEqual(stays);
  expect(await breachesOf({ stalledFor: 1, end: "live", told: [{ ...failed, attempt: 2 }] })).toEqual([]);
});
