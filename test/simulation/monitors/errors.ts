import type { Timeframe } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import type { Exchange } from "../exchanges.js";
import { askedBy, type Read, readBody } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { APART } from "./evidence.js";
import type { Context, Monitor } from "./monitor.js";

/** Those that leave a cursor which leads nowhere, or an answer that may hold one. */
const CURSOR_FAULTS: readonly string[] = ["emptyPage", "loopingCursor", "dripping", "longCursor", "cached"];
/** More wallets than any pair has, and of candles what a range holds beyond its own, at its bounds and by other weeks. */
const MOST_WALLETS = 10_000;
const MARGIN = 4;
const REPORT_FIELDS: readonly string[] = ["blockNumber", "blockTimestamp", "transactionHash", "result"];
const FATAL: readonly (number | undefined)[] = [400, 401, 403, 410, 424];
/** Those that end a stream to which nothing has come yet. */
const FATAL_AT_FIRST: readonly (number | undefined)[] = [0, 301, 302, 303, 307, 308, 402];

/** Promise 8: streams outlive trouble, calls fail when their retries are exhausted, rows are given up on the third read. */
export const watchErrors: Monitor = (log, context) => {
  for (const stay of log.stays) {
    const isStream =
      stay.plan.kind.includes("status") || stay.plan.kind === "candles" || stay.plan.kind === "snipers";
    if (stay.ended?.isError) checkError(log, stay, isStream, context);
    else if (stay.ended !== undefined && isStream)
      context.breach(8, `stream ${stay.id} completes`, stay.ended.at);
  }
  checkDropped(log, context);
  checkTaken(log, context);
};

function checkError(log: RunLog, stay: StayLog, isStream: boolean, context: Context) {
  const { at, order, value } = stay.ended!;
  const breach = (what: string) =>
    context.breach(8, `${stay.plan.kind} ${stay.id} ends with ${String(value)}: ${what}`, at);
  if (!isOfLibrary(value)) return breach("no error of the library's");
  if (!isStream) return;
  const last = log.told.slice(0, order).filter(({ received }) => received === at || received === undefined);
  const hasBegun = stay.events.length > 0 || stay.statuses.some(({ value }) => value.state !== "starting");
  const fatal = hasBegun ? FATAL : [...FATAL, ...FATAL_AT_FIRST];
  const isFatal = last.some(
    ({ status, faults }) => fatal.includes(status) && !faults.includes("spent quota"),
  );
  if (isFatal) return;
  // Enough answers of these kinds end a stream to which nothing has come yet; the monitor of missing pairs counts them.
  const { status, name } = value as { status?: number; name: string };
  if (status !== 404 && (name !== "ContractError" || hasBegun)) breach("which passes");
}

/** The names of the library's errors, as its documents list them. */
const ERRORS: readonly unknown[] = [
  "HttpError",
  "AuthenticationError",
  "QuotaExceededError",
  "RateLimitError",
  "TimeoutError",
  "NetworkError",
  "ContractError",
  "InvalidInputError",
];

function isOfLibrary(value: unknown): boolean {
  return value instanceof Error && ERRORS.includes(value.name);
}

/** In so many answers a row must have been broken until it is given up; copies of one, by a cache, are one. */
const READS = 3;

