import type { Candle, Series, Timeframe } from "../../src/index.js";
import { type Intervals, intervalsOf } from "./calendar.js";
import { type Exchange, hasFalseDate } from "./exchanges.js";
import type { RunLog } from "./run-log.js";

/** What a URL asks for; `series` names pair, timeframe and currency in one. */
export interface Asked {
  readonly kind: "ohlcv" | "snipers";
  readonly pair: string;
  readonly series: string;
  /** ms; as sent, so one interval wider than what is wanted. */
  readonly from: number;
  readonly to: number;
  readonly cursor: string | undefined;
}

/** One answer of candles that the client took in. */
export interface Read {
  readonly exchange: Exchange;
  readonly asked: Asked;
  /** Of each interval all the rows that are in order. */
  readonly rows: ReadonlyMap<number, readonly Candle[]>;
  readonly broken: ReadonlySet<number>;
  readonly hasUnidentifiedRow: boolean;
  readonly served: number;
  readonly cursor: string | undefined;
}

/** All pages of one range. */
export interface Look {
  readonly asked: Asked;
  readonly isHistory: boolean;
  /** The service's clock at its first page. */
  readonly answeredAt: number;
  /** Until when it tells what the service knew: up to then, or less where a replica lags. */
  readonly asOf: number;
  /** How old that was when a cache gave it, ms. */
  readonly old: number;
  /** The service's clock when it made that page: a copy was made with its original. */
  readonly madeAt: number;
  /** The request for its first page, and when that went out which was answered. */
  readonly url: string;
  readonly sent: number;
  readonly received: number;
  /** How many exchanges had been told of when its last page had come. */
  readonly order: number;
  readonly rows: ReadonlyMap<number, readonly Candle[]>;
  readonly broken: ReadonlySet<number>;
  readonly hasUnidentifiedRow: boolean;
  /** Whether its `Date` was wrong or absent. */
  readonly isTimeDoubtful: boolean;
  /** What has struck one of its pages. */
  readonly faults: readonly string[];
}

export function askedBy(url: string): Asked {
  const { pathname, searchParams } = new URL(url);
  const [, pair = "", kind = ""] = /\/pairs\/([^/]+)\/(\w+)$/.exec(pathname) ?? [];
  const timeframe = searchParams.get("timeframe") ?? "";
  const currency = searchParams.get("currency") ?? "";
  return {
    kind: kind as Asked["kind"],
    pair,
    series:
      kind === "ohlcv"
        ? `${pair} ${timeframe} ${currency}`
        : `${pair} ${searchParams.get("blocksAfterCreation")}`,
    from: Number(searchParams.get("fromDate")) * 1_000,
    to: Number(searchParams.get("toDate")) * 1_000,
    cursor: searchParams.get("cursor") ?? undefined,
  };
}

/** The name of what is asked for of a series. */
export function seriesNameOf({ pairAddress, timeframe, currency }: Series): string {
  return `${pairAddress} ${timeframe} ${currency}`;
}

const known = new WeakMap<Exchange, Read | null>();

/** The rows of a body; `undefined` where it is no page at all. */
export function readBody(exchange: Exchange, asked: Asked): Read | undefined {
  let read = known.get(exchange);
  if (read === undefined) {
    read = parseBody(exchange, asked) ?? null;
    known.set(exchange, read);
  }
  return read ?? undefined;
}

function parseBody(exchange: Exchange, asked: Asked): Read | undefined {
  let page: { cursor?: unknown; result?: unknown; timeframe?: unknown };
  try {
    page = JSON.parse(exchange.body ?? "");
  } catch {
    return undefined;
  }
  if (page === null || typeof page !== "object" || !Array.isArray(page.result)) return undefined;
  const timeframe = asked.series.split(" ")[1] as Timeframe;
  const starts = [
    intervalsOf(timeframe),
    ...(timeframe === "1w" ? [intervalsOf(timeframe, "thursday")] : []),
  ];
  const rows = new Map<number, Candle[]>();
  const broken = new Set<number>();
  let hasUnidentifiedRow = false;
  for (const row of page.result) {
    const timestamp = instantIn(row?.timestamp);
    const isStart = !Number.isNaN(timestamp) && starts.some(({ start }) => start(timestamp) === timestamp);
    const candle = isStart ? candleIn(row, timestamp) : undefined;
    if (candle !== undefined) rows.set(timestamp, [...(rows.get(timestamp) ?? []), candle]);
    else if (Number.isNaN(timestamp)) hasUnidentifiedRow = true;
    else for (const { start } of starts) broken.add(start(timestamp));
  }
  const cursor = typeof page.cursor === "string" && page.cursor !== "" ? page.cursor : undefined;
  return { exchange, asked, rows, broken, hasUnidentifiedRow, served: page.result.length, cursor };
}

