import { expect, it } from "vitest";
import type { FeedStatus } from "../../../src/index.js";
import { newestDue } from "../check.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { recoveryOf } from "./health.js";
import type { Context } from "./monitor.js";
import { lostIn, missingFirst, watchStatuses } from "./status.js";

const START = Date.UTC(2024, 0, 1);
/** When the back-off after all trouble has passed, ms. */
const CALM = 600_000;
/** As close to each other as the last poll within an interval and the one at its end. */
const FEED = {
  series: { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
  every: 29_900,
  settle: 0,
  revisionWindow: 2,
  weekStart: "monday",
  period: 29_900,
} as unknown as FeedPlan;
/** One way, ms. */
const TRIP = 100;
/** Two round trips. */
const LOOK = 4 * TRIP;

/** When one that begins has to be live. */
const WELL = START + recoveryOf({ plan: { world: { client: {} } } } as RunLog, FEED.period);

interface Case {
  readonly stalledFor: number;
  readonly end: "live" | "left";
  /** When it is stalled, ms after the start of an interval. */
  readonly from?: number;
  /** How often, a minute apart. */
  readonly flaps?: number;
  readonly told?: readonly Partial<Exchange>[];
  /** What it is while it is not live; default: `stalled`. */
  readonly state?: FeedStatus["state"];
  readonly looks?: readonly Partial<Look>[];
  readonly isThrottled?: Context["isThrottled"];
  /** Of which error it tells while it is not live. */
  readonly lastError?: string;
  /** When it says, after it has stalled, that a quota is spent until long after, ms. */
  readonly spentAfter?: number;
  /** A poll that is due, ms after the start. */
  readonly due?: number;
  /** What is not told of the time, ms. */
  readonly untold?: number;
  /** Whether the clock before it was set may be taken for that of another machine. */
  readonly hasGhost?: boolean;
  /** How far one of two machines lags, ms. */
  readonly lag?: number;
  /** It is that of a report that it waits for; when answers say that there is none, ms after the start. */
  readonly missed?: readonly number[];
  /** How far the client says that a quota stretches polls. */
  readonly refresh?: number;
  /** Until when it covers its feed while it is live, and what answers say of that. */
  readonly coveredUntil?: number;
  readonly answers?: readonly Partial<Look>[];
}

/** The breaches of a status that is stalled for a while in good health, and live after it or left. */
async function breachesOf({
  stalledFor,
  end,
  from = 60_000,
  flaps = 1,
  told = [],
  state = "stalled",
  looks = [],
  isThrottled = () => false,
  lastError,
  spentAfter,
  due,
  untold = 0,
  hasGhost = false,
  lag = 0,
  missed,
  refresh,
  coveredUntil,
  answers = [],
}: Case): Promise<string[]> {
  const breaches: string[] = [];
  const stalledAt = START + CALM + from;
  const seen = (at: number, state: FeedStatus["state"]) => ({
    at,
    order: 0,
    value: { state, failures: 0, ...(coveredUntil !== undefined && { coveredUntil }) },
  });
  const unwell = (at: number) =>
    lastError === undefined
      ? seen(at, state)
      : { at, order: 0, value: { state, failures: 1, lastError: { name: lastError } } };
  const spent = (at: number) => ({
    at,
    order: 0,
    value: { state, failures: 1, lastError: { name: "QuotaExceededError", resetsAt: at + 3_600_000 } },
  });
  const lost = (at: number, number: number) => ({
    ...seen(START + at, "starting"),
    value: { state: "starting" as const, failures: number + 1, lastError: { status: 404 } },
  });
  const begins = [...[seen(START, "starting"), ...(missed ?? []).map(lost)], seen(WELL + stalledFor, "live")];
  const statuses = state === "starting" ? begins : [seen(START, "starting"), seen(START + 1_000, "live")];
  for (let flap = state === "starting" ? flaps : 0; flap < flaps; flap += 1) {
    statuses.push(unwell(stalledAt + flap * 60_000));
    if (spentAfter !== undefined) statuses.push(spent(stalledAt + flap * 60_000 + spentAfter));
    if (end === "live") statuses.push(seen(stalledAt + flap * 60_000 + stalledFor, "live"));
  }
  const left = statuses.at(-1)!.at + (end === "live" ? 1_000 : stalledFor);
  const stay = {
    id: 1,
    plan:
      missed === undefined
        ? { kind: "status", feed: FEED, options: {} }
        : {
            kind: "sniper-status",
            options: { pairAddress: "pair", every: FEED.period, whenMissing: "wait" },
          },
    joined: START,
    left,
    statuses,
  } as unknown as StayLog;
  const world = {
    start: START,
    createdAt: START - 1_000_000,
    latency: { base: TRIP, spread: 0 },
    client: {},
    replicas: lag > 0 ? { lag } : undefined,
  };
  const log = {
    plan: { world, healthyFrom: 0, feeds: [], watchers: [] },
    told,
    exchanges: told,
    stays: [stay],
    activities: refresh === undefined ? [] : [{ at: START, value: { type: "quota", refresh } }],
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what.replace(/( for \d+ ms)?:.*/, "")}`),
    serviceClock: (at) => at,
    clockTolerance: 0,
    changeableFrom: (_, at) => at - 120_000,
    looksAt: () => looks as readonly Look[],
    answersOf: () => answers as readonly Look[],
    bornAt: () => 0,
    isThrottled,
    newestDue: () => (due === undefined ? undefined : { at: START + due }),
    untoldAt: () => untold,
    mayBeMachine: () => hasGhost,
    isTrusted: () => true,
    knowsTime: () => true,
    sleptWithin: () => false,
    clockWasSet: () => false,
    toleranceAt: () => 0,
  };
  await watchStatuses(log, context as Context);
  return breaches;
}

const STALLED = ["6: status 1 of 1min is stalled in good health"];

it("takes a status for well that is stalled for less than two round trips, as two polls are due close to each other", async () => {
  expect(await breachesOf({ stalledFor: LOOK, end: "live" })).toEqual([]);
  expect(await breachesOf({ stalledFor: LOOK + 1, end: "live" })).toEqual(STALLED);
  expect(await breachesOf({ stalledFor: LOOK, end: "left" })).toEqual([]);
  expect(await breachesOf({ stalledFor: LOOK + 1, end: "left" })).toEqual(STALLED);
});

it("lets a status flap once for two round trips where polls are far apart", async () => {
  const far = { end: "live", from: 29_900 } as const;
  expect(await breachesOf({ ...far, stalledFor: LOOK })).toEqual([]);
  expect(await breachesOf({ ...far, stalledFor: LOOK + 1 })).toEqual(STALLED);
  expect(await breachesOf({ ...far, stalledFor: LOOK, flaps: 2 })).toEqual(STALLED);
});

it("lets a feed begin late while a cache repeats an answer of its history, for as long as that is old", async () => {
  const begun = { state: "starting", end: "live", stalledFor: 14_000 } as const;
  const starting = ["6: status 1 of 1min is starting in good health"];
  const copy = { isHistory: true, received: WELL - 2_000, old: 15_000 };
  expect(await breachesOf({ ...begun, looks: [copy] })).toEqual([]);
  expect(await breachesOf({ ...begun, looks: [{ ...copy, old: 0 }] })).toEqual(starting);
  expect(await breachesOf({ ...begun, looks: [copy], stalledFor: 16_000 })).toEqual(starting);
  expect(await breachesOf({ ...begun, state: "stalled", looks: [copy] })).toEqual(STALLED);
});

it("lets a feed stall until a second answer lacks what the one before has shown", async () => {
  const [first, second] = [new Map([[START, []]]), new Map([[START + 60_000, []]])];
  const stalledAt = START + CALM + 60_000;
  const look = { isHistory: false, asked: { from: START, to: stalledAt }, broken: new Set<number>() };
  const before = { ...look, rows: new Map([...first, ...second]), received: stalledAt - 1_000 };
  const lacking = { ...look, rows: second, received: stalledAt, answeredAt: stalledAt };
  const stallsFor = (stalledFor: number, looks: readonly object[]) =>
    breachesOf({ stalledFor, end: "live", looks: looks as readonly Partial<Look>[] });
  expect(await stallsFor(30_000, [before, lacking])).toEqual([]);
  expect(await stallsFor(32_000, [before, lacking])).toEqual(STALLED);
  expect(await stallsFor(30_000, [before, { ...lacking, rows: before.rows }])).toEqual(STALLED);
  // A poll that comes sooner lacks it as well, and is no second answer: the doubt is as old as the first one.
  const earlier = { ...lacking, received: stalledAt - 220, answeredAt: stalledAt - 220 };
  expect(await stallsFor(30_000, [before, earlier, lacking])).toEqual([]);
  expect(await stallsFor(31_000, [before, earlier, lacking])).toEqual(STALLED);
});

it("lets a feed stall for a second round where an answer lacks all that is final, and until one shows something of a known pair", async () => {
  const stalledAt = START + CALM + 60_000;
  const minute = (count: number) => stalledAt - count * 60_000;
  const look = { isHistory: false, asked: { from: START, to: stalledAt }, broken: new Set<number>() };
  const lookOf = (received: number, minutes: readonly number[]) => {
    const rows = new Map(minutes.map((count) => [minute(count), []]));
    return { ...look, rows, received, answeredAt: received };
  };
  const stallsFor = (stalledFor: number, looks: readonly object[]) =>
    breachesOf({ stalledFor, end: "live", looks: looks as readonly Partial<Look>[] });
  const known = lookOf(stalledAt - 1_000, [6, 5, 4, 3, 1]);
  const lacking = lookOf(stalledAt, [1]);
  expect(await stallsFor(62_000, [known, lacking])).toEqual([]);
  expect(await stallsFor(63_000, [known, lacking])).toEqual(STALLED);
  expect(await stallsFor(62_000, [known, lookOf(stalledAt, [6, 1])])).toEqual(STALLED);
  // What is not final goes after that.
  expect(await stallsFor(62_000, [known, lookOf(stalledAt, [6])])).toEqual([]);
  const nothing = [lookOf(stalledAt, []), lookOf(stalledAt + 60_000, [])];
  expect(await stallsFor(120_000, [known, ...nothing])).toEqual([]);
  expect(await stallsFor(120_000, [known, nothing[0]!, lookOf(stalledAt + 60_000, [1])])).toEqual(STALLED);
  // Of a pair that has shown less, what is gone is believed to be.
  expect(await stallsFor(120_000, [lookOf(stalledAt - 1_000, [6, 5, 4, 1]), ...nothing])).toEqual(STALLED);
});

it("lets a feed begin a minute after its history has failed, whatever others are answered meanwhile", async () => {
  const begun = { state: "starting", end: "live" } as const;
  const starting = ["6: status 1 of 1min is starting in good health"];
  const read = {
    url: "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd",
    priority: "history",
    faults: [],
    sent: WELL - 20_000,
    received: WELL - 20_000,
    endedAt: WELL - 20_000,
    attempt: 1,
    told: { order: 0, isGood: false, error: undefined },
  };
  const answered = {
    ...read,
    sent: WELL - 10_000,
    received: WELL - 10_000,
    told: { order: 1, isGood: true },
  };
  const beginsAfter = (stalledFor: number, told: readonly object[]) =>
    breachesOf({ ...begun, stalledFor, told: told as readonly Partial<Exchange>[] });
  expect(await beginsAfter(41_000, [read])).toEqual([]);
  expect(await beginsAfter(41_000, [read, answered])).toEqual([]);
  expect(await beginsAfter(43_000, [read, answered])).toEqual(starting);
  expect(await beginsAfter(41_000, [answered])).toEqual(starting);
});

it("lets a feed stall for as long as a machine may lag that shows what is gone, and then lacks what has come", async () => {
  const stalledAt = START + CALM + 60_000;
  const rows = new Map([[START, []]]);
  const look = { isHistory: false, asked: { from: START, to: stalledAt }, broken: new Set<number>(), rows };
  const stallsFor = (stalledFor: number, behind: number) =>
    breachesOf({
      stalledFor,
      end: "live",
      lag: 3_000,
      looks: [
        { ...look, received: stalledAt + 1, answeredAt: stalledAt, asOf: stalledAt - behind },
      ] as unknown as readonly Partial<Look>[],
    });
  const most = 1_000 + 2 * (3_000 + 29_900 + 2 * TRIP);
  expect(await stallsFor(most, 3_000)).toEqual([]);
  expect(await stallsFor(most + 1, 3_000)).toEqual(STALLED);
  expect(await stallsFor(most, 0)).toEqual(STALLED);
});

it("wants no status that stays live after a poll whose last attempt has failed", async () => {
  const failed = {
    url: "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd",
    priority: "close",
    sent: START + 29_000,
    received: START + 30_000,
    told: { order: 0, isGood: false, error: undefined },
  };
  const stays = ["6: status 1 of 1min stays live after a poll that failed"];
  expect(await breachesOf({ stalledFor: 1, end: "live", told: [{ ...failed, attempt: 3 }] })).toEqual(stays);
  expect(await breachesOf({ stalledFor: 1, end: "live", told: [{ ...failed, attempt: 2 }] })).toEqual([]);
  // Whoever leaves a second later has not heard whether it is asked for again: this one leaves at 61,001.
  const before = (ms: number) => [{ ...failed, attempt: 3, received: START + CALM + 61_001 - ms }];
  expect(await breachesOf({ stalledFor: 1, end: "live", told: before(1_101) })).toEqual(stays);
  expect(await breachesOf({ stalledFor: 1, end: "live", told: before(1_100) })).toEqual([]);
  // What the rate limit holds back is asked for by the same slot.
  const isThrottled = (at: number) => at > failed.received && at < failed.received + 3_000;
  expect(
    await breachesOf({ stalledFor: 1, end: "live", told: [{ ...failed, attempt: 3 }], isThrottled }),
  ).toEqual([]);
  // It asks again after a second: where a quota leaves it no unit, it says so by then.
  const late = { ...failed, attempt: 3, received: START + CALM + 59_000 };
  const isSpent = { stalledFor: 1, end: "live", told: [late] } as const;
  expect(await breachesOf({ ...isSpent, lastError: "QuotaExceededError" })).toEqual([]);
  expect(await breachesOf({ ...isSpent, lastError: "ContractError" })).toEqual(stays);
  expect(await breachesOf({ ...isSpent, from: 60_200, lastError: "QuotaExceededError" })).toEqual(stays);
});

it("lets one stay live whose poll has told of all that is not covered before its cursor has failed", async () => {
  const url = "http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd";
  const first = { url, priority: "close", sent: START + 28_000, received: START + 29_000 } as const;
  const told = [
    { ...first, told: { order: 0, isGood: true, error: undefined } },
    {
      ...{ ...first, url: `${url}&cursor=a`, sent: START + 29_000, received: START + 30_000, attempt: 3 },
      told: { order: 1, isGood: false, error: undefined },
    },
  ];
  const rows = { rows: new Map(), broken: new Set<number>(), isHistory: false, answeredAt: START + 28_500 };
  const answer = (from: number, received = first.received) => ({
    ...{ ...rows, url, order: 1, received, asked: { from, to: START + 60_000 } as Look["asked"] },
  });
  const breaches = (...answers: Partial<Look>[]) =>
    breachesOf({ stalledFor: 1, end: "live", told, coveredUntil: START, answers });
  const stays = ["6: status 1 of 1min stays live after a poll that failed"];
  expect(await breaches(answer(START))).not.toEqual(expect.arrayContaining(stays));
  expect(await breaches(answer(START + 60_000))).toEqual(expect.arrayContaining(stays));
  // That is an answer to an earlier poll.
  expect(await breaches(answer(START, first.received - 1_000))).toEqual(expect.arrayContaining(stays));
});

it("allows one to be late from when it says that a quota is spent, and not before", async () => {
  const stalled = { stalledFor: 200_000, end: "left" } as const;
  expect(await breachesOf({ ...stalled, spentAfter: LOOK - 1 })).toEqual([]);
  expect(await breachesOf({ ...stalled, spentAfter: 60_000 })).toHaveLength(1);
  expect(await breachesOf(stalled)).toHaveLength(1);
});

it("wants a status to stall two seconds after a poll was due, and what Dates do not tell of the time", async () => {
  const due = CALM + 50_000;
  const look = { isHistory: false, received: START + due - 5_000, answeredAt: START + due - 5_000, order: 1 };
  const looks = [look, { ...look, received: START + CALM + 200_000 }].map((one) => ({
    ...one,
    asked: {},
    rows: new Map(),
    broken: new Set(),
  }));
  const stallsAfter = (ms: number, untold: number, hasGhost = false, refresh?: number) =>
    breachesOf({
      ...(refresh !== undefined && { refresh }),
      stalledFor: 1,
      end: "left",
      from: due - CALM + ms,
      due,
      untold,
      hasGhost,
      looks: looks as unknown as readonly Partial<Look>[],
    });
  const isLive = "6: status 1 of 1min is live, but the poll due";
  expect(await stallsAfter(2_000, 0)).toEqual([]);
  expect((await stallsAfter(2_001, 0)).join()).toContain(isLive);
  expect(await stallsAfter(2_100, 100)).toEqual([]);
  expect((await stallsAfter(2_101, 100)).join()).toContain(isLive);
  expect(await stallsAfter(5_600, 100, true)).toEqual([]);
  expect((await stallsAfter(5_601, 100, true)).join()).toContain(isLive);
  // What a quota puts off is not due.
  expect(await stallsAfter(2_001, 0, false, 1.5)).toEqual([]);
  expect((await stallsAfter(2_001, 0, false, 1)).join()).toContain(isLive);
});

it("takes a poll that is due just before an interval closes for the one at its end", () => {
  const dueAt = (ms: number, untold: number) => newestDue(FEED, START + 60_000 + ms, untold)!.at - START;
  expect(dueAt(0, 99)).toBe(59_800);
  expect(dueAt(29_899, 99)).toBe(59_800);
  expect(dueAt(29_900, 99)).toBe(60_000);
  expect(dueAt(0, 100)).toBe(0 + 29_900);
  expect(dueAt(29_899, 100)).toBe(29_900);
  expect(dueAt(29_900, 100)).toBe(60_000);
});

it("lets a status wait for a report that others have had, while it says that there is none", async () => {
  const report = { url: "http://localhost/token/devnet/pairs/pair/snipers", priority: "history" } as const;
  const told = (status: number, at: number) =>
    ({ ...report, status, received: START + at, told: { order: at, isGood: status === 200 } }) as Exchange;
  const begun = { state: "starting", end: "live", missed: [0, 60_000] } as const;
  const had = [told(404, 0), told(404, 60_000), told(200, 61_000)];
  // It asks again after two minutes.
  expect(await breachesOf({ ...begun, told: had, stalledFor: 180_000 })).toEqual([]);
  const late = ["6: status 1 of snipers is starting in good health"];
  expect(await breachesOf({ ...begun, told: had, stalledFor: 181_000 })).toEqual(late);
  expect(await breachesOf({ ...begun, told: had, missed: [0], stalledFor: 61_000 })).toEqual(late);
});

it("takes a candle for one that could not be known once any two answers about it were made a second apart", () => {
  const swap = { timestamp: START + 5_000, side: "buy", tokenAmount: 1, usdAmount: 1, nativeAmount: 1 };
  const pair = { tokenAddress: null, createdAt: START, swaps: () => [swap] };
  const world = { weekStart: "monday", quirks: {}, network: "mainnet", createdAt: START };
  const log = { plan: { world }, source: { pair: () => pair } } as unknown as RunLog;
  const [span, asOf] = [{ from: START, to: START + 60_000 }, START + 70_000];
  const readAt = (madeAt: number) => ({
    look: { madeAt, asOf, asked: span, rows: new Map(), broken: new Set() } as unknown as Look,
    span,
  });
  const lost = (...made: number[]) => lostIn(made.map(readAt), log, FEED);
  expect(lost(0)).toBe(START);
  expect(lost(0, 130)).toBe(START);
  expect(lost(0, 130, 1_100)).toBeUndefined();
});

it("counts for the pair's first interval what is asked from there on", () => {
  const [born, next] = [START, START + 60_000];
  const look = (order: number, from: number, ...shown: readonly number[]) =>
    ({
      asked: { from, to: START + 300_000 },
      isHistory: false,
      sent: START + 120_000,
      received: START + 120_000,
      answeredAt: START + 120_000,
      order,
      rows: new Map(shown.map((timestamp) => [timestamp, []])),
      broken: new Set<number>(),
    }) as unknown as Look;
  const missing = (...looks: readonly Look[]) => {
    const context: Partial<Context> = { changeableFrom: () => 0, isWatched: () => true, bornAt: () => born };
    return missingFirst(looks, { from: START, to: START + 300_000 }, 9, FEED, context as Context);
  };
  const before = [look(1, START - 60_000, born, next), look(2, START - 60_000, next)];
  expect(missing(...before)).toBe(born);
  expect(missing(...before, look(3, born, born, next))).toBeUndefined();
  expect(missing(...before, look(3, born, born, next), look(4, born, next))).toBe(born);
  // What begins any other interval lies in the margin.
  expect(missing(...before, look(3, next, next), look(4, next))).toBe(born);
});
