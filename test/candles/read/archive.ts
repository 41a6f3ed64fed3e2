import fc from "fast-check";
import { expect } from "vitest";
import { type BackwardWalk, newestOf, readBackward } from "../../../src/candles/read/backward.js";
import { type FinalPart, readForward } from "../../../src/candles/read/forward.js";
import { ForwardWalk } from "../../../src/candles/read/forward-walk.js";
import { SeriesPages } from "../../../src/candles/read/pages.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import type { Call, CallResult, ClientCore } from "../../../src/client/core.js";
import { KnownPairs } from "../../../src/client/known-pairs.js";
import { unknownClock } from "../../../src/client/service-clock.js";
import type { Series, Timeframe } from "../../../src/contract/model.js";
import { beginning } from "../../../src/contract/quote.js";
import { ContractError, HttpError, NetworkError } from "../../../src/errors.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { intervalsOf } from "../../../src/timeframe.js";

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
  /** A candle that the beginning of a range cuts is in the range. */
  readonly includesCut?: boolean;
  /** A full page has a cursor, though no row may be left. */
  readonly isEager?: boolean;
  /** Each page after the first begins with the last row of the one before. */
  readonly repeats?: boolean;
  /** A range that starts before is empty. */
  readonly strictBefore?: number;
  /** These requests for candles, counted from 0, are answered empty, for no reason. */
  readonly whims?: ReadonlySet<number>;
  /** What these, counted likewise, leave out. */
  readonly lacking?: ReadonlyMap<number, readonly number[]>;
  /** For how long, in ms, a cache gives the same answer to the same question, and says how old it is. */
  readonly keeps?: number;
  /** It takes a question for another one with the same start. */
  readonly ignoresEnd?: boolean;
  /** The answers, counted from 0, of which nobody knows when they were made. */
  readonly doubts?: ReadonlySet<number>;
  /** These, counted likewise, fail. */
  readonly failures?: ReadonlySet<number>;
  /** What the sniper report says of the pair's creation; absent: 404. */
  readonly createdAt?: number | null;
  /** Another row in the place of one, by timestamp, or one more by a key of its own. */
  readonly broken?: ReadonlyMap<number, object>;
  readonly attempts?: number;
}

export const NOW = Date.UTC(2024, 5, 1);
export const START = Date.UTC(2024, 0, 1);
export const MINUTE = 60_000;
const options = { priority: "history", signal: new AbortController().signal } as const;
export const bounds = [
  { includesFrom: true, includesTo: false },
  { includesFrom: true, includesTo: true },
  { includesFrom: false, includesTo: false },
  { includesFrom: false, includesTo: true },
];

export const minute = (index: number) => START + index * MINUTE;
/** Starts of minutes, `count` of them every `step`, from minute `first` on. */
export const run = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, index) => minute(first + index * step));

/** Reads all of `[from, to)` and checks that the parts join. */
export async function partsOf(
  habits: Habits,
  from: number,
  to: number,
  // All that is read is past.
  shop = archive(habits, Math.max(NOW, to + 10 * MINUTE)),
) {
  const parts: FinalPart[] = [];
  for await (const part of shop.forward(from, () => to)) {
    expect(part.from).toBe(parts.at(-1)?.to ?? from);
    parts.push(part);
  }
  expect(parts.at(-1)?.to).toBe(to);
  return { ...shop, parts, got: timesOf(parts) };
}

/** Reads the last `count` candles before `until` and checks that the parts join. */
export async function lastOf(
  habits: Habits,
  count: number,
  until: number,
  shop = archive(habits, Math.max(NOW, until + 10 * MINUTE)),
) {
  const parts = await shop.backward(count, until);
  parts.forEach((part, index) => {
    if (index > 0) expect(part.from).toBe(parts[index - 1]!.to);
  });
  return { ...shop, parts, got: timesOf(parts) };
}

export const timesOf = (parts: readonly FinalPart[]) =>
  parts.flatMap(({ candles }) => candles.map(({ timestamp }) => timestamp));

