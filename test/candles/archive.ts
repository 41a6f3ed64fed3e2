import { SeriesReader } from "../../src/candles/reader.js";
import type { ClientActivity } from "../../src/client/activity.js";
import type { Ask, ClientCore, Exchange } from "../../src/client/core.js";
import { unknownClock } from "../../src/client/service-clock.js";
import { walkOf } from "../../src/client/walk.js";
import type { Series } from "../../src/contract.js";
import { ContractError, HttpError } from "../../src/errors.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";
import { intervalsOf } from "../../src/timeframe.js";

/** How a service with candles in memory answers. */
export interface Habits {
  /** Starts of intervals, ascending. */
  readonly times: readonly number[];
  readonly series?: Partial<Series>;
  /** Rows a page at most, whatever the limit asked for. */
  readonly pageSize?: number;
  readonly order?: "descending" | "ascending" | "shuffled";
  /** Whether candles that start just at a bound are in the range. */
  readonly includesFrom?: boolean;
  readonly includesTo?: boolean;
  /** A full page has a cursor, though no row may be left. */
  readonly isEager?: boolean;
  /** Each page after the first begins with the last row of the one before. */
  readonly repeats?: boolean;
  /** A range that starts before is empty. */
  readonly strictBefore?: number;
  /** What the sniper report says of the pair's creation; absent: 404. */
  readonly createdAt?: number | null;
  /** Another row in the place of one, by timestamp, or one more by a key of its own. */
  readonly broken?: ReadonlyMap<number, object>;
  readonly attempts?: number;
}

export const NOW = Date.UTC(2024, 5, 1);

/** The core of a client before such a service, and what was asked of it. */
export function archive(habits: Habits) {
  const series: Series = {
    network: "mainnet",
    pairAddress: "pair",
    timeframe: "1min",
    currency: "usd",
    ...habits.series,
  };
  const intervals = intervalsOf(series.timeframe);
  const asked = { pages: 0, reports: 0 };
  const told: ClientActivity[] = [];
  const answer = (route: string) => {
    const url = new URL(route, "https://service.test");
    if (!url.pathname.endsWith("/snipers")) return pageOf(habits, series, url.searchParams, asked);
    asked.reports += 1;
    if (habits.createdAt === undefined) throw new HttpError("no such pair", 404, "");
    const { createdAt } = habits;
    return JSON.stringify({ blockTimestamp: createdAt === null ? null : new Date(createdAt).toISOString() });
  };
  const send = async <T>({ route, parse, signal }: Ask<T>): Promise<Exchange<T>> => {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const text = answer(route);
      try {
        const instant = { earliest: NOW, latest: NOW };
        return { value: parse(text), trip: { sent: NOW, received: NOW, date: NOW }, instant, epoch: 0 };
      } catch (error) {
        if (!(error instanceof ContractError) || attempt >= (habits.attempts ?? 1)) throw error;
      }
    }
  };
  const core: Omit<ClientCore, "spending"> = {
    scheduler: new VirtualClock(NOW),
    retry: { attempts: 1, baseDelay: 1, maxDelay: 1 },
    serviceClock: () => unknownClock,
    send,
    walk: (walk) => walkOf(send, walk),
    report: (activity) => told.push(activity),
    shared: new Map(),
  };
  const reader = (options = { skipsRows: true }, of: Partial<Series> = {}) => {
    const other = { ...series, ...of };
    return new SeriesReader(core as ClientCore, other, intervalsOf(other.timeframe), options);
  };
  return { intervals, asked, told, reader };
}

function pageOf(
  habits: Habits,
  series: Series,
  parameters: URLSearchParams,
  asked: { pages: number },
): string {
  asked.pages += 1;
  const { pageSize = 1_000, includesFrom = true, includesTo = false, strictBefore = 0 } = habits;
  const from = Number(parameters.get("fromDate")) * 1_000 + (includesFrom ? 0 : 1);
  const to = Number(parameters.get("toDate")) * 1_000 + (includesTo ? 1 : 0);
  const isHidden = Number(parameters.get("fromDate")) * 1_000 < strictBefore;
  const found = isHidden
    ? []
    : habits.times.slice(firstFrom(habits.times, from), firstFrom(habits.times, to));
  if (habits.order !== "ascending") found.reverse();
  const offset = Number(parameters.get("cursor") ?? 0);
  const end = offset + Math.min(pageSize, Number(parameters.get("limit")));
  const served = found.slice(habits.repeats && offset > 0 ? offset - 1 : offset, end);
  if (habits.order === "shuffled") served.sort((a, b) => ((a * 7_919) % 10_007) - ((b * 7_919) % 10_007));
  const hasNext = habits.isEager ? served.length > 0 && found.length >= end : found.length > end;
  const rows: object[] = served.map((timestamp) => habits.broken?.get(timestamp) ?? rowOf(timestamp));
  for (const [key, row] of habits.broken ?? []) if (!habits.times.includes(key)) rows.push(row);
  return JSON.stringify({
    cursor: hasNext ? String(end) : null,
    page: 1,
    pairAddress: series.pairAddress,
    timeframe: parameters.get("timeframe"),
    currency: series.currency,
    result: rows,
  });
}

export function rowOf(timestamp: number, fields: object = {}): object {
  const iso = new Date(timestamp).toISOString();
  return { timestamp: iso, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1, ...fields };
}

/** The index of the first time that is not before an instant. */
function firstFrom(times: readonly number[], instant: number): number {
  let low = 0;
  for (let high = times.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (times[middle]! < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
