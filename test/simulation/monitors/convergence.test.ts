import { describe, expect, it } from "vitest";
import type { Candle, CandleEvent } from "../../../src/index.js";
import type { Swap } from "../../../src/service/index.js";
import { intervalsOf } from "../calendar.js";
import type { StoreCall } from "../disk.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { watchConvergence } from "./convergence.js";
import { isClean, proofsAmong, wasAnswered } from "./evidence.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const at = (minute: number) => START + minute * MINUTE;
const FEED = {
  series: { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" },
  every: "close",
  settle: 0,
  revisionWindow: 2,
  weekStart: "monday",
  period: MINUTE,
} as unknown as FeedPlan;
const LEFT = 10;
/** The minutes that have a swap. */
const SWAPS = [0, 3, 8];

function candleOf(minute: number, swaps = 1): Candle {
  const timestamp = at(minute);
  return { timestamp, open: 1, high: 1, low: 1, close: 1, volume: swaps, swaps };
}

/** An answer at the end of a minute, about all minutes, the newest row first; `given`: what else is to be said of it. */
function lookAt(minute: number, given: Partial<Look> = {}): Look {
  const shown = SWAPS.filter((swap) => swap < minute).reverse();
  const rows = new Map(shown.map((swap) => [at(swap), [candleOf(swap)]]));
  const order = minute;
  const asked = { from: at(-2), to: at(minute + 2), cursor: undefined, kind: "ohlcv", pair: "", series: "" };
  return {
    asked,
    isHistory: false,
    answeredAt: at(minute),
    asOf: at(minute),
    madeAt: at(minute),
    old: 0,
    url: "",
    sent: at(minute),
    received: at(minute),
    order,
    rows,
    broken: new Set<number>(),
    hasUnidentifiedRow: false,
    isTimeDoubtful: false,
    faults: [],
    ...given,
  } as Look;
}

/** The same answer, the oldest row first. */
const ascending = (look: Look): Look => ({ ...look, rows: new Map([...look.rows].reverse()) });

function exchangeOf(
  priority: string,
  minute: number,
  sent: number,
  isGood: boolean,
  fault?: string,
  cursor?: string,
) {
  const page = cursor === undefined ? "" : `&cursor=${cursor}`;
  const url = `http://localhost/token/devnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&fromDate=${at(minute) / 1_000}${page}`;
  const faults = fault === undefined ? [] : [fault];
  const status = Number(fault) || 200;
  return { url, priority, status, faults, told: { isGood }, old: 0, sent, received: sent };
}

function reportOf(sent: number) {
  const url = "http://localhost/token/devnet/pairs/pair/snipers";
  return { url, priority: "history", faults: [], told: { isGood: true }, old: 0, sent, received: sent };
}

interface Case {
  /** The minutes that the subscriber holds; default: those with a swap. */
  readonly held?: readonly number[];
  /** Of these what it does not hold for good. */
  readonly unfinished?: readonly number[];
  /** Of these what it holds as it was when it was open, though more has happened since. */
  readonly open?: readonly number[];
  /** Of these what it holds for good though the service has it no more. */
  readonly gone?: readonly number[];
  /** The questions of histories for what begins at a minute, a second apart from the first minute on, and whether they are answered. */
  readonly asked?: readonly (readonly [
    minute: number,
    isAnswered: boolean,
    fault?: string | undefined,
    cursor?: string,
  ])[];
  /** How often a poll has failed, every five seconds from the first minute on, and with what. */
  readonly failed?: readonly [times: number, fault: string];
  readonly looks?: readonly Look[];
  /** When a poll has asked, and got no answer. */
  readonly unanswered?: number;
  readonly fillGaps?: boolean;
  /** `null`: nothing of the past. */
  readonly since?: number | { candles: number } | null;
  /** When the subscriber joins; default: at first. */
  readonly joined?: number;
  /** When somebody sets the machine's clock. */
  readonly clockSet?: number;
  /** When the rate limit begins to hold back what was asked for, for a tenth of a second. */
  readonly throttled?: number;
  /** Whether a lie about the time counts as that of a machine. */
  readonly hasLie?: boolean;
  /** When the subscriber leaves; default: soon after the last look. */
  readonly left?: number;
  /** Whether it ends there with an error instead. */
  readonly hasFailed?: boolean;
  /** How many read the same past; default: one. */
  readonly readers?: number;
  /** Whether a history of another timeframe asks where the pair was created. */
  readonly hasReport?: boolean;
  /** What the client may spend. */
  readonly quota?: { readonly units: number; readonly per: number };
  /** What it has asked of a store. */
  readonly calls?: readonly { readonly at: number; readonly ended?: { readonly at: number } }[];
  /** How far the clock of a second machine is ahead, ms, and how well the time is known. */
  readonly ahead?: number;
  readonly tolerance?: number;
}

/** What breaks the promise for one who watches from the first minute on, and whether it was compared. */
async function judge({
  held = SWAPS,
  gone = [],
  open = [],
  unfinished = [],
  asked = [],
  failed: [times, fault] = [0, ""],
  looks,
  unanswered,
  fillGaps = false,
  since = at(0),
  joined = START,
  clockSet = Number.NEGATIVE_INFINITY,
  hasLie = false,
  throttled,
  left,
  hasFailed = false,
  readers = 1,
  hasReport = false,
  quota,
  calls,
  ahead,
  tolerance = 0,
}: Case) {
  const breaches: string[] = [];
  let wasPossible: boolean | undefined;
  const polls = looks ?? Array.from({ length: LEFT }, (_, minute) => lookAt(minute + 1));
  const events = held.map((minute) => {
    const ended = minute < LEFT - 2 && !unfinished.includes(minute) ? "final" : "closed";
    const status = open.includes(minute) ? "open" : ended;
    const close = open.includes(minute) ? 2 : 1;
    const candle = { ...candleOf(minute, [...SWAPS, ...gone].includes(minute) ? 1 : 0), close };
    return { at: at(minute + 1), order: minute + 1, value: { type: "new", candle, status } as CandleEvent };
  });
  const end = left ?? at(LEFT) + 5_000;
  const stay = {
    id: 1,
    plan: {
      kind: "candles",
      feed: FEED,
      options: { ...(since !== null && { since }), whenMissing: "wait", ...(fillGaps && { fillGaps }) },
    },
    joined,
    joinedOrder: 0,
    ...(hasFailed ? { ended: { at: end, isError: true } } : { left: end }),
    events,
  } as unknown as StayLog;
  const swap = (minute: number) =>
    ({ timestamp: at(minute) + 30_000, side: "buy", tokenAmount: 1, usdAmount: 1, nativeAmount: 1 }) as Swap;
  const pair = {
    tokenAddress: null,
    createdAt: 0,
    swaps: ({ from, to, asOf }: { from: number; to: number; asOf: number }) =>
      SWAPS.map(swap).filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf),
  };
  const throttling = { type: "throttled", at: 0, until: 100 };
  const latency = { base: 0, spread: 0 };
  const machines = ahead === undefined ? undefined : { ahead };
  const world = {
    start: START,
    weekStart: "monday",
    client: { quota },
    quirks: {},
    latency,
    machines,
  };
  const log = {
    plan: { world, healthyFrom: 0 },
    told: [],
    ...(calls && { store: { calls } }),
    exchanges: [
      ...(hasReport ? [reportOf(at(0))] : []),
      ...asked.map(([minute, isGood, fault, cursor], turn) =>
        exchangeOf("history", minute, at(1) + turn * 1_000, isGood, fault, cursor),
      ),
      ...Array.from({ length: times }, (_, turn) =>
        exchangeOf("close", 0, at(1) + turn * 5_000, false, fault),
      ),
      ...(unanswered === undefined
        ? []
        : [{ ...exchangeOf("close", 0, unanswered, false), received: undefined }]),
    ],
    activities: throttled === undefined ? [] : [{ at: throttled, value: throttling }],
    source: { pair: () => pair },
    stays: Array.from({ length: readers }, (_, id) =>
      id === 0 ? stay : { ...stay, id: id + 1, ended: { at: end } },
    ),
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    compared: (_, isPossible) => {
      wasPossible = isPossible;
    },
    graceOf: () => 2 * MINUTE,
    foundAt: () => Number.NEGATIVE_INFINITY,
    serviceClock: (instant) => instant,
    clockTolerance: 0,
    toleranceAt: () => tolerance,
    mayBeMachine: () => hasLie,
    isTrusted: () => !hasLie,
    looksAt: () => polls,
    answersOf: () => polls,
    bornAt: () => Number.NEGATIVE_INFINITY,
    changeableFrom: () => at(LEFT - 2),
    isThrottled: () => false,
    sleptWithin: () => false,
    clockWasSet: (from, until) => clockSet >= from && clockSet <= until,
  };
  await watchConvergence(log, context as Context);
  return { breaches, wasPossible };
}

