import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchLateness } from "./lateness.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const SERIES = { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const FEED = { series: SERIES, every: "close", settle: 0, revisionWindow: 2, weekStart: "monday" };
/** When the candle was due, and how long the answer that shows it was on its way back, ms. */
const DUE = START + 60_000;
const DELAY = 9_000;

const WORLD = { start: START, latency: { base: 50, spread: 0, spike: 0 } };
/** The time is known. */
const CERTAIN: Partial<Context> = {
  serviceClock: (instant) => instant,
  looksAt: () => [],
  isTrusted: () => true,
  mayBeMachine: () => false,
  knowsTime: () => true,
  toleranceAt: () => 0,
};

/**
 * The breaches of a close, the first that its subscriber gets, which was seen at `observedAt`; the answer was so `old` by then,
 * or a page of one whose first page was sent at `begun`. `wait`: how long after the last answer it comes.
 */
async function breachesOf(
  observedAt: number,
  priority: string,
  {
    old = 0,
    begun = DUE + 50,
    wait = 0,
    cache,
  }: { old?: number; begun?: number; wait?: number; cache?: object } = {},
): Promise<number> {
  let breaches = 0;
  const at = DUE + 100 + DELAY;
  const candle = { timestamp: START, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
  const lateBy = Math.max(0, observedAt - DUE);
  const value = { type: "new", candle, status: "closed", revision: 0, live: false, lateBy, observedAt };
  const stay = {
    id: 1,
    plan: { kind: "candles", feed: FEED as FeedPlan, options: { ...SERIES, since: START - 3_600_000 } },
    joined: START - 3_000_000,
    events: [{ at, order: 2, value: { ...value, series: SERIES } as CandleEvent }],
  } as unknown as StayLog;
  const first = { url: "/ohlcv?limit=8", sent: begun, received: begun, priority, old };
  const last = { url: "/ohlcv?limit=8&cursor=1", sent: DUE + 50, received: at - wait, priority, old };
  const world = { plan: { world: { ...WORLD, cache }, healthyFrom: 0 }, stays: [stay] };
  const log = { ...world, told: [first, last] } as unknown as RunLog;
  const context: Partial<Context> = {
    ...CERTAIN,
    breach: () => {
      breaches += 1;
    },
  };
  await watchLateness(log, context as Context);
  return breaches;
}

it("takes what comes with the poll's answer that has shown it for late by that answer's time", async () => {
  expect(await breachesOf(DUE + 100, "close")).toBe(0);
  expect(await breachesOf(DUE - 3_700, "close", { old: 3_800 })).toBe(0);
  expect(await breachesOf(DUE - 3_000, "close", { begun: DUE - 3_000 })).toBe(0);
});

it("takes what a history hands over for late by when it comes", async () => {
  expect(await breachesOf(DUE + 100, "history")).toBe(1);
  expect(await breachesOf(DUE - 5_000, "close")).toBe(1);
  expect(await breachesOf(DUE + 100 + DELAY, "history")).toBe(0);
  // A walk has kept a page, and waited before it goes on.
  expect(await breachesOf(DUE + 100 + DELAY, "close", { wait: 1_000 })).toBe(0);
  expect(await breachesOf(DUE + 100, "close", { wait: 1_000 })).toBe(1);
  // A cache's whole seconds come on top of those of the `Date`.
  expect(await breachesOf(DUE + 100 + DELAY - 1_500, "history")).toBe(1);
  expect(await breachesOf(DUE + 100 + DELAY - 1_500, "history", { cache: { tellsAge: true } })).toBe(0);
});

describe("a close that is not live, 100 ms late, with nothing newer right after it", () => {
  /** An answer that was made when the candle had closed, asked for up to the end of `to`. */
  const breaches = async (madeAt: number, to: number) => {
    const [at, order] = [DUE + 20_000, 1];
    const found: string[] = [];
    const stay = {
      id: 1,
      plan: { kind: "candles", feed: FEED as FeedPlan, options: SERIES },
      joined: START - 3_000_000,
      events: [{ at, order, value: closedLate }],
    } as unknown as StayLog;
    const answer = { sent: DUE + 50, received: at, priority: "close", old: 0 } as Exchange;
    const log = {
      plan: { world: WORLD, healthyFrom: 0 },
      told: [answer],
      stays: [stay],
    } as unknown as RunLog;
    const look = { asked: { to }, isHistory: false, order, madeAt, old: 0, received: at, sent: DUE + 50 };
    const context: Partial<Context> = {
      ...CERTAIN,
      breach: (_, what) => found.push(what.replace(/.*: /, "")),
      looksAt: () => [look as unknown as Look],
      mayBeMachine: () => true,
    };
    await watchLateness(log, context as Context);
    return found;
  };
  const candle = { timestamp: START, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
  const closedLate = {
    ...{ type: "new", candle, status: "closed", revision: 0, live: false, lateBy: 100, series: SERIES },
    observedAt: DUE + 100,
  };
  const MINUTE = 60_000;

  it("is wrong where its answer was asked for all that had closed by then", async () => {
    expect(await breaches(DUE + 100, DUE + 2 * MINUTE)).toEqual(["is late by 100 alone, and not live"]);
    expect(await breaches(DUE + MINUTE - 1, DUE + MINUTE)).toEqual(["is late by 100 alone, and not live"]);
  });

  it("is right where a newer candle had closed by then, of which the next answer tells", async () => {
    expect(await breaches(DUE + MINUTE, DUE + MINUTE)).toEqual([]);
  });
});

it("takes what waited for a silence to be confirmed for seen by the answer that has shown it", async () => {
  const MINUTE = 60_000;
  const breaches = async (madeAt: number) => {
    const found: string[] = [];
    const at = DUE + 3_000;
    const candle = { timestamp: START, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
    const value = { type: "new", candle, status: "open", revision: 0, live: false, series: SERIES };
    const stay = {
      id: 1,
      plan: { kind: "candles", feed: FEED as FeedPlan, options: SERIES },
      joined: START - 3_000_000,
      events: [{ at, order: 2, value: { ...value, lateBy: 1_500, observedAt: DUE + 1_500 } }],
    } as unknown as StayLog;
    const answer = { received: at, priority: "close", old: 0 } as Exchange;
    const log = {
      plan: { world: WORLD, healthyFrom: 0 },
      told: [answer, answer],
      stays: [stay],
    } as unknown as RunLog;
    const lookOf = (order: number, madeAt: number, from: number, to: number) =>
      ({
        asked: { from, to },
        isHistory: false,
        order,
        madeAt,
        old: 0,
        received: madeAt,
        sent: madeAt,
      }) as Look;
    const looks = [
      lookOf(1, madeAt, START - 9 * MINUTE, START + 2 * MINUTE),
      lookOf(2, at, START - 9 * MINUTE, START - 5 * MINUTE),
    ];
    const context: Partial<Context> = {
      ...CERTAIN,
      breach: (_, what) => found.push(what.replace(/.*: /, "")),
      looksAt: () => looks,
    };
    await watchLateness(log, context as Context);
    return found.filter((what) => what.includes("is observed"));
  };
  expect(await breaches(DUE + 1_500)).toEqual([]);
  expect(await breaches(DUE - 1_500)).toEqual(["is observed 3000 ms from when its answer was made"]);
});

it("takes an older copy for observed when it was made, or when the newest answer before it was", async () => {
  const breaches = async (observedAt: number) => {
    const found: string[] = [];
    const at = DUE + 20_000;
    const candle = { timestamp: DUE, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
    const value = { type: "updated", candle, status: "open", revision: 3, live: true, lateBy: 0 };
    const stay = {
      id: 1,
      plan: { kind: "candles", feed: FEED as FeedPlan, options: SERIES },
      joined: START - 3_000_000,
      events: [{ at, order: 3, value: { ...value, series: SERIES, observedAt } }],
    } as unknown as StayLog;
    const answer = { received: at, priority: "refresh", old: 0 } as Exchange;
    const told = [answer, answer, answer];
    const log = { plan: { world: WORLD, healthyFrom: 0 }, told, stays: [stay] } as unknown as RunLog;
    const asked = { from: START, to: DUE + 120_000 };
    const lookOf = (order: number, madeAt: number) =>
      ({ asked, isHistory: false, order, madeAt, old: 0, received: at, sent: at }) as Look;
    const looks = [lookOf(1, DUE + 5_000), lookOf(2, DUE + 15_000), lookOf(3, DUE + 5_000)];
    const breach = (_: number, what: string) => found.push(what.replace(/.*: /, ""));
    await watchLateness(log, { ...CERTAIN, breach, looksAt: () => looks } as Context);
    return found;
  };
  expect(await breaches(DUE + 5_000)).toEqual([]);
  expect(await breaches(DUE + 15_000)).toEqual([]);
  expect(await breaches(DUE + 10_000)).toEqual(["is observed 5000 ms from when its answer was made"]);
});
