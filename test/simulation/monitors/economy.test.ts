import { describe, expect, it } from "vitest";
import type { ServiceQuirks } from "../../../src/service/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan, WatcherPlan } from "../plan.js";
import type { RunLog } from "../run-log.js";
import { watchEconomy } from "./economy.js";
import type { Context } from "./monitor.js";

const MINUTE = 60_000;
const START = Date.UTC(2024, 5, 3);
/** The first swap; from then on there is one a minute, but for a silence that a test asks for. */
const BORN = START - 5_000 * MINUTE;
/** When somebody joins, after the closing of the interval before. */
const JOINED = 2_000;
const SERIES = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const FEED = {
  series: SERIES,
  every: "close",
  settle: 1_000,
  revisionWindow: 2,
  weekStart: "monday",
  period: MINUTE,
} as unknown as FeedPlan;

interface Asked {
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly priority?: "history";
  readonly faults?: readonly string[];
  /** Absent where the request failed. */
  readonly rows?: readonly number[];
  /** Whether its rows break the contract. */
  readonly isBroken?: boolean;
  /** Which attempt of a call it is; default: the first. */
  readonly attempt?: number;
  /** What it failed with. */
  readonly error?: { readonly path: readonly string[] };
  readonly limit?: number;
  readonly cursor?: string | undefined;
  /** By which machine's clock it is answered, ms ahead of the one that is behind; default 0. */
  readonly ahead?: number;
  /** How old the copy of a cache is, ms; default: it is none. */
  readonly old?: number;
}

interface Market {
  readonly quirks?: ServiceQuirks;
  /** Until when a store has all of it; default: there is no store. */
  readonly storedUntil?: number;
  /** Default: there is no last one. */
  readonly lastSwap?: number;
}

/** What a run breaks: a feed or calls from START on, and all that was asked for. */
async function breachesOf(
  watchers: readonly WatcherPlan[],
  requests: readonly Asked[],
  { quirks = {}, storedUntil, lastSwap = Number.POSITIVE_INFINITY }: Market = {},
): Promise<string[]> {
  const exchanges = requests.map(
    (
      {
        at,
        from,
        to,
        priority,
        faults = [],
        rows,
        isBroken,
        attempt = 1,
        error,
        limit = 1_000,
        cursor,
        ahead = 0,
        old = 0,
      },
      number,
    ) => {
      const order = number + 1;
      const sent = at + 20 * number;
      const series = `timeframe=${SERIES.timeframe}&currency=${SERIES.currency}`;
      const range = `fromDate=${from / 1_000}&toDate=${to / 1_000}`;
      const row = (timestamp: number) => ({
        ...{ open: 1, high: isBroken ? 0 : 1, low: 1, close: 1, volume: 1, swaps: 1 },
        timestamp: new Date(timestamp).toISOString(),
      });
      return {
        url: `http://localhost/token/mainnet/pairs/pair/ohlcv?${series}&${range}&limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`,
        ...{
          sent,
          received: sent + 10,
          answeredAt: sent + 5 - old,
          old,
          ahead,
          lag: 0,
          attempt,
          faults,
        },
        priority: priority ?? "close",
        headers: { date: Math.floor(sent / 1_000) * 1_000 },
        body: JSON.stringify({ result: rows?.map(row) }),
        told: { order, isGood: rows !== undefined, error },
      } as unknown as Exchange;
    },
  );
  const stays = watchers.map((plan) => ({ plan, joined: START + plan.from, left: START + plan.until }));
  const machines = requests.some(({ ahead }) => ahead) ? { ahead: 1_500 } : undefined;
  const world = {
    machines,
    ...{ start: START, offset: 0, drift: 0, network: "mainnet", createdAt: BORN, weekStart: "monday" },
    ...{ quirks, client: {} },
  };
  const swapsIn = ({ from, to }: { from: number; to: number }) =>
    minutes(Math.max(from, BORN), Math.min(to, lastSwap + 1)).map((timestamp) => ({
      ...{ timestamp, usdAmount: 1, tokenAmount: 1, nativeAmount: 1 },
    }));
  // What was answered before tells the time.
  const earlier = { url: "http://localhost/", sent: START - 20, received: START - 10, headers: {} };
  const told = [earlier, ...exchanges];
  const log = {
    plan: { world, feeds: [FEED], faults: [], healthyFrom: 0 },
    ...(storedUntil !== undefined && {
      store: {
        calls: [],
        before: new Map([["pair 1min usd", { covered: [{ from: BORN, to: storedUntil }] }]]),
      },
    }),
    source: { pair: () => ({ createdAt: BORN, swaps: swapsIn }) },
    activities: told.map(({ received }) => ({ at: received, value: { type: "response" } })),
    ...{ exchanges, told, stays },
  } as unknown as RunLog;
  const breaches: string[] = [];
  const breach = (promise: number, what: string) => breaches.push(`${promise}: ${what}`);
  await watchEconomy(log, { breach } as unknown as Context);
  return breaches;
}

