import { expect, it } from "vitest";
import type { CandleEvent } from "../../../src/index.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchDeletion } from "./deletion.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const SERIES = { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const FEED = { series: SERIES, every: 5_000, settle: 0, revisionWindow: 2, weekStart: "monday" };
/** The minute that is lost, and one after it. */
const [LOST, LATER] = [3, 4];

interface Answer {
  /** ms after the start. */
  readonly at: number;
  readonly minutes: readonly number[];
  /** The minutes whose rows cannot be read. */
  readonly broken?: readonly number[];
  /** When the service made it, where that was before. */
  readonly madeAt?: number;
  readonly isTimeDoubtful?: boolean;
  /** The minute at which its range ends. */
  readonly end?: number;
  /** How many rows it was asked for; a search asks for two. */
  readonly limit?: number;
  /** How long it took, ms. */
  readonly took?: number;
}

/** What breaks the promise where a candle is told as removed with the last of some answers. */
async function breachesOf(answers: readonly Answer[]): Promise<string[]> {
  const looks = answers.map(
    (
      { at, minutes, broken = [], madeAt = at, isTimeDoubtful = false, end = 10, limit = 15, took = 0 },
      order,
    ) =>
      ({
        url: `http://service/ohlcv?limit=${limit}`,
        asked: { from: START, to: START + end * MINUTE },
        isHistory: false,
        answeredAt: START + madeAt,
        madeAt: START + madeAt,
        sent: START + at - took,
        received: START + at,
        order: order + 1,
        rows: new Map(minutes.map((minute) => [START + minute * MINUTE, []])),
        broken: new Set(broken.map((minute) => START + minute * MINUTE)),
        hasUnidentifiedRow: false,
        isTimeDoubtful,
      }) as unknown as Look,
  );
  const last = looks.at(-1)!;
  const candle = {
    timestamp: START + LOST * MINUTE,
    open: 1,
    high: 1,
    low: 1,
    close: 1,
    volume: 1,
    swaps: 1,
  };
  const value = { type: "removed", status: "closed", revision: 1, candle } as CandleEvent;
  const stay = {
    id: 1,
    plan: { kind: "candles", feed: FEED as FeedPlan },
    events: [{ at: last.received, order: last.order, value }],
  };
  const log = { plan: { feeds: [] }, stays: [stay as unknown as StayLog] } as unknown as RunLog;
  const breaches: string[] = [];
  const context: Partial<Context> = {
    breach: (_, what) => breaches.push(what.replace(/.*: /, "")),
    looksAt: () => looks,
  };
  await watchDeletion(log, context as Context);
  return breaches;
}

const shown = { at: 300_000, minutes: [LOST, LATER] };

it("does not count what a search has shown, which asks only whether there is anything", async () => {
  const [first, last] = [301_000, 302_500].map((at) => ({ at, minutes: [LATER] }));
  const between = { at: 301_500, minutes: [LOST, LATER] };
  expect(await breachesOf([shown, first!, between, last!])).toEqual(["goes on its first absence"]);
  expect(await breachesOf([shown, first!, { ...between, limit: 2 }, last!])).toEqual([]);
});

it("lets a candle go that two answers lack which were made a second apart", async () => {
  const lacking = [LATER];
  expect(
    await breachesOf([shown, { at: 301_000, minutes: lacking }, { at: 302_000, minutes: lacking }]),
  ).toEqual([]);
  expect(await breachesOf([shown, { at: 301_000, minutes: lacking }])).toEqual(["goes on its first absence"]);
  // Within its way nobody knows when the first one was made.
  const soon = (took: number) =>
    breachesOf([shown, { at: 301_000, minutes: lacking, took }, { at: 301_920, minutes: lacking }]);
  expect(await soon(70)).toEqual([]);
  expect(await soon(69)).toEqual(["goes on answers that were made at once"]);
});

it("counts answers by when they were made: copies of one are one", async () => {
  const lacking = { at: 301_000, minutes: [LATER] };
  expect(await breachesOf([shown, lacking, { ...lacking, at: 309_000, madeAt: lacking.at }])).toEqual([
    "goes on answers that were made at once",
  ]);
});

it("begins to count anew with each answer that shows it, but for one of a doubtful time, or in the margin at its end", async () => {
  const lacking = { at: 301_000, minutes: [LATER] };
  const again = { at: 303_000, minutes: [LATER] };
  expect(await breachesOf([shown, lacking, { ...shown, at: 302_000 }, again])).toEqual([
    "goes on its first absence",
  ]);
  expect(await breachesOf([shown, lacking, { ...shown, at: 302_000, isTimeDoubtful: true }, again])).toEqual(
    [],
  );
  expect(await breachesOf([shown, lacking, { ...shown, at: 302_000, end: LATER }, again])).toEqual([]);
});

it("wants the newest candle missed for an interval less a second before it goes, as an answer may come late", async () => {
  const newest = { at: 300_000, minutes: [2, LOST] };
  const lacking = { at: 301_000, minutes: [2] };
  expect(await breachesOf([newest, lacking, { ...lacking, at: 310_000 }])).toEqual([
    "goes at the newest end, not shown for 10000 ms",
  ]);
  expect(await breachesOf([newest, lacking, { ...lacking, at: 359_000 }])).toEqual([]);
  // Within the way of the first that lacks it nobody knows when that was made.
  const late = (took: number) => breachesOf([newest, { ...lacking, took }, { ...lacking, at: 358_930 }]);
  expect(await late(60)).toEqual([]);
  expect(await late(59)).toEqual(["goes at the newest end, not shown for 58930 ms"]);
  // A row that cannot be read follows it, too.
  const followed = { at: 310_000, minutes: [2], broken: [LATER] };
  expect(await breachesOf([newest, lacking, followed])).toEqual([]);
  // What is lacking before it as well is no matter of time.
  expect(
    await breachesOf([{ ...newest, minutes: [1, 2, LOST] }, lacking, { ...lacking, at: 310_000 }]),
  ).toEqual([]);
});

it("wants what is missing for the first time asked for again within seconds, but for what a copy of the answer before lacks, or the margin at the end", async () => {
  const look = (at: number, minutes: readonly number[], madeAt = at, end = 10) => ({
    url: "http://service/ohlcv?limit=15",
    asked: { from: START, to: START + end * MINUTE },
    isHistory: false,
    answeredAt: START + madeAt,
    old: at - madeAt,
    sent: START + at,
    received: START + at,
    rows: new Map(minutes.map((minute) => [START + minute * MINUTE, []])),
    broken: new Set(),
  });
  const breachesAfter = async (lacking: ReturnType<typeof look>, before = look(300_000, [LOST, LATER])) => {
    const breaches: string[] = [];
    const context: Partial<Context> = {
      breach: (_, what) => breaches.push(what),
      looksAt: () => [before, lacking, look(310_000, [LOST, LATER])] as unknown as readonly Look[],
      changeableFrom: () => START,
      isWatched: () => true,
      isThrottled: () => false,
    };
    const log = { plan: { feeds: [FEED], world: { client: {} } }, stays: [], exchanges: [] };
    await watchDeletion(log as unknown as RunLog, context as Context);
    return breaches;
  };
  const breach = ["a candle of 1min is missing and is not asked for again"];
  expect(await breachesAfter(look(302_000, [LATER]))).toEqual(breach);
  expect(await breachesAfter(look(302_000, []))).toEqual(breach);
  // What only a search was shown the poll has never had.
  const probe = { ...look(300_000, [LOST, LATER]), url: "http://service/ohlcv?limit=2" };
  expect(await breachesAfter(look(302_000, []), probe)).toEqual([]);
  expect(await breachesAfter(look(302_000, [], 300_000))).toEqual([]);
  expect(await breachesAfter(look(302_000, [], 301_000))).toEqual(breach);
  // Anchors alone are asked for with an interval more.
  expect(await breachesAfter(look(302_000, [], 302_000, LOST + 1))).toEqual([]);
  expect(await breachesAfter(look(302_000, [], 302_000, LOST + 2))).toEqual(breach);
});
