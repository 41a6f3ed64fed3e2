import { expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import type { RunLog } from "../run-log.js";
import { watchErrors } from "./errors.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const ROUTE = "/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&fromDate=1&toDate=2";

interface Given {
  /** When it was sent, had come and, if it is a copy, how old it was by then, ms. */
  readonly sent: number;
  readonly took?: number;
  readonly old?: number;
  /** Which history has asked, by where that begins; else a poll has. */
  readonly history?: number;
  /** Whether the row is in order. */
  readonly isRead?: boolean;
  /** Whether the client could use the answer; default: it could. */
  readonly isGood?: boolean;
}

const ROW = { timestamp: new Date(START).toISOString(), open: 1, high: 1, low: 1, close: 1, volume: 1 };

/** What is broken where a row is dropped that all these answers have held broken, save those that could read it. */
async function breachesOf(answers: readonly Given[], hasDate: boolean): Promise<string[]> {
  const breaches: string[] = [];
  const told = answers.map(({ sent, took = 10, old = 0, history, isRead = false, isGood = true }, order) => {
    const received = START + sent + took;
    const body = JSON.stringify({
      result: [isRead ? { ...ROW, swaps: 1 } : { ...ROW, open: "none" }],
      cursor: isGood ? "" : "long",
    });
    const priority = history === undefined ? "close" : "history";
    return {
      ...{ url: `http://service${ROUTE.replace("=1&", `=${history ?? 1}&`)}`, priority },
      ...{ status: 200, body, faults: isGood ? [] : ["longCursor"] },
      ...{ sent: START + sent, received, endedAt: received, answeredAt: received - old, old },
      ...{ headers: { date: hasDate ? received - old : undefined }, told: { order, isGood } },
    };
  }) as unknown as Exchange[];
  const value = { type: "dropped", key: START, url: ROUTE };
  const activities = [{ at: START, order: told.length, value }];
  const log = { told, exchanges: told, activities, stays: [] } as unknown as RunLog;
  const breach: Context["breach"] = (promise, what) => breaches.push(`${promise}: ${what.slice(-15)}`);
  await watchErrors(log, { breach } as Context);
  return breaches;
}

it("takes no copy for another answer that holds a row broken, but of a slow one without a `Date`", async () => {
  const [first, last] = [{ sent: 0 }, { sent: 9_000, old: 1_010 }];
  const quick = [first, { sent: 7_990 }, last];
  const slow = [first, { sent: 6_000, took: 2_000 }, last];
  const tooSoon = ["8: d after 2 reads"];
  expect(await breachesOf([first, { sent: 4_000 }, { sent: 9_000 }], true)).toEqual([]);
  expect(await breachesOf(quick, true)).toEqual(tooSoon);
  expect(await breachesOf(quick, false)).toEqual(tooSoon);
  expect(await breachesOf(slow, true)).toEqual(tooSoon);
  expect(await breachesOf(slow, false)).toEqual([]);
});

it("counts the answers of each history by themselves", async () => {
  const [own, other] = [{ history: 7 }, { history: 9 }];
  const broken = [0, 2_000, 4_000].map((sent) => ({ sent, ...own }));
  const between = { sent: 3_000, isRead: true };
  expect(await breachesOf([...broken, { ...between, ...own }], true)).toEqual(["8: d after 0 reads"]);
  expect(await breachesOf([...broken, { ...between, ...other }], true)).toEqual([]);
});

it("leaves out what the client could not use", async () => {
  const broken = [0, 2_000, 4_000].map((sent) => ({ sent }));
  const between = { sent: 3_000, isRead: true };
  expect(await breachesOf([...broken, between], true)).toEqual(["8: d after 0 reads"]);
  expect(await breachesOf([...broken, { ...between, isGood: false }], true)).toEqual([]);
});