const lacks = (minute: number) =>
  `: stay 1 of 1min: has nothing (undefined) at ${new Date(at(minute)).toISOString()}, the service close 1, 1 swaps`;

describe("what a subscriber is held to", () => {
  it("is all that the service has", async () => {
    expect(await judge({})).toEqual({ breaches: [], wasPossible: true });
  });

  it("includes what is final", async () => {
    const { breaches } = await judge({ held: [0, 8] });
    expect(new Set(breaches)).toEqual(new Set([`1${lacks(3)}`]));
  });

  it("includes the newest candle", async () => {
    expect((await judge({ held: [0, 3] })).breaches).toContain(`1${lacks(8)}`);
  });

  it("is no open candle whose row was broken when it left the window", async () => {
    const looks = Array.from({ length: LEFT }, (_, minute) => lookAt(minute + 1));
    const broken = (minute: number) => lookAt(minute, { broken: new Set([at(3)]) });
    const isHeldTo = async (...rows: readonly number[]) => {
      const given = looks.map((look) =>
        rows.some((minute) => at(minute) === look.sent) ? broken((look.sent - START) / MINUTE) : look,
      );
      const { breaches } = await judge({ open: [3], looks: given });
      return breaches.some((what) => what.startsWith("1: stay 1 of 1min: has close 2"));
    };
    expect(await isHeldTo(4, 5)).toBe(true);
    expect(await isHeldTo(4, 5, 6)).toBe(false);
  });

  it("includes the running candle, but for the last second of a minute after a lie about the time", async () => {
    const isHeldTo = async (own: Partial<Case>) => {
      const { breaches } = await judge({ since: null, held: [], ...own });
      return breaches.some((what) => what.endsWith(lacks(8)));
    };
    expect(await isHeldTo({ joined: at(8.5) })).toBe(true);
    expect(await isHeldTo({ joined: at(9) - 900 })).toBe(true);
    expect(await isHeldTo({ joined: at(9) - 900, hasLie: true })).toBe(false);
    expect(await isHeldTo({ joined: at(9) - 1_100, hasLie: true })).toBe(true);
  });

  it("is not what an answer has shown that is asked for again at once, as long as that is not answered", async () => {
    const asked = { ...lookAt(9).asked, series: "pair 1min usd" };
    const given = { held: [], since: null, looks: [lookAt(9, { asked })], left: at(9.5) };
    const isHeldTo = async (own: Partial<Case>) => (await judge({ ...given, ...own })).breaches.length > 0;
    expect(await isHeldTo({ joined: at(8.9) })).toBe(true);
    expect(await isHeldTo({ joined: at(8.9), unanswered: at(9) + 1 })).toBe(true);
    expect(await isHeldTo({ joined: at(8.9), unanswered: at(9) })).toBe(false);
  });

  it("includes as many candles as were asked for", async () => {
    expect((await judge({ since: { candles: 3 }, held: [0, 3, 8] })).breaches).toEqual([]);
    const { breaches } = await judge({ since: { candles: 3 }, held: [3, 8] });
    expect(breaches.some((what) => what.endsWith(lacks(0)))).toBe(true);
  });

  it("counts candles back from the first answer that shows any, or that a history follows at once", async () => {
    const empty = lookAt(0.4, { rows: new Map() });
    const given = { since: { candles: 1 }, held: [8], looks: [empty, lookAt(9), lookAt(10)] };
    const isHeldTo = async (own: Partial<Case>) =>
      (await judge({ ...given, ...own })).breaches.some((what) => what.endsWith(lacks(0)));
    expect(await isHeldTo({})).toBe(false);
    expect(await isHeldTo({ asked: [[-20, true]] })).toBe(true);
    // A search is no answer of the poll.
    const url = "http://localhost/token/devnet/pairs/pair/ohlcv?limit=2";
    expect(await isHeldTo({ looks: [empty, lookAt(0.7, { url }), lookAt(9), lookAt(10)] })).toBe(false);
    expect(await isHeldTo({ looks: [lookAt(0.5), lookAt(9), lookAt(10)] })).toBe(true);
    // Nor is the question for the candle before one that shows nothing.
    const asked = { ...lookAt(0).asked, from: at(-20), to: at(-1) };
    const before = lookAt(0.4, { asked, rows: new Map([[at(-5), [candleOf(-5)]]]) });
    expect(await isHeldTo({ looks: [empty, before, lookAt(9), lookAt(10)] })).toBe(false);
  });

  it("counts what it was given for good, though the service has it no more", async () => {
    // A fork has taken the third candle back after it had become final.
    const rows = new Map(SWAPS.map((swap) => [at(swap), [candleOf(swap)]]));
    const shown = lookAt(9, { rows: new Map([...rows, [at(5), [candleOf(5)]]]) });
    const looks = [shown, lookAt(10)];
    const given = { since: { candles: 3 }, held: [3, 5, 8], gone: [5], looks };
    expect((await judge(given)).breaches.filter((what) => what.includes("has nothing"))).toEqual([]);
    const { breaches } = await judge({ ...given, held: [5, 8] });
    expect(breaches.some((what) => what.endsWith(lacks(3)))).toBe(true);
  });

  it("counts what it was given, and goes as the last answer lacks it", async () => {
    const shown = lookAt(10.4, { rows: new Map([...lookAt(10.4).rows, [at(9), [candleOf(9)]]]) });
    const given = { since: { candles: 3 }, held: [3, 8, 9], gone: [9], looks: [shown, lookAt(10.5)] };
    const { breaches } = await judge({ ...given, left: at(10.5) + 5_000 });
    expect(breaches.filter((what) => what.includes("has nothing"))).toEqual([]);
  });

  it("is a history once nobody can still be waiting for an answer to a question of it", async () => {
    const isHeldTo = async (...asked: NonNullable<Case["asked"]>) => {
      const left = at(1) + 40_000;
      const { breaches } = await judge({ held: [], looks: [lookAt(1), lookAt(1.5)], asked, left });
      return breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo([-20, true])).toBe(true);
    expect(await isHeldTo([-20, false])).toBe(false);
    // That of another reader says nothing of the one that has failed.
    expect(await isHeldTo([-20, false], [-10, true])).toBe(false);
    expect(await isHeldTo([-20, false], [-10, true], [-20, true])).toBe(true);
    // Of an answer in pages each has to be whole.
    const struck = [-20, true, "broken"] as const;
    expect(await isHeldTo(struck, [-20, true, undefined, "b"])).toBe(false);
    expect(await isHeldTo([...struck, "b"], [-20, true, undefined, "c"])).toBe(false);
    expect(await isHeldTo(struck, [-20, true], [-20, true, undefined, "b"])).toBe(true);
    expect(await isHeldTo([-20, false, undefined, "b"], [-20, true, undefined, "b"])).toBe(true);
  });

  it("is a history once each of its readers can have been answered", async () => {
    const isHeldTo = async (...asked: NonNullable<Case["asked"]>) => {
      const left = at(1) + 40_000;
      const given = { held: [], looks: [lookAt(1), lookAt(1.5)], asked, left, readers: 2 };
      const { breaches } = await judge(given);
      return breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo([-20, false], [-20, false], [-20, true])).toBe(false);
    expect(await isHeldTo([-20, false], [-20, false], [-20, true], [-20, true])).toBe(true);
  });

  it("is no history while a store does not answer, for as long as a client waits for that", async () => {
    const isHeldTo = async (left: number, ended?: number) => {
      const call = { at: at(1) + 10_000, ...(ended !== undefined && { ended: { at: at(1) + ended } }) };
      const given = { held: [], looks: [lookAt(1)], calls: [call], left: at(1) + left };
      return (await judge(given)).breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo(19_000)).toBe(false);
    expect(await isHeldTo(21_000)).toBe(true);
    expect(await isHeldTo(19_000, 30_000)).toBe(false);
    expect(await isHeldTo(21_000, 30_000)).toBe(true);
    expect(await isHeldTo(19_000, 12_000)).toBe(true);
  });

  it("is no history while polls spend all of a quota", async () => {
    const isHeldTo = async (times: number) => {
      const failed = [times, "closed connection"] as const;
      const given = { held: [], asked: [[-20, true]] as const, failed };
      // Twelve polls a minute.
      const { breaches } = await judge({ ...given, quota: { units: 12 * 150, per: MINUTE } });
      return breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo(0)).toBe(true);
    // By then the history has waited for two periods.
    expect(await isHeldTo(12 * 3)).toBe(true);
    expect(await isHeldTo(12 * LEFT)).toBe(false);
  });

  it("is a history though each of its polls loses a connection, and not while the polls fail that it begins behind", async () => {
    const all = (fault: string) => ({ since: at(9), held: [], failed: [120, fault] as const });
    expect((await judge(all("closed connection"))).breaches).toEqual([]);
    expect((await judge(all("closed connection"))).wasPossible).toBe(true);
    expect((await judge(all("503"))).wasPossible).toBe(false);
    expect((await judge({ ...all("503"), hasReport: true })).wasPossible).toBe(false);
  });

  it("is no history while a poll waits for a pair that is not known", async () => {
    const isHeldTo = async (fault: string, ...looks: readonly Look[]) => {
      const given = { held: [], looks: [lookAt(0.9), ...looks], failed: [1, fault] as const, left: at(LEFT) };
      return (await judge(given)).breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo("503")).toBe(true);
    expect(await isHeldTo("404")).toBe(false);
    expect(await isHeldTo("404", lookAt(3))).toBe(true);
  });

  it("is a history only behind the first answer about the present: a clock that was wrong has asked for another time", async () => {
    const isHeldTo = async (from: number) => {
      const asked = { ...lookAt(0).asked, from: at(from), to: at(from + 5) };
      const looks = [lookAt(0.1, { asked, rows: new Map() }), lookAt(9)];
      const { breaches } = await judge({ held: [], looks, left: at(9) + 5_000 });
      return breaches.some((what) => what.endsWith(lacks(0)));
    };
    expect(await isHeldTo(-3)).toBe(true);
    expect(await isHeldTo(1_000)).toBe(false);
    expect(await isHeldTo(-1_000)).toBe(false);
  });

  it("is a history by the end, unless that is still asked for as the rate limit holds it back", async () => {
    const asked = Array.from({ length: 9 * 60 }, () => [-20, true] as const);
    const isHeldTo = async (throttled?: number) => {
      const { breaches } = await judge({ held: [], asked, ...(throttled !== undefined && { throttled }) });
      return breaches.includes("6: stay 1 of 1min: has not been given its past");
    };
    expect(await isHeldTo()).toBe(true);
    expect(await isHeldTo(at(LEFT) - 60_000)).toBe(true);
    expect(await isHeldTo(at(LEFT) + 4_000)).toBe(false);
  });

  it("is nothing before the next answer where the machine's clock was set before it has joined", async () => {
    const isHeldTo = async (clockSet: number, ...looks: readonly Look[]) => {
      const given = { held: [0], unfinished: [0], joined: at(5), left: at(6) + 5_000, clockSet };
      const { breaches } = await judge({ ...given, looks: [lookAt(4), ...looks] });
      return breaches.some((what) => what.endsWith(lacks(3)));
    };
    expect(await isHeldTo(at(3.5))).toBe(true);
    expect(await isHeldTo(at(4.5))).toBe(false);
    expect(await isHeldTo(at(4.5), lookAt(6))).toBe(true);
  });

  it("is nothing that only an answer has shown which is cut, stale or struck, or was asked for one row", async () => {
    const probe = { url: "http://localhost/token/devnet/pairs/pair/ohlcv?limit=2" };
    const odd = [{ faults: ["dropped"] }, { old: 5_000 }, { isTimeDoubtful: true }, probe];
    for (const given of odd)
      expect((await judge({ held: [], looks: [lookAt(1, given), lookAt(9, given)] })).wasPossible).toBe(
        false,
      );
  });

  it("lacks what a search has passed over: two answers show nothing, one of them to the search, and one from later on does", async () => {
    const url = "http://localhost/token/devnet/pairs/pair/ohlcv?limit=2";
    const asked = (from: number) => ({ ...lookAt(9).asked, from: at(from) });
    const probe = (minute: number, from: number, isSilent: boolean) =>
      lookAt(minute, { url, asked: asked(from), ...(isSilent && { rows: new Map(), faults: ["empty"] }) });
    const search = [probe(3.8, -1, true), probe(3.82, 0, true), probe(3.84, 1, false)];
    const polls = [lookAt(9, { asked: asked(1) }), lookAt(10, { asked: asked(1) })].map((look) => ({
      ...look,
      rows: new Map([...look.rows].filter(([timestamp]) => timestamp > at(0))),
    }));
    const isHeldTo = async (...looks: readonly Look[]) =>
      (await judge({ held: [3, 8], looks: [...looks, ...polls] })).breaches.some((what) =>
        what.endsWith(lacks(0)),
      );
    expect(await isHeldTo(...search)).toBe(false);
    expect(await isHeldTo(...search.slice(1))).toBe(true);
    const empty = lookAt(3.8, { rows: new Map(), faults: ["empty"] });
    expect(await isHeldTo(empty, ...search.slice(1))).toBe(false);
    expect(await isHeldTo(empty, empty, search[2]!)).toBe(true);
    expect(await isHeldTo(...search.slice(0, 2))).toBe(true);
    expect(await isHeldTo(...search, probe(3.86, 0, false))).toBe(true);
    expect(await isHeldTo(lookAt(3.5), ...search)).toBe(true);
    // What was found longer than a minute before is sought anew.
    const early = search.map((look) => ({ ...look, received: at(-1) - 1 }));
    expect(await isHeldTo(...early)).toBe(true);
  });

  it("is counted unless the subscriber was refused before any answer", async () => {
    const counted = async (given: Case) =>
      (await judge({ held: [], left: at(1) + 1_000, ...given })).wasPossible;
    const refused = [lookAt(0.5, { faults: ["404"] }), lookAt(2)];
    expect(await counted({ looks: refused, hasFailed: true })).toBeUndefined();
    expect(await counted({ looks: refused })).toBe(false);
    expect(await counted({ looks: [lookAt(1)], hasFailed: true })).toBe(false);
    expect(await counted({ looks: refused, held: [0], hasFailed: true })).toBe(false);
  });

  it("waits for a second look before something goes", async () => {
    const [shown, lacking] = [lookAt(8), (minute: number) => lookAt(minute, { rows: new Map() })];
    const held = [0, 3, 7];
    const gone = (what: string) => what.includes("the service nothing");
    const rows = new Map([...shown.rows, [at(7), [candleOf(7)]]]);
    const first = await judge({ held, looks: [lookAt(8, { rows }), lookAt(9), lacking(10)] });
    expect(first.breaches.filter(gone)).toEqual([]);
  });

  it("is final by two answers, and what follows the last row by three where the last gives the oldest first", async () => {
    const looks = [lookAt(7.96), lookAt(7.98), lookAt(8)];
    const given = { held: [0, 1, 2, 3, 4, 5, 6, 7], fillGaps: true, left: at(8) + 5_000 };
    const isBroken = async (minute: number, given: Case) =>
      (await judge(given)).breaches.includes(
        `12: stay 1 of 1min: has not made ${new Date(at(minute)).toISOString()} final`,
      );
    const [first, second, last] = looks.map(ascending);
    const isFinalBy = async (minute: number, ...looks: readonly Look[]) =>
      isBroken(minute, { ...given, unfinished: [minute], looks });
    expect(await isFinalBy(4, ...looks.slice(1))).toBe(true);
    expect(await isFinalBy(4, second!, last!)).toBe(false);
    // Those of a service that shuffles ascend by chance.
    expect(await isFinalBy(4, looks[1]!, last!)).toBe(false);
    expect(await isFinalBy(4, second!, looks[2]!)).toBe(true);
    expect(await isFinalBy(0, second!, last!)).toBe(true);
    expect(await isFinalBy(4, first!, second!, last!)).toBe(true);
    // Before the first candle shows no answer tells where the others begin.
    expect(await isFinalBy(4, lookAt(7.96, { rows: new Map() }), second!, last!)).toBe(false);
    // The newest candle that polls have shown may be there still, though this subscriber never had it.
    const showing = (minute: number, ...shown: readonly number[]) =>
      lookAt(minute, { rows: new Map(shown.map((one) => [at(one), [candleOf(one)]])) });
    const isWaitedFor = async (...before: readonly number[]) => {
      const lacking = [showing(7.9, ...before), showing(8.1, 3, 0), showing(8.2, 3, 0)];
      return !(await isBroken(5, { ...given, left: at(9), unfinished: [5], looks: lacking }));
    };
    expect([await isWaitedFor(4, 3, 0), await isWaitedFor(3, 0)]).toEqual([true, false]);
    // Nor does one for which the silence before that had not settled.
    const early = (minute: number) => {
      const ask = { ...lookAt(9).asked, from: at(0) };
      const rows = new Map([2, 3].map((shown) => [at(shown), [candleOf(shown)]]));
      return lookAt(minute, { asked: ask, rows });
    };
    const isFinalLate = async (minute: number) =>
      isBroken(4, {
        ...{ ...given, since: at(1), unfinished: [4] },
        looks: [early(minute), early(7.98), early(8)],
      });
    expect(await isFinalLate(1.9)).toBe(false);
    expect(await isFinalLate(2.1)).toBe(true);
  });

  it("is final later by as much as a lie about the time may leave a machine behind", async () => {
    const isBroken = async (minute: number, hasLie: boolean) => {
      const looks = [lookAt(minute), lookAt(minute + 0.02)];
      const given = { held: [0, 1, 2, 3, 4, 5, 6], fillGaps: true, unfinished: [4], left: at(8) };
      return (await judge({ ...given, looks, hasLie })).breaches.some((what) => what.startsWith("12: "));
    };
    expect(await isBroken(7.02, false)).toBe(true);
    expect(await isBroken(7.02, true)).toBe(false);
    expect(await isBroken(7.07, true)).toBe(true);
  });

  it("is read again within two slots", async () => {
    const looks = [lookAt(1), lookAt(2)];
    const { breaches } = await judge({ held: [0], looks });
    expect(breaches).toEqual(["6: stay 1 of 1min: was not read for 485000 ms"]);
  });
});

