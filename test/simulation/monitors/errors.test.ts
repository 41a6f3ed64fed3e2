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
}

/** What is broken where a row is dropped that all these answers have held broken. */
async function breachesOf(answers: readonly Given[], hasDate: boolean): Promise<string[]> {
  const breaches: string[] = [];
  const body = JSON.stringify({ result: [{ timestamp: new Date(START).toISOString(), open: "none" }] });
  const told = answers.map(({ sent, took = 10, old = 0 }, order) => {
    const received = START + sent + took;
    return {
      ...{ url: `http://service${ROUTE}`, priority: "close", status: 200, body, faults: [] },
      ...{ sent: START + sent, received, endedAt: received, answeredAt: received - old, old },
      ...{ headers: { date: hasDate ? received - old : undefined }, told: { order, isGood: true } },
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
