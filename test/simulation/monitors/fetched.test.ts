import { expect, it } from "vitest";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchFetches } from "./fetched.js";
import type { Context } from "./monitor.js";

const MINUTE = 60_000;
const BORN = Date.UTC(2024, 0, 10);
const END = BORN + 60 * MINUTE;
const PAIR = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;

/** An empty answer, so many seconds after the call, about all from so many minutes after the pair's creation on. */
function emptyAt(second: number, minute: number, given: Partial<Look> = {}): Look {
  const answeredAt = END + second * 1_000;
  return {
    asked: { from: BORN + minute * MINUTE, to: END },
    ...{ isHistory: true, answeredAt, asOf: answeredAt, madeAt: answeredAt, old: 0, hidesAge: false },
    ...{ url: "", sent: answeredAt, received: answeredAt, order: second + 1 },
    ...{ rows: new Map(), broken: new Set(), hasUnidentifiedRow: false, isTimeDoubtful: false, faults: [] },
    ...given,
  } as unknown as Look;
}

/** Whether one who was given nothing by a pair that trades every minute is said to lack a candle. */
async function lacks(fromMinute: number, ...looks: readonly Look[]): Promise<boolean> {
  const breaches: string[] = [];
  const options = { ...PAIR, from: BORN + fromMinute * MINUTE, to: END };
  const ended = { at: END + 10_000, order: 9, isError: false };
  const stay = { id: 1, plan: { kind: "fetch", options }, joined: END, joinedOrder: 0, ended, candles: [] };
  const swaps = Array.from({ length: 60 }, (_, minute) => ({
    ...{ timestamp: BORN + minute * MINUTE, side: "buy", tokenAmount: 1, usdAmount: 1, nativeAmount: 1 },
  }));
  const quirks = { emptyBeforeCreation: true };
  const report = { url: "http://localhost/pairs/pair/snipers", told: { isGood: true, order: 0 }, faults: [] };
  const log = {
    plan: { world: { start: END, createdAt: BORN, quirks, hasDate: true }, healthyFrom: Infinity },
    source: { pair: () => ({ createdAt: BORN, swaps: () => swaps }) },
    ...{ told: [report], exchanges: [], stays: [stay as unknown as StayLog] },
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    ...{ clockTolerance: 0, serviceClock: (at) => at, answersOf: () => looks, knowsTime: () => true },
  };
  await watchFetches(log, context as Context);
  return breaches.some((what) => what.startsWith("5: fetch 1 lacks"));
}

it("takes no answer for a silence that began before the pair, as such a range hides what it holds", async () => {
  expect(await lacks(-5, emptyAt(0, -6), emptyAt(2, -6))).toBe(true);
  const faults = ["empty"];
  expect(await lacks(-5, emptyAt(0, -6, { faults }), emptyAt(2, -6, { faults }))).toBe(true);
});

it("takes two that faults have emptied, made apart, for one where they begin after that", async () => {
  const faults = ["empty"];
  expect(await lacks(5, emptyAt(0, 4, { faults }), emptyAt(2, 4, { faults }))).toBe(false);
  expect(await lacks(5, emptyAt(0, 4, { faults }))).toBe(true);
});