describe("filling", () => {
  const all = Array.from({ length: LEFT }, (_, minute) => minute);
  const HOLE = 5;
  const notFilled = `6: stay 1 of 1min: is not filled at ${new Date(at(HOLE)).toISOString()}`;

  it("leaves no hole from the first candle on", async () => {
    expect((await judge({ held: all, fillGaps: true })).breaches).toEqual([]);
    const { breaches } = await judge({ held: all.filter((minute) => minute !== HOLE), fillGaps: true });
    expect(breaches.at(-1)).toBe(notFilled);
  });

  it("waits until two machines are told apart for answers that lie further apart than their clocks", async () => {
    const held = all.filter((minute) => minute !== HOLE);
    const isHeldTo = async (given: Case) =>
      (await judge({ held, fillGaps: true, looks: [lookAt(9), lookAt(9.02)], ...given })).breaches.includes(
        notFilled,
      );
    expect(await isHeldTo({})).toBe(true);
    expect(await isHeldTo({ ahead: 900, tolerance: 901 })).toBe(false);
    expect(await isHeldTo({ ahead: 900, tolerance: 100 })).toBe(true);
    expect(await isHeldTo({ ahead: 100, tolerance: 101 })).toBe(true);
  });

  it("waits for a second answer after the first that shows anything, where no report tells of the pair", async () => {
    const held = all.filter((minute) => minute !== HOLE);
    const isHeldTo = async (first: Look) =>
      (await judge({ held, fillGaps: true, looks: [first, lookAt(10)] })).breaches.includes(notFilled);
    expect(await isHeldTo(lookAt(9))).toBe(true);
    expect(await isHeldTo(lookAt(9, { rows: new Map() }))).toBe(false);
  });

  it("waits for an answer more where the first one is not known to be whole", async () => {
    const held = all.filter((minute) => minute !== HOLE);
    const rowsOf = (...minutes: readonly number[]) =>
      new Map(minutes.map((minute) => [at(minute), [candleOf(minute)]]));
    const isHeldTo = async (...shown: readonly (readonly number[])[]) => {
      const looks = shown.map((minutes, turn) => lookAt(8 + turn / 50, { rows: rowsOf(...minutes) }));
      return (await judge({ held, fillGaps: true, looks })).breaches.includes(notFilled);
    };
    // It begins with a silence, and one that gives the oldest first may be cut at its end.
    expect(await isHeldTo([0, 3], [0, 3])).toBe(false);
    expect(await isHeldTo([0, 3], [0, 3], [0, 3])).toBe(true);
    expect(await isHeldTo([3, 0], [3, 0])).toBe(true);
    // Or it lacks all that was known.
    expect(await isHeldTo([3, 0], [7], [7])).toBe(false);
    expect(await isHeldTo([3, 0], [7, 0], [7, 0])).toBe(true);
  });

  it("leaves out what could not be read", async () => {
    const broken = new Set([at(HOLE)]);
    const looks = Array.from({ length: LEFT }, (_, minute) =>
      lookAt(minute + 1, minute === HOLE ? { broken } : {}),
    );
    const held = all.filter((minute) => minute !== HOLE);
    expect((await judge({ held, looks, fillGaps: true })).breaches).toEqual([]);
  });
});

