import { describe, expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import { TOTALS } from "../reports.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchCalls } from "./calls.js";
import { watchErrors } from "./errors.js";
import type { Context, Monitor } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const SERIES = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };
const RANGE = { fromDate: START, toDate: START + 5 * MINUTE };

const row = (minute: number, close: number | null = 1) => ({
  timestamp: new Date(START + minute * MINUTE).toISOString(),
  open: 1,
  high: 1,
  low: 1,
  close,
  volume: 1,
  trades: 1,
});
const candle = (minute: number) =>
  Object.freeze({
    timestamp: START + minute * MINUTE,
    open: 1,
    high: 1,
    low: 1,
    close: 1,
    volume: 1,
    swaps: 1,
  });

/** An answer that came as the `order`-th; `made`: when the service made it. */
function exchange(
  order: number,
  rows: readonly unknown[],
  made: number,
  asked?: string,
  next?: string,
): Exchange {
  const cursor = asked === undefined ? "" : `&cursor=${asked}`;
  const range = `fromDate=${RANGE.fromDate / 1_000}&toDate=${RANGE.toDate / 1_000}`;
  const body = { page: "1", pairAddress: "pair", timeframe: "1min", currency: "usd", cursor: next ?? null };
  return {
    url: `http://localhost/token/mainnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&${range}${cursor}`,
    sent: START + order,
    received: START + order + 1,
    answeredAt: made,
    status: 200,
    priority: "refresh",
    faults: ["broken"],
    body: JSON.stringify({ ...body, result: rows }),
    told: { order, isGood: true, error: undefined },
  } as unknown as Exchange;
}

function page(minutes: readonly number[], given: Record<string, unknown> = {}): unknown {
  const result = Object.freeze(minutes.map(candle));
  return Object.freeze({
    page: 1,
    pairAddress: "pair",
    tokenAddress: null,
    timeframe: "1min",
    currency: "usd",
    result,
    ...given,
  });
}

function breachesOf(watch: Monitor, log: Partial<RunLog>): string[] {
  const breaches: string[] = [];
  const plan = { world: { start: START, client: {}, limiter: undefined }, healthyFrom: 1e9 };
  const breach: Context["breach"] = (promise, what) => breaches.push(`${promise}: ${what}`);
  const whole = { plan, stays: [], activities: [], told: [], ...log } as unknown as RunLog;
  void watch(whole, { breach } as Partial<Context> as Context);
  return breaches;
}

function callOf(kind: "page" | "pages", answers: readonly unknown[], hasEnded = true): StayLog {
  return {
    id: 1,
    plan: { kind, options: { ...SERIES, ...RANGE } },
    joined: START,
    joinedOrder: 0,
    answers: answers.map((value, at) => ({ at: START + at + 1, order: at + 1, value })),
    ended: hasEnded ? { at: START + 9, order: 9, isError: false, value: undefined } : undefined,
  } as unknown as StayLog;
}

describe("a direct call", () => {
  const told = [
    exchange(0, [row(2), row(1), row(7)], START, undefined, "next"),
    exchange(1, [row(0)], START, "next"),
  ];
  const first = page([2, 1], { cursor: "next" });
  const judge = (kind: "page" | "pages", answers: readonly unknown[]) =>
    breachesOf(watchCalls, { told, stays: [callOf(kind, answers)] });

  it("gives what was served, in its order, without what lies outside of its range", () => {
    expect(judge("page", [first])).toEqual([]);
    expect(judge("page", [page([1, 2], { cursor: "next" })])).toHaveLength(1);
    expect(judge("page", [page([2], { cursor: "next" })])).toHaveLength(1);
    expect(judge("page", [page([2, 1])])).toHaveLength(1);
    expect(judge("page", [page([2, 1], { cursor: "next", tokenAddress: "token" })])).toHaveLength(1);
  });

  it("gives a number for one that was served in a text", () => {
    const told = [exchange(0, [{ ...row(1), close: "1", volume: "1.0", trades: "1" }], START)];
    const judge = (value: unknown) => breachesOf(watchCalls, { told, stays: [callOf("page", [value])] });
    expect(judge(page([1]))).toEqual([]);
    expect(judge(page([1], { result: Object.freeze([{ ...candle(1), close: "1" }]) }))).not.toEqual([]);
  });

  it("gives what is frozen", () => {
    expect(judge("page", [{ ...(first as object) }])).toEqual(["15: page 1 gives what is not frozen"]);
  });

  it("gives all pages", () => {
    expect(judge("pages", [first, page([0])])).toEqual([]);
    expect(judge("pages", [first])).toEqual(["5: pages 1 ends before its last page"]);
    expect(judge("pages", [])).toHaveLength(1);
  });
});

it("a report gives a number for one that was served in a text, and null for none", () => {
  const served = { walletAddress: "ann", snipedTransactions: [], sellTransactions: [], totalSoldUsd: "412" };
  const url = "http://localhost/token/mainnet/pairs/pair/snipers";
  const told = [{ ...exchange(0, [], START), url, body: JSON.stringify({ result: [served] }) }];
  const totals = Object.fromEntries(TOTALS.map((total) => [total, null]));
  const none = { blockNumber: null, blockTimestamp: null, transactionHash: null };
  const lists = { snipedTransactions: Object.freeze([]), sellTransactions: Object.freeze([]) };
  const judge = (totalSoldUsd: unknown) => {
    const wallet = Object.freeze({ walletAddress: "ann", ...lists, ...totals, totalSoldUsd });
    const report = Object.freeze({ ...none, result: Object.freeze([wallet]) });
    const call = { ...callOf("page", [report]), plan: { kind: "report", options: { pairAddress: "pair" } } };
    return breachesOf(watchCalls, { told, stays: [call as unknown as StayLog] });
  };
  expect(judge(412)).toEqual([]);
  expect(judge("412")).toHaveLength(1);
  expect(judge(null)).toHaveLength(1);
});

describe("a row that is given up", () => {
  const dropped = (told: readonly Exchange[], minute = 1) => {
    const url = new URL(told[0]!.url);
    const value = { type: "dropped", key: START + minute * MINUTE, url: url.pathname + url.search };
    const activities = [{ at: START, order: told.length, value }] as unknown as RunLog["activities"];
    return breachesOf(watchErrors, { told, activities });
  };
  const broken = (order: number, made: number) => exchange(order, [row(0), row(1, null)], made);

  it("was broken in three answers", () => {
    expect(dropped([broken(0, START), broken(1, START + 1_000), broken(2, START + 2_000)])).toEqual([]);
    expect(dropped([broken(0, START), broken(1, START + 1_000)])).toHaveLength(1);
  });

  it("was broken in none that are copies of another", () => {
    expect(dropped([broken(0, START), broken(1, START), broken(2, START)])).toHaveLength(1);
  });

  it("was broken itself, and not another row of its path", () => {
    const told = [broken(0, START), broken(1, START + 1_000), broken(2, START + 2_000)];
    expect(dropped(told, 2)).toHaveLength(1);
  });

  it("was broken three times since it was last in order", () => {
    const told = [0, 1, 2, 3].map((order) =>
      order === 1 ? exchange(1, [row(1)], START + 1_000) : broken(order, START + order * 1_000),
    );
    expect(dropped(told)).toHaveLength(1);
  });
});