/** The service writes instants in one way only. */
function instantIn(text: unknown): number {
  const ms = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) || new Date(ms).toISOString() !== text ? Number.NaN : ms;
}

/** A number that is written as a text is that number. */
export function asNumber(value: unknown): unknown {
  return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))
    ? Number(value)
    : value;
}

function candleIn(row: Record<string, unknown> | null, timestamp: number): Candle | undefined {
  if (row === null || Number.isNaN(timestamp)) return undefined;
  const isAmount = (value: unknown): value is number =>
    typeof value === "number" && value >= 0 && value <= 1e100;
  const { open, high, low, close, volume, trades, swaps = trades } = row;
  const values = [open, high, low, close, volume, swaps].map(asNumber);
  if (!values.every(isAmount)) return undefined;
  const [first, highest, lowest, last, amount, count] = values as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const candle = {
    timestamp,
    open: first,
    high: highest,
    low: lowest,
    close: last,
    volume: amount,
    swaps: count,
  };
  return candle.high < candle.low || !Number.isInteger(candle.swaps) ? undefined : candle;
}

/** The looks at each series, in the order in which they were done. */
export function looksOf(log: RunLog): ReadonlyMap<string, readonly Look[]> {
  const looks = new Map<string, Look[]>();
  /** Walks that are under way, by the cursor that goes on with them. */
  const walks = new Map<string, { pages: Read[]; used: Set<string> }>();
  for (const exchange of log.told) {
    const asked = askedBy(exchange.url);
    if (asked.kind !== "ohlcv") continue;
    if (!exchange.told?.isGood) {
      // A walk whose cursor leads nowhere has shown what it has shown, and nothing more.
      const begun = walks.get(`${asked.series} ${exchange.priority} ${asked.cursor}`);
      if (begun === undefined || exchange.told === undefined || !hasLedNowhere(exchange)) continue;
      const end = { received: exchange.received!, order: exchange.told.order + 1 };
      const shown = { ...lookOf(begun.pages, log), ...end, hasUnidentifiedRow: true };
      looks.set(asked.series, [...(looks.get(asked.series) ?? []), shown]);
      continue;
    }
    const read = readBody(exchange, asked);
    if (read === undefined) continue;
    const key = `${asked.series} ${exchange.priority} `;
    const found = asked.cursor === undefined ? undefined : walks.get(key + asked.cursor);
    const walk = found ?? { pages: [], used: new Set<string>() };
    if (asked.cursor !== undefined && found === undefined) continue;
    walk.pages.push(read);
    if (read.cursor !== undefined && !isRunPast(walk.pages)) {
      // Without rows, or led back to where it was, a walk has no end.
      if (read.served > 0 && !walk.used.has(read.cursor)) walks.set(key + read.cursor, walk);
      walk.used.add(read.cursor);
      const left = isLeft(read, log) ? leftLookOf(walk.pages, log) : undefined;
      if (left !== undefined) looks.set(asked.series, [...(looks.get(asked.series) ?? []), left]);
      continue;
    }
    const list = looks.get(asked.series) ?? [];
    looks.set(asked.series, list);
    list.push(lookOf(walk.pages, log));
  }
  return looks;
}

/** Whether the rows of a walk run from the newest to one before its range: then all of that has been shown, whatever follows. */
function isRunPast(pages: readonly Read[]): boolean {
  const { from, to } = pages[0]!.asked;
  const shown = pages.flatMap(({ rows }) => [...rows.keys()]);
  return (
    isDescending(shown) &&
    shown.at(-1)! < from &&
    shown.some((timestamp) => timestamp >= from && timestamp < to)
  );
}