/** The starts of the minutes in `[from, to)`. */
function minutes(from: number, to: number): number[] {
  const first = Math.ceil(from / MINUTE) * MINUTE;
  return Array.from(
    { length: Math.max(0, Math.ceil((to - first) / MINUTE)) },
    (_, at) => first + at * MINUTE,
  );
}

const watching = (until: number): WatcherPlan =>
  ({ kind: "candles", feed: FEED, options: SERIES, from: JOINED, until }) as WatcherPlan;
const fetching = (from: number, to: number): WatcherPlan =>
  ({ kind: "fetch", options: { ...SERIES, from, to }, from: 0, until: MINUTE }) as WatcherPlan;

/** A look at what may change. */
const look = (at: number): Asked => {
  const [from, to] = [START + at - 4 * MINUTE, START + at + MINUTE].map(
    (instant) => Math.floor(instant / MINUTE) * MINUTE,
  ) as [number, number];
  return { at: START + at, from, to: to + MINUTE, rows: minutes(from, START + at) };
};
const closings = (count: number) => Array.from({ length: count }, (_, at) => look((at + 1) * MINUTE + 1_000));
const read = (from: number, to: number, rows = minutes(from, to)): Asked => ({
  ...{ at: START + 100, from, to, rows },
  priority: "history",
});

