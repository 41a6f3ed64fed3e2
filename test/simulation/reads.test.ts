import { expect, it } from "vitest";
import type { Exchange } from "./exchanges.js";
import { looksOf } from "./reads.js";
import type { RunLog } from "./run-log.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const at = (minute: number) => START + minute * MINUTE;

/** A good answer with a cursor about the minutes from 10 to 20, which shows some minutes, in that order. */
function answered(minutes: readonly number[], cursor: string): Exchange {
  const [from, to] = [at(10) / 1_000, at(20) / 1_000];
  const result = minutes.map((minute) => ({
    timestamp: new Date(at(minute)).toISOString(),
    ...{ open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 },
  }));
  const asked = cursor === "a" ? "" : "&cursor=a";
  return {
    id: 1,
    url: `http://service/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&fromDate=${from}&toDate=${to}${asked}`,
    priority: "close",
    status: 200,
    body: JSON.stringify({ result, cursor }),
    headers: {},
    faults: [],
    told: { order: 0, isGood: true },
    ...{ sent: at(20), received: at(20), answeredAt: at(20), lag: 0, old: 0, ahead: 0 },
  } as unknown as Exchange;
}

const rowsOf = (...told: readonly Exchange[]) => {
  const log = { told, exchanges: told, plan: { world: { quirks: {}, hasDate: true } } } as unknown as RunLog;
  return [...(looksOf(log).get("pair 1min usd") ?? [])].map(({ rows }) => [...rows.keys()]);
};

it("takes a walk for whole once its rows have run from the newest to one before its range, wherever its cursor leads", () => {
  const rows = [[18, 12, 9].map(at)];
  expect(rowsOf(answered([18, 12, 9], "a"))).toEqual(rows);
  expect(rowsOf(answered([18, 12], "a"), answered([9], "b"))).toEqual(rows);
  // Where they are in no order, or ascend, more may follow.
  expect(rowsOf(answered([9, 12, 18], "a"))).toEqual([]);
  expect(rowsOf(answered([12, 18, 9], "a"))).toEqual([]);
});

it("takes what the pages of a poll tell of its range for a look where a later one fails, and takes it once", () => {
  const pages = [answered([10, 11], "a"), answered([12, 13], "b")];
  const failed = (status?: number) =>
    ({ ...answered([], "c"), url: `${pages[0]!.url}&cursor=b`, status, told: { isGood: false } }) as Exchange;
  const shown = [[10, 11, 12, 13].map(at)];
  // The last one has a cursor that leads nowhere.
  for (const status of [undefined, 500, 200]) expect(rowsOf(...pages, failed(status))).toEqual(shown);
  // One page does not show on which side it lies.
  expect(rowsOf(pages[0]!, failed())).toEqual([]);
});