/** Whether there are several, and each lies before the one that it follows. */
function isDescending(timestamps: readonly number[]): boolean {
  return timestamps.length > 1 && timestamps.every((each, at) => at === 0 || each <= timestamps[at - 1]!);
}

/** Whether a walk ends with a page although another one follows: that has failed or, of the past, there are enough rows. */
function isLeft({ exchange, asked, cursor }: Read, { told }: RunLog): boolean {
  for (const next of told.slice(told.indexOf(exchange) + 1)) {
    const { series, cursor: askedWith } = askedBy(next.url);
    if (series !== asked.series || next.priority !== exchange.priority) continue;
    const isAnswered = next.told?.isGood || (next.priority !== "history" && hasLedNowhere(next));
    if (askedWith === cursor && isAnswered) return false;
    if (!next.told?.isGood) continue;
    if (readBody(next, askedBy(next.url))?.cursor === cursor) return true;
  }
  return true;
}

/** Whether a page was refused as its cursor leads nowhere: it shows, and all before it have shown, what they have shown. */
function hasLedNowhere({ told }: Exchange): boolean {
  return (told?.error as { path?: readonly unknown[] } | undefined)?.path?.[0] === "cursor";
}

/** What a walk says that was left: all on this side of its last row, if a second page has shown which side that is, or rows that descend. */
function leftLookOf(pages: readonly Read[], log: RunLog): Look | undefined {
  const look = lookOf(pages, log);
  const ends = [...look.rows.keys(), ...look.broken];
  if (ends.length === 0 || (pages.length < 2 && !isDescending([...look.rows.keys()]))) return undefined;
  const { from, to } = look.asked;
  const isOldestFirst = log.plan.world.quirks.order === "oldest-first";
  const told = isOldestFirst ? { from, to: Math.max(...ends) + 1 } : { from: Math.min(...ends), to };
  return { ...look, asked: { ...look.asked, ...told } };
}

/** A fault gives copies of answers that are as young as this, ms. */
const COPIED_WITHIN = 2_000;

/** When the service made an answer: a fault may have given the copy of an earlier one to the same question. */
function madeAt(exchange: Exchange, { exchanges }: RunLog): number {
  if (!exchange.faults.includes("cached")) return exchange.answeredAt!;
  const original = exchanges.findLast(
    ({ id, url, body, answeredAt, faults }) =>
      id < exchange.id &&
      url === exchange.url &&
      body === exchange.body &&
      !faults.includes("cached") &&
      exchange.answeredAt! - (answeredAt ?? 0) < COPIED_WITHIN,
  );
  return original?.answeredAt ?? exchange.answeredAt!;
}

function lookOf(pages: readonly Read[], log: RunLog): Look {
  const first = pages[0]!;
  const last = pages.at(-1)!.exchange;
  const rows = new Map<number, readonly Candle[]>();
  for (const page of pages) {
    for (const [timestamp, list] of page.rows) rows.set(timestamp, [...(rows.get(timestamp) ?? []), ...list]);
  }
  return {
    asked: first.asked,
    isHistory: first.exchange.priority === "history",
    answeredAt: first.exchange.answeredAt!,
    asOf: first.exchange.answeredAt! - first.exchange.lag,
    old: first.exchange.old,
    madeAt: madeAt(first.exchange, log),
    url: first.exchange.url,
    sent: first.exchange.sent,
    received: last.received!,
    order: last.told!.order + 1,
    rows,
    broken: new Set(pages.flatMap(({ broken }) => [...broken]).filter((timestamp) => !rows.has(timestamp))),
    hasUnidentifiedRow: pages.some(({ hasUnidentifiedRow }) => hasUnidentifiedRow),
    isTimeDoubtful: pages.some(({ exchange }) => hasFalseDate(exchange)),
    faults: [...new Set(pages.flatMap(({ exchange }) => exchange.faults))],
  };
}

