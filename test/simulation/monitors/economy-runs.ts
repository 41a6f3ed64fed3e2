import type { ServiceQuirks } from "../../../src/service/index.js";
import type { Exchange } from "../exchanges.js";
import type { FeedPlan, WatcherPlan } from "../plan.js";
import type { RunLog } from "../run-log.js";
import { watchEconomy } from "./economy.js";
import type { Context } from "./monitor.js";

export const MINUTE = 60_000;
export const START = Date.UTC(2024, 5, 3);
/** The first swap; from then on there is one a minute, but for a silence that a test asks for. */
export const BORN = START - 5_000 * MINUTE;
/** When somebody joins, after the closing of the interval before. */
export const JOINED = 2_000;
export const SERIES = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
} as const;
export const FEED = {
  series: SERIES,
  every: "close",
  settle: 1_000,
  revisionWindow: 2,
  weekStart: "monday",
  period: MINUTE,
} as unknown as FeedPlan;

export interface Asked {
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
  readonly error?: { readonly path: readonly string[]; readonly name?: string };
  readonly limit?: number;
  readonly cursor?: string | undefined;
  /** The cursor of its answer. */
  readonly next?: string | undefined;
  /** By which machine's clock it is answered, ms ahead of the one that is behind; default 0. */
  readonly ahead?: number;
  /** How old the copy of a cache is, ms; default: it is none. */
  readonly old?: number;
}

export interface Market {
  readonly quirks?: ServiceQuirks;
  /** Until when a store has all of it; default: there is no store. */
  readonly storedUntil?: number;
  /** From when on; default: the beginning. */
  readonly storedFrom?: number;
  /** Whether a read of it fails once everybody has come. */
  readonly storeFails?: boolean;
  /** Default: there is no last one. */
  readonly lastSwap?: number;
  /** When the client says that the service's clock has jumped. */
  readonly jumps?: readonly number[];
  /** What another client with the same store has asked for before. */
  readonly earlier?: readonly Asked[];
}

/** What a run breaks: a feed or calls from START on, and all that was asked for. */
export async function breachesOf(
  watchers: readonly WatcherPlan[],
  requests: readonly Asked[],
  {
    quirks = {},
    storedUntil,
    storedFrom = BORN,
    storeFails,
    lastSwap = Number.POSITIVE_INFINITY,
    jumps = [],
    earlier = [],
  }: Market = {},
): Promise<string[]> {
  const exchanges = exchangesOf(requests);
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
  const first = { url: "http://localhost/", sent: START - 20, received: START - 10, headers: {} };
  const told = [first, ...exchanges];
  const log = {
    plan: { world, feeds: [FEED], faults: [], healthyFrom: 0 },
    ...(storedUntil !== undefined && {
      store: {
        calls: storeFails
          ? [{ series: "pair 1min usd", operation: "read", at: START + 1_000, ended: undefined }]
          : [],
        before: new Map([["pair 1min usd", { covered: [{ from: storedFrom, to: storedUntil }] }]]),
      },
    }),
    source: { pair: () => ({ createdAt: BORN, swaps: swapsIn }) },
    activities: [
      ...told.map(({ received }) => ({ at: received, value: { type: "response" } })),
      ...jumps.map((at) => ({ at, value: { type: "clock", jumped: true } })),
    ],
    ...{ exchanges, told, stays },
    earlier: [{ exchanges: exchangesOf(earlier) }],
  } as unknown as RunLog;
  const breaches: string[] = [];
  const breach = (promise: number, what: string) => breaches.push(`${promise}: ${what}`);
  await watchEconomy(log, { breach } as unknown as Context);
  return breaches;
}

/** The starts of the minutes in `[from, to)`. */
export function minutes(from: number, to: number): number[] {
  const first = Math.ceil(from / MINUTE) * MINUTE;
  return Array.from(
    { length: Math.max(0, Math.ceil((to - first) / MINUTE)) },
    (_, at) => first + at * MINUTE,
  );
}

export const watching = (until: number): WatcherPlan =>
  ({ kind: "candles", feed: FEED, options: SERIES, from: JOINED, until }) as WatcherPlan;
export const fetching = (from: number, to: number): WatcherPlan =>
  ({ kind: "fetch", options: { ...SERIES, from, to }, from: 0, until: MINUTE }) as WatcherPlan;

/** A look at what may change. */
export const look = (at: number): Asked => {
  const [from, to] = [START + at - 4 * MINUTE, START + at + MINUTE].map(
    (instant) => Math.floor(instant / MINUTE) * MINUTE,
  ) as [number, number];
  return { at: START + at, from, to: to + MINUTE, rows: minutes(from, START + at) };
};
export const closings = (count: number) =>
  Array.from({ length: count }, (_, at) => look((at + 1) * MINUTE + 1_000));
export const read = (from: number, to: number, rows = minutes(from, to)): Asked => ({
  ...{ at: START + 100, from, to, rows },
  priority: "history",
});

function exchangesOf(requests: readonly Asked[]): Exchange[] {
  return requests.map(
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
        next,
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
        body: JSON.stringify({ result: rows?.map(row), cursor: next }),
        told: { order, isGood: rows !== undefined, error },
      } as unknown as Exchange;
    },
  );
}
