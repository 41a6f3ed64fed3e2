import { expect, it } from "vitest";
import type { CandleEvent } from "../../../src/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchLateness } from "./lateness.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const SERIES = { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const FEED = { series: SERIES, every: "close", settle: 0, revisionWindow: 2, weekStart: "monday" };
/** When the candle was due, and how long the answer that shows it was on its way back, ms. */
const DUE = START + 60_000;
const DELAY = 9_000;

/** The breaches of a close, the first that its subscriber gets, which was seen at `observedAt`; the answer was so `old` by then. */
async function breachesOf(observedAt: number, priority: string, old = 0): Promise<number> {
  let breaches = 0;
  const at = DUE + 100 + DELAY;
  const candle = { timestamp: START, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
  const lateBy = Math.max(0, observedAt - DUE);
  const value = { type: "new", candle, status: "closed", revision: 0, live: false, lateBy, observedAt };
  const stay = {
    id: 1,
    plan: { kind: "candles", feed: FEED as FeedPlan, options: { ...SERIES, since: START - 3_600_000 } },
    joined: START - 3_000_000,
    events: [{ at, order: 1, value: { ...value, series: SERIES } as CandleEvent }],
  } as unknown as StayLog;
  const answer = { sent: DUE + 50, received: at, priority, old } as Exchange;
  const world = { start: START, latency: { base: 50, spread: 0, spike: 0 } };
  const log = { plan: { world, healthyFrom: 0 }, told: [answer], stays: [stay] } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: () => {
      breaches += 1;
    },
    serviceClock: (instant) => instant,
    looksAt: () => [],
    isTrusted: () => true,
    mayBeMachine: () => false,
    knowsTime: () => true,
    toleranceAt: () => 0,
  };
  await watchLateness(log, context as Context);
  return breaches;
}

it("takes what comes with the poll's answer that has shown it for late by that answer's time", async () => {
  expect(await breachesOf(DUE + 100, "close")).toBe(0);
  expect(await breachesOf(DUE - 3_700, "close", 3_800)).toBe(0);
});

it("takes what a history hands over for late by when it comes", async () => {
  expect(await breachesOf(DUE + 100, "history")).toBe(1);
  expect(await breachesOf(DUE - 5_000, "close")).toBe(1);
  expect(await breachesOf(DUE + 100 + DELAY, "history")).toBe(0);
});