describe("a poll", () => {
  it("may take one request a closing, and one on joining", async () => {
    expect(await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...closings(30)])).toEqual([]);
  });

  it("may take the pages of what a store lacks with its first look, where that is no more than half a page of a thousand", async () => {
    const pages = (missing: number) => {
      const first = look(JOINED + 1);
      const from = Math.floor(START / MINUTE) * MINUTE - missing * MINUTE;
      const size = Math.ceil((missing + 1) / 50);
      return Array.from({ length: size }, (_, at) => {
        const rows = minutes(from + at * 50 * MINUTE, Math.min(from + (at + 1) * 50 * MINUTE, START));
        const cursor = at === 0 ? undefined : `${at}`;
        return { ...first, from, rows, cursor };
      });
    };
    const isTooMuch = async (missing: number, storedUntil?: number) => {
      const market = { quirks: { pageSize: 50 }, ...(storedUntil !== undefined && { storedUntil }) };
      const asked = [...pages(missing), ...closings(30)];
      const breaches = await breachesOf([watching(31 * MINUTE)], asked, market);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(240, START - 240 * MINUTE)).toBe(false);
    expect(await isTooMuch(240)).toBe(true);
    expect(await isTooMuch(240, START - 20 * MINUTE)).toBe(true);
    expect(await isTooMuch(700, START - 700 * MINUTE)).toBe(true);
  });

  it("may not ask each closing twice, before the clock is known or after", async () => {
    const twice = closings(30).flatMap((asked) => [asked, { ...asked, at: asked.at + 1_000 }]);
    expect(await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...twice])).toEqual([
      expect.stringMatching(/^9: sends 61 requests for ohlcv pair 1min usd, 31 at most/),
      expect.stringMatching(/^9: sends \d+ requests for 18 closings of 1min/),
    ]);
  });

  it("asks again while two machines are told apart whose Dates contradict each other, and not for good", async () => {
    const twice = (count: number, from = 0) =>
      closings(30).flatMap((asked, at) =>
        at >= from && at < from + count ? [asked, { ...asked, at: asked.at + 20, ahead: 1_500 }] : [asked],
      );
    const watch = [watching(31 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), ...twice(8)])).toEqual([]);
    expect(await breachesOf(watch, [look(JOINED + 1), ...twice(8, 15)])).toEqual([]);
    expect((await breachesOf(watch, [look(JOINED + 1), ...twice(30)])).length).toBeGreaterThan(0);
    const ofOne = twice(8).map(({ ahead: _, ...asked }) => asked);
    expect((await breachesOf(watch, [look(JOINED + 1), ...ofOne])).length).toBeGreaterThan(0);
  });

  it("is tried again ever later where its answers lie about the time, and no sooner", async () => {
    const [first, second] = closings(2) as [Asked, Asked];
    const lying = (by: number) =>
      [0, 1, 2].map(() => ({ ...second, at: second.at + by, faults: ["wrongDate"] }));
    const asked = (...waits: number[]) =>
      breachesOf([watching(3 * MINUTE)], [look(JOINED + 1), first, ...waits.flatMap(lying)]);
    expect(await asked(0, 8_000, 24_000, 56_000)).toEqual([]);
    expect(await asked(0, 1_000, 2_000, 3_000)).toHaveLength(1);
  });

  it("is tried again ever later where nothing can be read of the first answers, and no sooner", async () => {
    const [first, second] = closings(2) as [Asked, Asked];
    const unreadable = (by: number) => ({
      ...first,
      at: first.at + by,
      rows: first.rows!.slice(-1),
      isBroken: true,
    });
    const asked = (pause: number) => {
      const tried = Array.from({ length: 24 }, (_, at) => unreadable(at * pause));
      return breachesOf([watching(3 * MINUTE)], [...tried, { ...second, at: second.at + MINUTE }]);
    };
    expect(await asked(4_500)).toEqual([]);
    expect(await asked(1_000)).toHaveLength(1);
  });

  it("asks once more for a candle that an answer lacks", async () => {
    const [first, second, ...others] = closings(9) as [Asked, Asked, ...Asked[]];
    const lacking = { ...second, rows: second.rows!.filter((timestamp) => timestamp !== first.rows!.at(-2)) };
    const again = (by: number) => ({ ...second, at: second.at + by });
    const watch = [watching(10 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), first, lacking, again(1_000), ...others])).toEqual([]);
    const repeats = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000].map(again);
    const asked = [look(JOINED + 1), first, lacking, ...repeats, ...others];
    expect(await breachesOf(watch, asked)).toHaveLength(1);
  });

  it("asks twice more, each time, where a cache gives the answer again that lacks a candle", async () => {
    const [first, second, ...others] = closings(9) as [Asked, Asked, ...Asked[]];
    const rows = second.rows!.filter((timestamp) => timestamp !== first.rows!.at(-2));
    const asked = (isCopy: boolean) => {
      const lacking = [second, ...others.slice(0, 4)].flatMap((slot, at) =>
        Array.from({ length: 3 }, (_, by) => ({
          ...{ ...slot, rows, at: slot.at + 1_000 * by },
          old: isCopy ? at * MINUTE + 1_000 * by : 0,
        })),
      );
      return breachesOf([watching(10 * MINUTE)], [look(JOINED + 1), first, ...lacking, ...others.slice(4)]);
    };
    expect(await asked(true)).toEqual([]);
    expect(await asked(false)).toHaveLength(1);
  });

  it("waits before it sends again what has failed", async () => {
    const { rows: _, ...failed } = look(MINUTE + 1_000);
    const later = (by: number) => ({ ...look(MINUTE + 1_000), at: failed.at + by });
    const others = closings(9).slice(1);
    const hasty = [50, 100, 150, 200, 250].map((by) => ({ ...failed, at: failed.at + by }));
    const watch = [watching(10 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), failed, later(8_000), ...others])).toEqual([]);
    expect(await breachesOf(watch, [look(JOINED + 1), failed, ...hasty, ...others])).toHaveLength(1);
  });

  it("asks twice more, and at once, where a cursor leads nowhere", async () => {
    const isTooMuch = async (times: number, error: NonNullable<Asked["error"]>, pause = 1_000) => {
      const asked = closings(30).flatMap(({ rows, ...lost }) => [
        ...Array.from({ length: times }, (_, at) => ({ ...lost, error, at: lost.at + at * pause })),
        { ...lost, rows: rows!, at: lost.at + times * pause },
      ]);
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(2, { path: ["cursor"] })).toBe(false);
    expect(await isTooMuch(3, { path: ["cursor"] })).toBe(true);
    expect(await isTooMuch(2, { path: ["result"] })).toBe(true);
    // A poll that has failed with it waits as after any failure.
    expect(await isTooMuch(1, { path: ["cursor"] }, 8_000)).toBe(false);
    expect(await isTooMuch(4, { path: ["cursor"] }, 3_000)).toBe(true);
  });

  it("retries where a cursor leads nowhere as after any failure", async () => {
    const isTooMuch = async (wait: number) => {
      const asked = closings(30).flatMap(({ rows, ...lost }) => {
        const error = { path: ["cursor"] };
        const failed = [0, wait, 3 * wait].map((by, at) => ({
          ...lost,
          error,
          at: lost.at + by,
          attempt: at + 1,
        }));
        return [...failed, { ...lost, rows: rows!, at: lost.at + 3 * wait + 8_000 }];
      });
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(500)).toBe(false);
    expect(await isTooMuch(100)).toBe(true);
  });

  it("may look for the beginning of a pair that shows no candle, and of no other", async () => {
    const watch = [watching(31 * MINUTE)];
    const looks = [look(JOINED + 1), ...closings(30)];
    const probe = (at: number): Asked => ({ ...looks[at]!, at: looks[at]!.at + 1_000, limit: 2 });
    const probed = looks.flatMap((asked, at) =>
      [14, 15, 16, 17].includes(at) ? [asked, probe(at)] : [asked],
    );
    const silent = probed.map((asked) => ({ ...asked, rows: [] }));
    expect(await breachesOf(watch, silent)).toEqual([]);
    expect(await breachesOf(watch, probed)).toContainEqual(
      expect.stringMatching(/^9: sends 22 requests for 18 closings of 1min/),
    );
    const twice = silent.flatMap((asked) =>
      asked.limit === 2 ? [asked] : [asked, { ...asked, at: asked.at + 500 }],
    );
    expect(await breachesOf(watch, twice)).toContainEqual(expect.stringMatching(/closings of 1min/));
  });

  it("may look ever more rarely for what it has shown and does not show any more", async () => {
    const isTooMuch = async (searched: number, rows?: readonly number[]) => {
      const asked = closings(30).flatMap((slot, at) => {
        if (at < 10) return [slot];
        const empty = { ...slot, rows: rows ?? [] };
        const probe = { ...empty, at: slot.at + 1_000, limit: 2 };
        return at < 10 + searched ? [empty, probe, probe, probe, probe] : [empty];
      });
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(10)).toBe(false);
    expect(await isTooMuch(20)).toBe(true);
    expect(await isTooMuch(10, minutes(START - 10 * MINUTE, START + 31 * MINUTE))).toBe(true);
  });
});