/** The core of a client before such a service, and what was asked of it. */
export function archive(habits: Habits, now = NOW) {
  const series: Series<Timeframe> = {
    network: "mainnet",
    pairAddress: "pair",
    timeframe: "1min",
    currency: "usd",
    ...(habits.series as Partial<Series<Timeframe>>),
  };
  const intervals = intervalsOf(series.timeframe);
  const asked = { pages: 0, reports: 0 };
  const answer = (route: string) => {
    const url = new URL(route, "https://service.test");
    if (!url.pathname.endsWith("/snipers")) return answerOf(habits, series, url.searchParams, asked);
    asked.reports += 1;
    if (habits.createdAt === undefined) throw new HttpError("no such pair", 404, "");
    const { createdAt } = habits;
    return JSON.stringify({ blockTimestamp: createdAt === null ? null : new Date(createdAt).toISOString() });
  };
  const clock = impatient(new VirtualClock(now));
  const copies = new Map<string, { text: string; at: number }>();
  const cached = (route: string) => {
    const question = habits.ignoresEnd ? route.replace(/&toDate=.*/, "") : route;
    const copy = copies.get(question);
    if (copy !== undefined && clock.now() - copy.at < (habits.keeps ?? 0)) return copy;
    const made = { text: answer(route), at: clock.now() };
    copies.set(question, made);
    return made;
  };
  const send = async <T>({ route, parse, signal }: Call<T>): Promise<CallResult<T>> => {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const { text, at } = cached(typeof route === "string" ? route : route(clock.now()));
      try {
        return {
          value: parse(text, beginning),
          observedAt: at,
          epoch: 0,
          isInDoubt: habits.doubts?.has(asked.pages - 1) ?? false,
        };
      } catch (error) {
        if (!(error instanceof ContractError) || attempt >= (habits.attempts ?? 1)) throw error;
      }
    }
  };
  const dropped: (number | string | null)[] = [];
  const core: Omit<ClientCore, "spending" | "timeout" | "rateLimit" | "parts" | "metering"> = {
    service: "http://archive",
    scheduler: clock,
    retry: { attempts: 1, baseDelay: 1, maxDelay: 1 },
    serviceClock: () => unknownClock,
    send,
    report: (told) => void (told.type === "dropped" && dropped.push(told.key)),
    shared: new Map(),
    store: undefined,
    pairs: new KnownPairs(),
  };
  const rules: CandleRules = { intervals, settle: 1_000, revisionWindow: 2 };
  const newPages = () => new SeriesPages(core as ClientCore, series, intervals);
  const forward = (
    from: number,
    until: () => number,
    {
      skipsRows = true,
      anchors = [] as number[],
      known = [] as number[],
      walk = undefined as ForwardWalk | undefined,
    } = {},
  ) =>
    readForward(
      core as ClientCore,
      newPages(),
      rules,
      { from, until, anchors, known, skipsRows },
      options,
      walk,
    );
  const backward = async (count: number, until: number, walk: BackwardWalk = { parts: [] }) => {
    const query = { count, until: () => until, walk, skipsRows: true };
    return newestOf(await readBackward(core as ClientCore, newPages(), rules, query, options), count);
  };
  const wait = (ms: number) => clock.advanceBy(ms);
  const newWalk = () => new ForwardWalk(newPages(), rules);
  const took = () => clock.now() - now;
  return { asked, dropped, newPages, forward, newWalk, backward, wait, took };
}

/** A clock on which whatever is waited for comes at once. */
function impatient(clock: VirtualClock): VirtualClock {
  const { schedule } = clock;
  let advanced = Promise.resolve();
  return Object.assign(clock, {
    schedule(...[work, delay = 0, state]: Parameters<typeof schedule>) {
      // What is waited for within a turn comes after it.
      advanced = advanced.then(() => clock.advanceBy(delay));
      return schedule.call(clock, work, delay, state);
    },
  });
}

/** No test needs nearly as many: whoever asks without end is to be noticed. */
const MOST_PAGES = 5_000;

function answerOf(
  habits: Habits,
  series: Series<Timeframe>,
  parameters: URLSearchParams,
  asked: { pages: number },
): string {
  const isWhim = habits.whims?.has(asked.pages);
  const isFailure = habits.failures?.has(asked.pages);
  const lacking = habits.lacking?.get(asked.pages) ?? [];
  asked.pages += 1;
  if (isFailure) throw new NetworkError("the service is gone");
  if (asked.pages > MOST_PAGES) throw new Error("asks without end");
  const { pageSize = 1_000, includesFrom = true, includesTo = false, strictBefore = 0 } = habits;
  const fromDate = Number(parameters.get("fromDate")) * 1_000;
  const { start } = intervalsOf(series.timeframe);
  const from = (habits.includesCut ? start(fromDate) : fromDate) + (includesFrom ? 0 : 1);
  const to = Number(parameters.get("toDate")) * 1_000 + (includesTo ? 1 : 0);
  const isHidden = isWhim || fromDate < strictBefore;
  const found = isHidden
    ? []
    : habits.times.slice(firstFrom(habits.times, from), firstFrom(habits.times, to));
  if (habits.order !== "ascending") found.reverse();
  const offset = Number(parameters.get("cursor") ?? 0);
  const end = offset + Math.min(pageSize, Number(parameters.get("limit")));
  const served = found.slice(habits.repeats && offset > 0 ? offset - 1 : offset, end);
  if (habits.order === "shuffled") served.sort((a, b) => ((a * 7_919) % 10_007) - ((b * 7_919) % 10_007));
  const hasNext = habits.isEager ? served.length > 0 && found.length >= end : found.length > end;
  const shown = served.filter((timestamp) => !lacking.includes(timestamp));
  const rows: object[] = shown.map((timestamp) => habits.broken?.get(timestamp) ?? rowOf(timestamp));
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

/** Any pages, in any order, some of which fail. */
export const failingHabits = fc.record({
  pageSize: fc.constantFrom(1_000, 300, 100),
  order: fc.constantFrom("descending" as const, "ascending" as const, "shuffled" as const),
  repeats: fc.boolean(),
  isEager: fc.boolean(),
  failures: fc.array(fc.nat(60), { maxLength: 12 }).map((list) => new Set(list)),
});
