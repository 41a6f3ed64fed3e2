import { type Candle, intervalOf, type OhlcvPage } from "pairstream";
import type { Answer } from "./asker.js";
import { kindly, type Note, wrong } from "./notes.js";

/** A row as it was served. */
export type RawRow = Readonly<Record<string, unknown>>;

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PRICES = ["open", "high", "low", "close"] as const;
/** How far two clocks may be apart before that is told, in ms. */
const APART = 2_000;

export function rawRows({ body }: Answer): readonly RawRow[] {
  const { result } = (body ?? {}) as { result?: unknown };
  return Array.isArray(result) ? result : [];
}

/** When a raw row begins, ms since the epoch, where a reader of plain JSON sees it. */
export function startOf({ timestamp }: RawRow): number {
  return typeof timestamp === "string" ? Date.parse(timestamp) : Number(timestamp);
}

/** What is otherwise in a page that could be read. Without `limit` nothing is said of its length. */
export function pageNotes(answer: Answer, page: OhlcvPage, limit?: number): Note[] {
  const rows = rawRows(answer);
  const raw = answer.body as RawRow;
  const outside = rows.length - page.result.length;
  const seen = new Set(page.result.map(({ timestamp }) => timestamp));
  const notes: (Note | false)[] = [
    limit !== undefined && rows.length > limit && kindly(`${rows.length} rows, though limit was ${limit}`),
    limit !== undefined &&
      rows.length < limit &&
      page.cursor !== undefined &&
      kindly(`a cursor after ${rows.length} of ${limit} rows`),
    outside > 0 && kindly(`rows outside of the range: ${outside}`),
    seen.size < page.result.length && kindly(`rows that come twice: ${page.result.length - seen.size}`),
    orderOf(page.result) === "oldest" && kindly("the oldest candles come first, which costs more requests"),
    orderOf(page.result) === "none" && kindly("rows in no order"),
    typeof raw.page === "string" && kindly("page is a text"),
    ...rowNotes(rows),
    ...page.result.map(impossible),
  ];
  return notes.filter((note) => note !== false);
}

function rowNotes(rows: readonly RawRow[]): (Note | false)[] {
  const some = (passes: (row: RawRow) => boolean) => rows.some(passes);
  return [
    some((row) => row.swaps === undefined) && kindly("trades in place of swaps"),
    some((row) => PRICES.some((name) => typeof row[name] === "string")) && kindly("numbers are texts"),
    some(({ timestamp }) => typeof timestamp === "number") && kindly("timestamps are numbers"),
    some(({ timestamp }) => typeof timestamp === "string" && !UTC.test(timestamp)) &&
      kindly("timestamps are not as 2025-01-03T12:00:00.000Z"),
    some((row) => Number(row.swaps ?? row.trades) === 0) && kindly("intervals without swaps have rows"),
  ];
}

function impossible({ timestamp, open, high, low, close }: Candle): Note | false {
  const isPossible = low <= Math.min(open, close) && high >= Math.max(open, close);
  return (
    !isPossible &&
    wrong(`the candle of ${new Date(timestamp).toISOString()} closes or opens outside of low and high`)
  );
}

export function orderOf(candles: readonly Candle[]): "newest" | "oldest" | "none" {
  const steps = candles.slice(1).map(({ timestamp }, at) => timestamp - candles[at]!.timestamp);
  if (steps.every((step) => step <= 0)) return "newest";
  return steps.every((step) => step >= 0) ? "oldest" : "none";
}

/** What an answer's headers say, and whether its candles can be of its time. */
export function headerNotes({ header, at }: Answer, { result, timeframe }: OhlcvPage): Note[] {
  const date = Date.parse(header("date") ?? "");
  const now = Number.isNaN(date) ? at : date;
  const apart = now - at;
  const age = Number(header("age") ?? 0);
  const ahead = result.filter(({ timestamp }) => timestamp > intervalOf(timeframe, now + APART).start);
  const seconds = (Math.abs(apart) / 1_000).toFixed(0);
  const notes: (Note | false)[] = [
    Number.isNaN(date) && kindly("no Date: this machine's clock decides when a candle closes"),
    Math.abs(apart) > APART &&
      kindly(`Date is ${seconds} s ${apart > 0 ? "ahead of" : "behind"} the clock of this machine`),
    age > 0 && kindly(`a cache has kept the answer for ${age} s`),
    header("x-request-weight") === null && kindly("no X-Request-Weight: candles count as 150 units"),
    ahead.length > 0 && wrong(`candles that begin after the answer was made: ${ahead.length}`),
  ];
  return notes.filter((note) => note !== false);
}
