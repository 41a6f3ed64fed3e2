import { describe, expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import type { RunLog, StayLog } from "../run-log.js";
import { foundAt, mayWaitUntil, watchMissing } from "./missing.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const ROW = { open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
const row = (close: unknown) => ({ ...ROW, close, timestamp: new Date(START).toISOString() });

/** An answer to a poll, after so many minutes; `rows`: what its page holds, absent for a 404. */
function answer(minute: number, rows?: readonly unknown[]): Exchange {
  return {
    url: "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&fromDate=0&toDate=9",
    priority: "refresh",
    status: rows === undefined ? 404 : 200,
    body: JSON.stringify({ result: rows }),
    received: minute,
    told: { order: minute, isGood: rows !== undefined, error: undefined },
  } as unknown as Exchange;
}

const plan = { world: { client: { retry: false } } };
const found = (...told: Exchange[]) => foundAt({ told, plan } as unknown as RunLog, "pair 1min usd");

describe("a pair that is not known", () => {
  it("is found with the first page after a 404", () => {
    expect(found(answer(1, [row(1)]))).toBe(Number.NEGATIVE_INFINITY);
    expect(found(answer(1), answer(2))).toBe(Number.POSITIVE_INFINITY);
    expect(found(answer(1), answer(2, []), answer(3, []))).toBe(2);
  });

  it("is found as well with the first page of which anything can be read", () => {
    expect(found(answer(1, [row("x")]))).toBe(Number.POSITIVE_INFINITY);
    expect(found(answer(1, []), answer(2, [row("x")]), answer(3, [row(1)]))).toBe(3);
    expect(found(answer(1, [row(1)]), answer(2, [row("x")]), answer(3, [row(1)]))).toBe(
      Number.NEGATIVE_INFINITY,
    );
  });

  it("is found as well with the first answer that can be read, if none could before", () => {
    const error = { name: "ContractError", path: [] };
    const odd = (minute: number) =>
      ({ ...answer(minute, []), body: "null", told: { order: minute, isGood: false, error } }) as Exchange;
    expect(found(odd(1), answer(2, []))).toBe(2);
    expect(found(answer(1, []), odd(2), answer(3, []))).toBe(Number.NEGATIVE_INFINITY);
  });

  it("may be given up after a minute of pages of which nothing can be read, and not before", () => {
    const broken = [0, 30_000, 60_000].map((at) => ({ ...answer(at, [row("x")]), sent: at }));
    expect(breaches(60_000, broken)).toEqual([]);
    expect(breaches(59_000, broken.slice(0, 2))).toEqual(["candles 0 gives up after 2 answers"]);
    const readable = broken.map((each) => ({ ...each, body: JSON.stringify({ result: [row(1)] }) }));
    expect(breaches(60_000, readable)).toEqual(["candles 0 gives up after 0 answers"]);
    // A row of the interval before the range is none of it.
    const url = broken[0]!.url.replace("fromDate=0", `fromDate=${START / 1_000}`);
    const beside = broken.map((each) => ({ ...each, url }));
    expect(breaches(60_000, beside)).toEqual(["candles 0 gives up after 0 answers"]);
    // A page without rows that leads on is one of that pair.
    const error = { name: "ContractError", path: ["cursor"] };
    const leading = { ...answer(60_000, []), attempt: 3, told: { order: 60_000, isGood: false, error } };
    expect(breaches(60_000, [...broken.slice(0, 2), { ...leading, sent: 60_000 }])).toEqual([
      "candles 0 gives up after 2 answers",
    ]);
  });
});

it("lets who waits for a report wait as long as they have waited already, whatever others are told", () => {
  const report = (minute: number, isGood = false) =>
    ({
      url: "http://localhost/token/devnet/pairs/pair/snipers",
      ...{ priority: "refresh", status: isGood ? 200 : 404, received: minute * 60_000 },
      told: { order: minute, isGood, error: undefined },
    }) as unknown as Exchange;
  const watcher = { kind: "snipers", options: { pairAddress: "pair", whenMissing: "wait" } };
  const stay = { plan: watcher, joinedOrder: 1 } as unknown as StayLog;
  const until = (...told: Exchange[]) => mayWaitUntil({ told, plan } as unknown as RunLog, stay) / 60_000;
  expect(until(report(1, true))).toBe(Number.NEGATIVE_INFINITY);
  expect(until(report(0), report(1))).toBe(2);
  expect(until(report(1), report(2), report(4), report(5, true))).toBe(8);
});

/** What is said of a stream that ends for want of a pair at `at`. */
function breaches(at: number, told: readonly Exchange[]): string[] {
  const found: string[] = [];
  const options = { pairAddress: "pair", timeframe: "1min", currency: "usd" };
  const ended = { at, order: at + 1, isError: true, value: { name: "ContractError" } };
  const stay = {
    id: 0,
    plan: { kind: "candles", options },
    joined: 0,
    joinedOrder: -1,
    left: undefined,
    ended,
  };
  const log = {
    told,
    exchanges: told,
    stays: [{ ...stay, events: [], statuses: [] }],
    plan: { world: { client: { rateLimit: { requests: 1, per: 1e6 } } } },
  };
  const context = {
    breach: (_promise: number, what: string) => found.push(what),
    clockWasSet: () => false,
  };
  watchMissing(log as unknown as RunLog, context as unknown as Context);
  return found;
}