describe("a read", () => {
  it("may take the pages of its range, and one more where their number is not known", async () => {
    const [from, to] = [START - 1_500 * MINUTE, START];
    const middle = START - 700 * MINUTE;
    const again = Array.from({ length: 3 }, () => read(to - MINUTE, to));
    const pages = [read(from, middle), read(middle, to), read(to - MINUTE, to)];
    expect(await breachesOf([fetching(from, to)], pages)).toEqual([]);
    expect(await breachesOf([fetching(from, to)], [...pages, ...again])).toHaveLength(1);
  });

  it("is held to the newest candle that a poll has shown, for as long as answers show nothing at all", async () => {
    const from = START - 20 * MINUTE;
    const reader = { kind: "candles", feed: FEED, options: { ...SERIES, since: from } } as WatcherPlan;
    const watcher = { ...reader, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const empty = Array.from({ length: 6 }, () => ({ ...read(from, START, []), at: START + 3_000 }));
    const whole = { ...read(from, START), at: START + 4_000 };
    const [poll, closing] = [look(JOINED), look(MINUTE + 1_000)];
    expect(await breachesOf([watcher], [poll, ...empty, whole, closing])).toEqual([]);
    // Nothing says that these lack anything.
    expect(await breachesOf([watcher], [{ ...poll, rows: [] }, ...empty, whole, closing])).toHaveLength(1);
    const repeated = Array.from({ length: 6 }, () => whole);
    expect(await breachesOf([watcher], [poll, ...repeated, closing])).toHaveLength(1);
  });

  it("is held to no candle that lies in the margin of its range, as the end of that may be counted in", async () => {
    const from = START - 20 * MINUTE;
    const reader = { kind: "candles", feed: FEED, options: { ...SERIES, since: from } } as WatcherPlan;
    const watcher = { ...reader, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const [poll, closing] = [look(JOINED), look(MINUTE + 1_000)];
    const lacking = (shown: number) =>
      Array.from({ length: 4 }, () => ({ ...read(from, START, [shown]), at: START + 3_000 }));
    const whole = { ...read(from, START), at: START + 4_000 };
    expect(await breachesOf([watcher], [poll, ...lacking(START - MINUTE), whole, closing])).toEqual([]);
    const isShown = lacking(START - 2 * MINUTE).map((one) => ({ ...one, rows: poll.rows! }));
    expect(await breachesOf([watcher], [poll, ...isShown, whole, closing])).toHaveLength(1);
  });

  it("may take a request for each range of a long silence, each eight times as long as the one before", async () => {
    const options = { ...SERIES, since: { candles: 2 } };
    const watcher = { kind: "candles", feed: FEED, options, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const silent = (lengths: readonly number[]) =>
      breachesOf(
        [watcher],
        [
          { ...look(JOINED), rows: [] },
          ...lengths.map((length) => ({ ...read(START - length * MINUTE, START, []), at: START + 3_000 })),
          look(MINUTE + 1_000),
        ],
      );
    expect(await silent([1, 8, 64, 512, 4_096])).toEqual([]);
    expect(await silent([2, 3, 4, 5, 6])).toHaveLength(1);
  });

  it("may not ask for what lies between two ranges far apart", async () => {
    const hours = [START - 4_000 * MINUTE, START - 100 * MINUTE];
    const fetches = hours.map((from) => fetching(from, from + 60 * MINUTE));
    const reads = hours.map((from) => read(from, from + 60 * MINUTE));
    expect(await breachesOf(fetches, reads)).toEqual([]);
    const between = Array.from({ length: 4 }, (_, at) => read(hours[0]! + at * 1_000 * MINUTE, hours[1]!));
    expect(await breachesOf(fetches, [...reads, ...between])).toHaveLength(1);
  });

  it("may confirm the silence at its beginning once", async () => {
    const [from, to] = [BORN - 100 * MINUTE, BORN + 100 * MINUTE];
    const silence = read(from, BORN, []);
    const rest = read(from, to, minutes(BORN, to));
    expect(await breachesOf([fetching(from, to)], [silence, rest])).toEqual([]);
    expect(
      await breachesOf([fetching(from, to)], [silence, silence, silence, silence, silence, rest]),
    ).toHaveLength(1);
  });

  it("may confirm a silence at its end once, of a service that gives the oldest first", async () => {
    const [from, to] = [START - 100 * MINUTE, START];
    const lastSwap = to - 10 * MINUTE;
    const asked = (silences: number) => [
      read(from, to, minutes(from, lastSwap + 1)),
      ...Array.from({ length: silences }, () => read(lastSwap + MINUTE, to, [])),
    ];
    const breaches = (silences: number, market: Market) =>
      breachesOf([fetching(from, to)], asked(silences), market);
    const quirks = { order: "oldest-first" } as const;
    // Two requests more than that nobody notices.
    expect(await breaches(3, { lastSwap, quirks })).toEqual([]);
    expect(await breaches(4, { lastSwap, quirks })).toHaveLength(1);
    expect(await breaches(3, { quirks })).toHaveLength(1);
    expect(await breaches(3, { lastSwap })).toHaveLength(1);
  });
});