/** A row is given up only when three answers have had it broken, one after another. */
function checkDropped(log: RunLog, context: Context) {
  for (const { at, order, value } of log.activities) {
    if (value.type !== "dropped" || typeof value.key === "string") continue;
    const { kind, series } = askedBy(`http://service${value.url}`);
    if (kind !== "ohlcv") continue;
    const { key } = value;
    // Of a row at no interval's start only that is known in which interval it lies.
    const [, timeframe] = series.split(" ") as [string, Timeframe];
    const weeks = ["monday", "thursday"] as const;
    const starts = weeks.map((week) => key !== null && intervalsOf(timeframe, week).start(key));
    // Who reads a history knows nothing of what polls have shown, nor the other way round, nor of another history.
    const made = new Map<number | "any" | "poll", number[]>();
    for (const exchange of log.told.slice(0, order)) {
      const asked = askedBy(exchange.url);
      // Of what the client could not use, such as too many rows, it has read none.
      if (asked.series !== series || exchange.status !== 200 || !exchange.told!.isGood) continue;
      const read = readBody(exchange, asked);
      if (read === undefined || exchange.answeredAt === undefined) continue;
      const isBroken = starts.some((start) => start !== false && read.broken.has(start));
      for (const reader of exchange.priority === "history"
        ? (["any", asked.from] as const)
        : (["poll"] as const)) {
        const before = made.get(reader) ?? [];
        if (key === null ? read.hasUnidentifiedRow : isBroken)
          made.set(reader, [...before, seemsMadeAt(exchange, log)]);
        else if (key !== null && read.rows.has(key)) made.delete(reader);
      }
    }
    const reads = Math.max(0, ...[...made.values()].map((answers) => new Set(answers).size));
    const row = key === null ? "a row" : `the row of ${new Date(key).toISOString()}`;
    if (reads < READS) context.breach(8, `${row} of ${value.url} is dropped after ${reads} reads`, at);
  }
}

/**
 * When an answer was made, as far as can be known. Without a `Date` the copy of one that was under way for a second may look
 * like another one.
 */
function seemsMadeAt({ answeredAt, old, headers }: Exchange, { told }: RunLog): number {
  const original = told.find((other) => other.answeredAt === answeredAt && other.old === 0);
  const wasSlow = original !== undefined && original.endedAt! - original.sent >= APART;
  return wasSlow && headers.date === undefined ? answeredAt! + old : answeredAt!;
}

/** Whether a body is a sniper report: any of its fields may be missing, but not all, and it has no end of wallets. */
function isReport(body: string): boolean {
  try {
    const report = Object(JSON.parse(body)) as { result?: { length: number } | null };
    const wallets = report.result?.length ?? 0;
    return wallets <= MOST_WALLETS && REPORT_FIELDS.some((field) => Object.hasOwn(report, field));
  } catch {
    return false;
  }
}

/** Whether a page holds more rows than its range, each of them twice. */
function isFlooded({ asked, served }: Read): boolean {
  const [, timeframe] = asked.series.split(" ");
  return served > 2 * (intervalsOf(timeframe as Timeframe).count(asked.from, asked.to) + MARGIN);
}

function isMadeUp(cursor: string | undefined): boolean {
  return cursor?.startsWith("withFaults.") === true;
}

/** Whether a page may be one whose cursor leads nowhere. */
function isUnfinished({ exchange, asked, served, cursor = "" }: Read): boolean {
  const isStruck = exchange.faults.some((kind) => CURSOR_FAULTS.includes(kind));
  return (cursor !== "" && (served === 0 || isStruck)) || isMadeUp(cursor) || isMadeUp(asked.cursor);
}

/** Bodies that are no answer are refused, and those that are in order are taken; no request is one that the service refuses. */
function checkTaken(log: RunLog, context: Context) {
  for (const exchange of log.told) {
    if (exchange.status === undefined) continue;
    const { faults, body = "", received } = exchange;
    if (exchange.status === 400 && !faults.includes("400"))
      context.breach(8, `asks for what is refused: ${exchange.url.slice(0, 200)}`, received!);
    const asked = askedBy(exchange.url);
    if (asked.kind !== "ohlcv") {
      if (exchange.told!.isGood && !isReport(body))
        context.breach(8, `takes for a report ${body.slice(0, 60)}`, received!);
      continue;
    }
    const read = exchange.status === 200 ? readBody(exchange, asked) : undefined;
    const isClean = read !== undefined && read.broken.size === 0 && !read.hasUnidentifiedRow;
    if (read === undefined && exchange.told!.isGood)
      context.breach(8, `takes ${body.slice(0, 60)}`, received!);
    if (read !== undefined && exchange.told!.isGood && isFlooded(read))
      context.breach(8, `takes ${read.served} rows`, received!);
    if (isClean && !isUnfinished(read) && !exchange.told!.isGood)
      context.breach(8, `refuses a good answer: ${String(exchange.told!.error)}`, received!);
  }
}