describe("a candle that is gone", () => {
  it("may take one answer more where the first that lacks it lacks a final one for the first time, too", async () => {
    const looksWith = (others: readonly number[]) =>
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((minute) => {
        const { rows } = lookAt(minute);
        const more = minute < 9 ? [2, 7].filter((other) => other < minute) : others;
        const all = [...rows, ...more.map((other) => [at(other), [candleOf(other)]] as const)];
        return lookAt(minute, { rows: new Map(all.sort(([a], [b]) => b - a)) });
      });
    const held = { held: [0, 2, 3, 7, 8], gone: [2, 7], unfinished: [7] };
    expect((await judge({ ...held, looks: looksWith([]) })).breaches).toEqual([]);
    expect((await judge({ ...held, looks: looksWith([2]) })).breaches).toEqual([
      expect.stringContaining(`(closed) at ${new Date(at(7)).toISOString()}, the service nothing`),
    ]);
  });
});

describe("evidence", () => {
  it("is two good answers that the service has made a second apart", () => {
    const [first, copy, second] = [lookAt(1), lookAt(1, { order: 2 }), lookAt(2, { order: 3 })];
    expect(proofsAmong([first, copy, second]).map(({ look, before }) => [look, before])).toEqual([
      [first, undefined],
      [copy, undefined],
      [second, copy],
    ]);
    expect(proofsAmong([lookAt(1, { faults: ["empty"] }), second])).toEqual([]);
  });

  it("is one good answer after another that says nothing, as its range began before the pair", () => {
    const [silent, good] = [lookAt(1), lookAt(1.2, { order: 2 })];
    const proofs = proofsAmong([silent, good], (look) => isClean(look) && look !== silent);
    expect(proofs).toEqual([{ look: good, before: undefined }]);
  });

  it("is no answer from before another one", () => {
    expect(proofsAmong([lookAt(3), lookAt(2)])).toHaveLength(1);
  });

  it("is not spoilt by what changes nothing", () => {
    expect(isClean(lookAt(1, { faults: ["duplicated", "shuffled"] }))).toBe(true);
    expect(isClean(lookAt(1, { broken: new Set([at(0)]) }))).toBe(false);
  });

  const finality = {
    intervals: intervalsOf("1min"),
    leaves: (timestamp: number) => timestamp + 3 * MINUTE,
    tolerance: 0,
    hasDate: true,
    bornAt: Number.NEGATIVE_INFINITY,
    isGood: isClean,
  };
  const without = (minute: number, lost: number, given: Partial<Look> = {}) => {
    const { rows } = lookAt(minute);
    return lookAt(minute, { rows: new Map([...rows].filter(([row]) => row !== at(lost))), ...given });
  };

  it("counts what a fault has taken out of the middle of an answer once, and at its beginning only twice", () => {
    const faults = ["dropped"];
    const absent = (looks: readonly Look[], minute: number) =>
      wasAnswered(looks, at(minute), undefined, finality);
    expect(absent([lookAt(9)], 3)).toBe(false);
    expect(absent([without(9, 3, { faults })], 3)).toBe(true);
    expect(absent([without(9, 0, { faults })], 0)).toBe(false);
    expect(absent([without(9, 0, { faults }), without(10, 0, { faults })], 0)).toBe(true);
    expect(absent([lookAt(4), without(9, 3, { faults })], 3)).toBe(false);
    // A process before has seen it.
    expect(absent([lookAt(4, { order: 0 }), without(9, 3, { faults })], 3)).toBe(true);
    // A history has seen what histories were shown, and of polls the four newest that were final.
    const isHistory = true;
    const shown = (...minutes: number[]) =>
      new Map(minutes.map((minute) => [at(minute), [candleOf(minute)]] as const));
    const past = lookAt(20, { rows: shown(0, 4, 5, 6), faults, isHistory });
    const poll = (minute: number, given: Partial<Look> = {}) =>
      lookAt(minute, { rows: shown(0, 3, 4, 5, 6), ...given });
    expect(absent([poll(9), past], 3)).toBe(false);
    expect(absent([poll(12, { rows: shown(0, 3, 4, 5, 6, 7) }), past], 3)).toBe(true);
    expect(absent([poll(12, { rows: shown(0, 3, 4, 5, 6, 7), isHistory }), past], 3)).toBe(false);
    expect(absent([poll(9, { faults }), past], 3)).toBe(true);
    expect(absent([poll(9, { order: 0 }), past], 3)).toBe(true);
    // Where its store has just failed to give anything it does not know what others have shown.
    const failed = (at: number, isGood: boolean) =>
      [{ operation: "read", at, ended: { at, isGood } }] as unknown as readonly StoreCall[];
    const afterTrouble = (ago: number, isGood = false) =>
      wasAnswered([poll(9, { isHistory }), past], at(3), undefined, {
        ...finality,
        calls: failed(at(20) - ago, isGood),
      });
    expect([afterTrouble(0), afterTrouble(1_999), afterTrouble(2_000)]).toEqual([true, true, false]);
    expect(afterTrouble(0, true)).toBe(false);
    // It does not take what lies in the margin of its range.
    const shownFrom = (minute: number) => poll(9, { isHistory, asked: { ...past.asked, from: at(minute) } });
    expect(absent([shownFrom(2), past], 3)).toBe(false);
    expect(absent([shownFrom(3), past], 3)).toBe(true);
    expect(absent([poll(5), past], 3)).toBe(true);
    expect(absent([past, poll(21)], 3)).toBe(true);
  });

  it("counts a copy as a second answer where the first took a second, and had no Date", () => {
    const faults = ["dropped"];
    const isExcused = (took: number, hasDate: boolean, old: number) => {
      const first = without(9, 0, { faults, sent: at(9) - took });
      const copy = without(9, 0, { faults, old });
      return wasAnswered([first, copy], at(0), undefined, { ...finality, hasDate });
    };
    expect(isExcused(1_000, false, 3_000)).toBe(true);
    expect(isExcused(999, false, 3_000)).toBe(false);
    expect(isExcused(1_000, true, 3_000)).toBe(false);
    expect(isExcused(1_000, false, 0)).toBe(false);
  });

  it("counts a broken row of the pair's first interval where the range begins with that", () => {
    const asked = { ...lookAt(9).asked, from: at(0) };
    const looks = [without(9, 0, { asked, broken: new Set([at(0)]) })];
    const isExcused = (list: readonly Look[], bornAt: number) =>
      wasAnswered(list, at(0), undefined, { ...finality, bornAt });
    expect(isExcused(looks, at(0))).toBe(true);
    expect(isExcused(looks, at(-1))).toBe(false);
    expect(isExcused([without(9, 0, { asked })], at(0))).toBe(false);
  });

  it("counts two answers that are cut before the pair's first interval where the ranges begin with that", () => {
    const asked = { ...lookAt(9).asked, from: at(0) };
    const cut = (minute: number) => without(minute, 0, { asked, faults: ["dropped"] });
    const isExcused = (list: readonly Look[], bornAt: number) =>
      wasAnswered(list, at(0), undefined, { ...finality, bornAt });
    expect(isExcused([cut(9)], at(0))).toBe(false);
    expect(isExcused([cut(9), cut(10)], at(0))).toBe(true);
    expect(isExcused([cut(9), cut(10)], at(-1))).toBe(false);
    expect(isExcused([without(9, 0, { asked }), without(10, 0, { asked })], at(0))).toBe(false);
  });

  it("holds a final candle to the answers for good", () => {
    const old = { ...candleOf(3), close: 2 };
    const looks = [lookAt(4, { rows: new Map([[at(3), [old]]]) }), lookAt(9)];
    expect(wasAnswered(looks, at(3), old, finality)).toBe(false);
    expect(wasAnswered(looks, at(3), candleOf(3), finality)).toBe(true);
  });
});
