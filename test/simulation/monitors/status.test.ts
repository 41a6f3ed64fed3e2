import { expect, it } from "vitest";
import type { FeedStatus } from "../../../src/index.js";
import type { FeedPlan } from "../plan.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { watchStatuses } from "./status.js";

const START = Date.UTC(2024, 0, 1);
/** When all trouble is over, and the grace after it has passed, ms. */
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
/** A look may take so long that the next poll is due, ms. */
const TRIP = 100;

/** The breaches of a status that is stalled `stalledFor` ms from the end of an interval on, and live after it or left. */
async function breachesOf(stalledFor: number, end: "live" | "left"): Promise<string[]> {
  const breaches: string[] = [];
  const stalledAt = START + CALM + 60_000;
  const seen = (at: number, state: FeedStatus["state"]) => ({ at, order: 0, value: { state, failures: 0 } });
  const statuses = [seen(START, "starting"), seen(START + 1_000, "live"), seen(stalledAt, "stalled")];
  if (end === "live") statuses.push(seen(stalledAt + stalledFor, "live"));
  const left = stalledAt + stalledFor + (end === "live" ? 1_000 : 0);
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
  const log = { plan: { world, healthyFrom: 0 }, told: [], stays: [stay] } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what.replace(/:.*/, "")}`),
    graceOf: () => CALM,
    serviceClock: (at) => at,
    clockTolerance: 0,
    looksAt: () => [],
    answersOf: () => [],
    isThrottled: () => false,
  };
  await watchStatuses(log, context as Context);
  return breaches;
}

it("takes a status for well that is stalled only until a look that was under way is answered", async () => {
  expect(await breachesOf(6 * TRIP - 1, "live")).toEqual([]);
  expect(await breachesOf(6 * TRIP, "live")).toEqual(["6: status 1 is stalled in good health"]);
});

it("does not judge whether it would have been, where somebody leaves before that", async () => {
  expect(await breachesOf(6 * TRIP - 1, "left")).toEqual([]);
  expect(await breachesOf(6 * TRIP, "left")).toEqual(["6: status 1 is stalled in good health"]);
});
