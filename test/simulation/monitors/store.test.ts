import { expect, it } from "vitest";
import { intervalsOf } from "../calendar.js";
import type { Exchange } from "../exchanges.js";
import type { Look } from "../reads.js";
import type { RunLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { areLacking, lookBegan, watchTrouble, watchWriting, withoutMargins } from "./store.js";

const MINUTE = 60_000;
const BORN = 1_000 * MINUTE;

it("leaves no margin before the first interval of a pair: what begins there asks for that interval", () => {
  const wanted = (from: number, to: number) =>
    withoutMargins({ from: from * MINUTE, to: to * MINUTE }, intervalsOf("1min"), BORN);
  expect(wanted(1_000, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(999, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(1_003, 1_010)).toEqual({ from: 1_004 * MINUTE, to: 1_009 * MINUTE });
});

it("takes a stored candle for one in doubt once two answers that were made apart lack it, until one shows it", () => {
  const lookAt = (second: number, isShown = false, isHistory = false) =>
    ({
      ...{ asked: { from: 0, to: BORN }, isHistory, madeAt: second * 1_000 },
      rows: new Map(isShown ? [[MINUTE, []]] : []),
    }) as unknown as Look;
  const areInDoubt = (...looks: readonly Look[]) => areLacking(looks, MINUTE, false);
  expect(areInDoubt()).toBe(false);
  expect(areInDoubt(lookAt(1))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(1.5))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(2))).toBe(true);
  expect(areInDoubt(lookAt(0, true), lookAt(1), lookAt(2))).toBe(true);
  expect(areInDoubt(lookAt(1), lookAt(2), lookAt(3, true))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(2), lookAt(3, true, true))).toBe(true);
  expect(areInDoubt(lookAt(1, false, true), lookAt(2, false, true))).toBe(false);
  expect(areLacking([lookAt(1), lookAt(2)], BORN, false)).toBe(false);
});

it("takes the pages of a walk, and what is sent again of them, for one look", () => {
  const url = (page: number, timeframe = "1min") =>
    `http://service/token/mainnet/pairs/pair/ohlcv?timeframe=${timeframe}&currency=usd&fromDate=0&toDate=60&limit=9&cursor=${page}`;
  const exchanges = [
    { url: url(1), sent: 0, received: 30 },
    { url: url(1, "5min"), sent: 10, received: 60 },
    { url: url(2), sent: 30, received: 60 },
    { url: url(3), sent: 60, received: 90 },
    { url: url(3), sent: 400, received: 430 },
    { url: url(3), sent: 4_000, received: 4_030 },
    { url: url(4), sent: 9_000, received: 9_030 },
  ].map((exchange, id) => ({ ...exchange, id }) as Exchange);
  const begins = exchanges.map((exchange) => lookBegan({ exchanges }, exchange));
  expect(begins).toEqual([0, 10, 0, 0, 0, 0, 9_000]);
});

it("wants written what becomes final from the first candle on that a poll shows: there is no silence without one", () => {
  const series = { pairAddress: "pair", timeframe: "1min", currency: "usd" };
  const feed = { series, settle: 0, revisionWindow: 2, weekStart: "monday" };
  const call = (operation: string, from: number, to: number) =>
    ({ operation, from: from * MINUTE, to: to * MINUTE, at: to, ended: { at: to, isGood: true } }) as object;
  const isMissed = (shownFrom: number, candle = 1, calls: readonly object[] = [call("read", 0, 6)]) => {
    const looks = [1, 2, 7, 8, 8.3, 8.6, 9].map((minute) => {
      const rows = new Map(minute < shownFrom ? [] : [[candle * MINUTE, []]]);
      const times = { answeredAt: minute * MINUTE, sent: minute * MINUTE, received: minute * MINUTE };
      return { ...times, rows, isHistory: false, hasUnidentifiedRow: false, broken: new Set() };
    });
    const log = {
      plan: { feeds: [feed], world: { start: 0, weekStart: "monday" }, healthyFrom: 0 },
      stays: [{ plan: { kind: "candles", feed }, joined: 0, left: BORN }],
      told: [],
      store: {
        before: new Map(),
        calls: calls.map((one) => ({ ...one, key: series, series: "pair 1min usd" })),
      },
    };
    const breaches: string[] = [];
    const context = {
      breach: (_: number, what: string) => breaches.push(what),
      ...{ graceOf: () => 0, isTrusted: () => true, clockTolerance: 0 },
      ...{ looksAt: () => looks, feedOf: () => feed },
    };
    watchWriting(log as unknown as RunLog, context as unknown as Context);
    return breaches.length > 0;
  };
  expect(isMissed(1)).toBe(true);
  expect(isMissed(7)).toBe(true);
  expect(isMissed(8)).toBe(false);
  // Before the sixth minute all is final, and nothing shows.
  expect([isMissed(1, 5), isMissed(1, 6)]).toEqual([true, false]);
  // What was taken out of it was written.
  expect(isMissed(1, 1, [call("write", 0, 5)])).toBe(true);
  expect(isMissed(1, 1, [call("write", 0, 6), call("forget", 5, 6)])).toBe(false);
});

it("wants a failure told when it comes, and no later than the client waits", () => {
  const key = { pairAddress: "pair", timeframe: "1min", currency: "usd" };
  const breachesOf = (
    ended: { readonly at: number; readonly isGood: boolean },
    toldAt: number | undefined,
  ) => {
    const value = { type: "store", operation: "write", key, error: { message: "no" } };
    const log = {
      plan: { world: { client: { timeout: 5_000 } } },
      stays: [{ joined: 0, left: BORN }],
      activities: toldAt === undefined ? [] : [{ at: toldAt, value }],
      store: { calls: [{ operation: "write", series: "pair 1min usd", key, at: 1_000, ended }] },
    };
    const breaches: string[] = [];
    const context = { breach: (_: number, what: string) => breaches.push(what) };
    watchTrouble(log as unknown as RunLog, context as unknown as Context);
    return breaches.length;
  };
  const bad = (at: number) => ({ at, isGood: false });
  expect(breachesOf(bad(3_000), 3_000)).toBe(0);
  expect(breachesOf(bad(3_000), undefined)).toBe(1);
  expect(breachesOf(bad(3_000), 4_000)).toBe(2);
  expect(breachesOf(bad(9_000), 6_000)).toBe(0);
  expect(breachesOf({ at: 9_000, isGood: true }, 6_000)).toBe(0);
});