export function isSameCandle(a: Candle, b: Candle): boolean {
  return (
    a.timestamp === b.timestamp &&
    a.open === b.open &&
    a.high === b.high &&
    a.low === b.low &&
    a.close === b.close &&
    a.volume === b.volume &&
    a.swaps === b.swaps
  );
}

/**
 * Whether looks say that an interval has no candle, so that a client may take their word: one with other rows, or two
 * without any that no cache has given alike. One that lacks a candle before it which was known, and is there in `truth`, is
 * not whole, and shows that. `maySay`: whether a look can say so at all, as it came late enough; default: each can.
 */
export function isSaidAbsent(
  looks: readonly Look[],
  timestamp: number,
  truth: ReadonlyMap<number, unknown>,
  intervals: Intervals,
  maySay: (look: Look) => boolean = () => true,
): boolean {
  /** The first answer without any. */
  let empty: Look | undefined;
  // What a history has shown is not known to the poll, nor the other way round.
  const shown = { history: new Set<number>(), poll: new Set<number>() };
  /** Whether a candle that was asked for alone is gone, and no answer has held any candle since. */
  let isGone = false;
  for (const look of looks) {
    const known = shown[look.isHistory ? "history" : "poll"];
    if (look.rows.size > 0) isGone = false;
    // What comes empty after one that was gone takes the rest with it.
    if (isGone) for (const other of known) if (covers(look, other)) known.delete(other);
    // The candle that an answer has to hold is asked for with a margin of one interval.
    const margin = Math.min(timestamp, intervals.shift(intervals.start(look.asked.from), 2));
    const isWhole = !lacksOlder(
      look,
      // What starts just with the range may be left out of it.
      [...known].filter((other) => other > look.asked.from && truth.has(other)),
      margin,
    );
    if (covers(look, timestamp) && look.broken.has(timestamp)) return true;
    if (covers(look, timestamp) && !look.rows.has(timestamp) && isWhole && maySay(look)) {
      if (look.rows.size > 0 || look.hasUnidentifiedRow || look.broken.size > 0) return true;
      if (empty !== undefined && isAnother(empty, look)) return true;
      empty ??= look;
    }
    for (const other of look.rows.keys()) known.add(other);
    if (!isAboutOne(look.asked, intervals)) continue;
    // An answer about one candle alone says whether that is gone.
    for (const other of known) if (covers(look, other) && !look.rows.has(other)) known.delete(other);
    isGone ||= look.rows.size === 0;
  }
  return false;
}

/** Whether a request asks only whether there is anything in its range. */
export function isProbe({ url }: Pick<Exchange, "url">): boolean {
  return /[?&]limit=2(&|$)/.test(url);
}

/** Whether one candle alone is asked about. */
export function isAboutOne({ from, to }: Asked, intervals: Intervals): boolean {
  return to <= intervals.shift(intervals.start(from), 2);
}

/** Whether a look of a history is not one that a cache may have given twice: of another range, or a second later. */
function isAnother(before: Look, look: Look): boolean {
  return !look.isHistory || look.sent - before.sent >= 950 || look.url !== before.url;
}

/** Whether a look lacks one of the known candles from before an instant that it asked for. */
export function lacksOlder(look: Look, known: Iterable<number>, instant: number): boolean {
  for (const other of known) {
    if (other >= instant || !covers(look, other)) continue;
    if (!look.rows.has(other) && !isUnreadable(look, other)) return true;
  }
  return false;
}

/** Whether nothing is known of an interval from a look, although it was asked for. */
export function isUnreadable(look: Look, timestamp: number): boolean {
  return look.hasUnidentifiedRow || look.broken.has(timestamp);
}

/** Whether a look asked for an interval itself: what shows in the margins is not looked at. */
export function asksFor(look: Look, timestamp: number, intervals: Intervals): boolean {
  return timestamp >= intervals.shift(look.asked.from, 1) && timestamp < intervals.shift(look.asked.to, -1);
}

/** Whether a look covers an interval, the margin that it was sent with included. */
export function covers(look: Look, timestamp: number): boolean {
  return timestamp >= look.asked.from && timestamp < look.asked.to;
}
