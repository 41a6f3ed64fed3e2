import { expect, it } from "vitest";
import type { CandleEvent } from "../../../src/index.js";
import type { Swap } from "../../../src/service/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import { askedBy, type Look, type Read, readBody, refusalsOf } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchConvergence } from "./convergence.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const at = (minute: number) => START + minute * MINUTE;
const FEED = {
  series: { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
  every: "close",
  settle: 0,
  revisionWindow: 2,
  weekStart: "monday",
  period: MINUTE,
} as unknown as FeedPlan;
/** The minute of the only swap, and the one for which nothing is shown. */
const [SWAP, HOLE] = [0, 3];
const LEFT = 10;

function answer(priority: string, isGood: boolean, minute: number): Exchange {
  const url =
    "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd" +
    `&fromDate=${at(-1) / 1_000}&toDate=${at(LEFT) / 1_000}`;
  const row = { timestamp: new Date(at(minute)).toISOString(), close: null };
  const told = { order: 0, isGood, error: undefined };
  return { url, priority, told, body: JSON.stringify({ result: [row] }) } as unknown as Exchange;
}

/** What breaks the promise for one whose gaps are filled, but for a minute; `told`: the answers to whoever asked. */
async function breachesOf(told: readonly Exchange[]): Promise<string[]> {
  const breaches: string[] = [];
  const minutes = Array.from({ length: LEFT }, (_, minute) => minute).filter((minute) => minute !== HOLE);
  const events = minutes.map((minute) => {
    const traded = minute === SWAP ? 1 : 0;
    const candle = {
      timestamp: at(minute),
      open: 1,
      high: 1,
      low: 1,
      close: 1,
      volume: traded,
      swaps: traded,
    };
    const status = minute < LEFT - 2 ? "final" : "closed";
    return { at: at(minute), order: 0, value: { type: "new", candle, status } as CandleEvent };
  });
  const stay = {
    id: 1,
    plan: { kind: "candles", feed: FEED, options: { since: at(0), fillGaps: true } },
    joined: START,
    joinedOrder: 0,
    left: at(LEFT) + 1,
    leftOrder: 9,
    events,
  } as unknown as StayLog;
  const swap = { timestamp: at(SWAP), side: "buy", tokenAmount: 1, usdAmount: 1, nativeAmount: 1 } as Swap;
  const pair = {
    tokenAddress: null,
    createdAt: 0,
    swaps: ({ from, to }: { from: number; to: number }) =>
      swap.timestamp >= from && swap.timestamp < to ? [swap] : [],
  };
  const log = {
    plan: { world: { start: START, weekStart: "monday", client: {} }, healthyFrom: 0 },
    told,
    source: { pair: () => pair },
    stays: [stay],
  } as unknown as RunLog;
  const look = {
    asked: askedBy(answer("poll", true, SWAP).url),
    isHistory: false,
    answeredAt: at(LEFT),
    asOf: at(LEFT),
    sent: at(LEFT),
    received: at(LEFT),
    order: 1,
    rows: new Map([[at(SWAP), []]]),
    broken: new Set<number>(),
    hasUnidentifiedRow: false,
  } as unknown as Look;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    graceOf: () => 0,
    foundAt: () => Number.NEGATIVE_INFINITY,
    serviceClock: (instant) => instant,
    clockTolerance: 0,
    looksAt: () => [look],
    refusalsAt: () => refusalsOf(log).get("pair 1min usd") ?? [],
    changeableFrom: () => at(LEFT - 2),
    bornAt: () => 0,
    isThrottled: () => false,
  };
  await watchConvergence(log, context as Context);
  return breaches;
}

const NOT_FILLED = `6: stay 1 of 1min: is not filled at ${new Date(at(HOLE)).toISOString()}`;

it("wants every minute filled from the first candle on", async () => {
  expect(await breachesOf([])).toEqual([NOT_FILLED]);
});

it("wants none filled whose row broke an answer that was refused", async () => {
  expect(await breachesOf([answer("history", false, HOLE)])).toEqual([]);
  expect(await breachesOf([answer("history", false, HOLE + 1)])).toEqual([NOT_FILLED]);
});

it("wants none filled where a poll was refused, as what it covers begins after that row", async () => {
  expect(await breachesOf([answer("poll", false, HOLE + 1)])).toEqual([]);
});

it("takes no answer for refused that was taken in, or holds no broken row", async () => {
  const taken = answer("history", true, HOLE);
  const read = readBody(taken, askedBy(taken.url)) as Read;
  expect([...read.broken]).toEqual([at(HOLE)]);
  const failed = { ...answer("history", false, HOLE), body: '{"result":[]}' };
  expect(await breachesOf([taken, failed])).toEqual([NOT_FILLED]);
});
