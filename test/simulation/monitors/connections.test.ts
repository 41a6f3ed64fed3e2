import { expect, it } from "vitest";
import { CLOSED } from "../connections.js";
import type { RunLog } from "../run-log.js";
import { watchConnections } from "./connections.js";
import type { Context } from "./monitor.js";

const URL = "http://service/ohlcv?fromDate=1&toDate=2";
const LOST_AT = 1_000;

/** What is broken where a closed connection has lost a request's second attempt, and the next request goes out `after` that, ms. */
async function breachesOf(attempt: number, { after = 0, quota = 0 } = {}): Promise<string[]> {
  const breaches: string[] = [];
  const exchange = { url: URL, told: { order: 0 }, faults: [CLOSED], attempt: 2, outcome: "failed" };
  const activities = [
    { at: LOST_AT, order: 0, value: { type: "response", url: URL } },
    { at: LOST_AT, order: 0, value: { type: "retry", url: URL, attempt: 2, delay: 0 } },
    { at: LOST_AT + after, order: 1, value: { type: "request", url: URL, attempt } },
  ];
  const client = { ...(quota > 0 && { quota: { units: 10, per: quota } }) };
  const log = { exchanges: [exchange], activities, stays: [], plan: { world: { client } } };
  const breach: Context["breach"] = (_, what) => breaches.push(what.replace(/ (for|with) what.*/, ""));
  await watchConnections(
    log as unknown as RunLog,
    { breach, isThrottled: () => false } as unknown as Context,
  );
  return breaches;
}

it("wants what was lost to be sent again at once, as the same attempt", async () => {
  expect(await breachesOf(2)).toEqual([]);
  expect(await breachesOf(3)).toEqual(["counts an attempt"]);
  expect(await breachesOf(2, { after: 500 })).toEqual(["is 500 ms late"]);
});

it("wants no more than a later poll where a quota is spent", async () => {
  expect(await breachesOf(1, { after: 500, quota: 600 })).toEqual([]);
  expect(await breachesOf(1, { quota: 600 })).toEqual(["counts an attempt"]);
  expect(await breachesOf(3, { after: 500, quota: 600 })).toEqual(["counts an attempt"]);
});
