import * as z from "zod/mini";
import { ContractError } from "../errors.js";
import { isAmount, isCount, LARGEST_AMOUNT, wrongFieldOf } from "./candle-numbers.js";
import { LATEST_INSTANT } from "./input.js";
import { parseIsoInstant } from "./iso-instant.js";
import { parseJson } from "./json.js";
import {
  type Candle,
  type OhlcvPage,
  type Series,
  SNIPER_TOTALS,
  type Sniper,
  type SniperReport,
  type SniperTotal,
  type Timeframe,
} from "./model.js";
import { type Quote, shortened } from "./quote.js";
import { type Flaw, flawOf, frozen, listOf, name, orNull, printableText } from "./schemas.js";

const NO_INSTANT = "not an instant: ISO 8601 with a zone, or seconds or ms since the epoch";
const NO_AMOUNT = `not a number from 0 to ${LARGEST_AMOUNT}`;
const NO_COUNT = "not a whole number of at least 0";

/** The longest cursor in characters: it has to fit into a URL. */
export const LONGEST_CURSOR = 4_096;
/** The most rows per answer, whatever the request's limit is. Some services send 10,000. */
const MOST_ROWS = 20_000;
/**
 * How many intervals outside its range an answer may hold, because a service counts a bound in or starts its weeks
 * elsewhere.
 */
const MARGIN = 4;
/** The most wallets per report, and the most transactions of all its wallets; no pair comes near. */
const MOST_WALLETS = 10_000;
const MOST_TRANSACTIONS = 50_000;
/** How many characters an error quotes of an answer's `message` or of an address. */
const SHOWN = 200;

/** A number below this is an instant in seconds, up to the year 5138; any other one is in ms. */
const FIRST_MS = 1e11;
/** A number by JSON's own grammar. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

const ECHOED = ["pairAddress", "timeframe", "currency"] as const;

const instant = z.pipe(
  z.unknown(),
  z.transform((value, context) => {
    const ms = instantOf(value);
    if (ms !== undefined) return ms;
    context.issues.push({ code: "custom", message: NO_INSTANT, input: value });
    return z.NEVER;
  }),
);
const number = z.pipe(z.transform(numberOf), z.number());
const total = orNull(number);
const rows = z.custom<readonly unknown[]>(Array.isArray, "not an array");

const transaction = frozen(
  z.object({ transactionHash: name, transactionTimestamp: instant, blocksAfterCreation: total }),
);
const transactions = z.pipe(
  orNull(listOf(transaction)),
  z.transform((list) => list ?? Object.freeze([])),
);
const totals = Object.fromEntries(SNIPER_TOTALS.map((one) => [one, total]));
const sniper = frozen(
  z.object({
    walletAddress: name,
    snipedTransactions: transactions,
    sellTransactions: transactions,
    ...(totals as Record<SniperTotal, typeof total>),
  }),
);

const reportEnvelope = z.object({
  blockNumber: total,
  blockTimestamp: orNull(instant),
  transactionHash: orNull(printableText),
  result: orNull(rows),
});

const pageEnvelope = z.object({
  cursor: z.nullish(
    z
      .string()
      .check(z.refine(({ length }) => length <= LONGEST_CURSOR, `longer than ${LONGEST_CURSOR} characters`)),
  ),
  page: number,
  pairAddress: z.string(),
  tokenAddress: orNull(printableText),
  timeframe: z.string(),
  currency: z.string(),
  result: rows,
});

/** An unchecked row of candles. */
type WireCandle = { readonly [field in keyof Candle | "trades"]?: unknown };

/**
 * A row that breaks the contract. `key` identifies the row across reads, if it can be read. The error is created on
 * access: there may be thousands of such rows, and only one is reported.
 */
export class RefusedRow<Key> {
  constructor(
    readonly key: Key | undefined,
    private readonly index: number,
    private readonly flaw: Flaw,
  ) {}

  get error(): ContractError {
    return new ContractError(["result", this.index, ...this.flaw.path], this.flaw.issue);
  }
}

/** Rows that break the contract, apart from those of their page or report. */
interface Refused<Key> {
  readonly refused: readonly RefusedRow<Key>[];
}

/** The most rows of an answer about `intervals` intervals. Each may come twice. */
export function mostRows(intervals: number): number {
  return Math.min(MOST_ROWS, 2 * (intervals + MARGIN));
}

/**
 * Reads the body of an OHLCV answer with at most `most` rows. `isStart` says whether an instant starts an interval of
 * the series.
 *
 * Throws a `ContractError` if the envelope is bad or belongs to another series.
 */
export function readOhlcvBody(
  text: string,
  asked: Series,
  isStart: (instant: number) => boolean,
  quote: Quote,
  most = MOST_ROWS,
): Refused<number> & { readonly page: OhlcvPage } {
  const { cursor, result: rows, ...envelope } = readEnvelope(pageEnvelope, parseJson(text, quote), quote);
  for (const field of ECHOED) expectEcho(field, envelope[field], asked[field], quote);
  expectAtMost(rows.length, most, "rows");
  const result: Candle[] = [];
  const refused: RefusedRow<number>[] = [];
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index];
    const read = readCandle(row);
    if ("issue" in read) refused.push(new RefusedRow(rowTimestamp(row), index, read));
    else if (isStart(read.timestamp)) result.push(read);
    else refused.push(new RefusedRow(read.timestamp, index, offGrid(asked)));
  }
  // The service has no other ones.
  const { timeframe, currency } = asked as Series<Timeframe>;
  const page = {
    ...(cursor ? { cursor } : {}),
    ...envelope,
    timeframe,
    currency,
    result: Object.freeze(result),
  };
  return { page: Object.freeze(page), refused };
}

/** Checked field by field: a page holds a thousand rows, and a schema takes several times as long. */
function readCandle(row: unknown): Candle | Flaw {
  if (typeof row !== "object" || row === null) return { path: [], issue: "not an object" };
  const { timestamp: text, open, high, low, close, volume, trades, swaps = trades } = row as WireCandle;
  const timestamp = instantOf(text);
  // A zero stands for nothing, whatever field it is in; a text may well say 1970.
  if (timestamp === undefined || (timestamp === 0 && numberOf(text) === 0))
    return flawAt("timestamp", NO_INSTANT);
  let candle: WireCandle = { timestamp, open, high, low, close, volume, swaps };
  let field = wrongFieldOf(candle);
  if (field !== undefined) {
    candle = {
      timestamp,
      open: numberOf(open),
      high: numberOf(high),
      low: numberOf(low),
      close: numberOf(close),
      volume: numberOf(volume),
      swaps: numberOf(swaps),
    };
    field = wrongFieldOf(candle);
  }
  if (field === "swaps") {
    return flawAt(field, swaps === undefined ? "missing, and so is trades" : NO_COUNT);
  }
  if (field !== undefined) return flawAt(field, isAmount(candle[field]) ? "below low" : NO_AMOUNT);
  if (trades !== undefined && !isCount(numberOf(trades))) return flawAt("trades", NO_COUNT);
  return Object.freeze(candle as Candle);
}

function flawAt(field: string, issue: string): Flaw {
  return { path: [field], issue };
}

/** Some services write numbers as texts; any other value comes back as it is. */
function numberOf(value: unknown): unknown {
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
}

/** Reads an instant, a text or a number; `undefined` if the value is not one. */
function instantOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? parseIsoInstant(value) : undefined;
  return ms ?? numericInstant(numberOf(value));
}

function numericInstant(value: unknown): number | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= LATEST_INSTANT)) return undefined;
  // A sum has no negative zero.
  return Math.round(value < FIRST_MS ? value * 1_000 : value) + 0;
}

function offGrid({ timeframe }: Series): Flaw {
  const hint = timeframe === "1w" ? " (see weekStart)" : "";
  return flawAt("timestamp", `not the start of a ${timeframe} interval${hint}`);
}

function rowTimestamp(row: unknown): number | undefined {
  return instantOf((row as WireCandle | null)?.timestamp) || undefined;
}

/** Reads the body of a sniper answer. Throws a `ContractError` if the envelope is bad. */
export function readSniperBody(
  text: string,
  quote: Quote,
): Refused<string> & { readonly report: SniperReport; readonly hasList: boolean } {
  const body = parseJson(text, quote);
  const { result: rows, ...envelope } = readEnvelope(reportEnvelope, body, quote);
  // Each field may be missing or null, but not all of them: an error answer would otherwise pass as a report without snipers.
  if (rows === null && Object.values(envelope).every((value) => value === null)) {
    const fields = Object.keys(reportEnvelope.shape).join(", ");
    throw refusalOf(body, { path: [], issue: `has none of ${fields}` }, quote);
  }
  const list = rows ?? [];
  expectAtMost(list.length, MOST_WALLETS, "wallets");
  expectAtMost(countTransactions(list), MOST_TRANSACTIONS, "transactions");
  const result: Sniper[] = [];
  const refused: RefusedRow<string>[] = [];
  for (let index = 0; index < list.length; index += 1) {
    const read = sniper.safeParse(list[index]);
    if (read.success) result.push(read.data);
    else refused.push(new RefusedRow(rowWallet(list[index]), index, flawOf(read.error)));
  }
  const report = Object.freeze({ ...envelope, result: Object.freeze(result) });
  return { report, refused, hasList: rows !== null };
}

function countTransactions(list: readonly unknown[]): number {
  let count = 0;
  for (const row of list) {
    const { snipedTransactions, sellTransactions } = (row ?? {}) as { readonly [field: string]: unknown };
    for (const each of [snipedTransactions, sellTransactions]) if (Array.isArray(each)) count += each.length;
  }
  return count;
}

function rowWallet(row: unknown): string | undefined {
  return name.safeParse((row as { walletAddress?: unknown } | null)?.walletAddress).data;
}

function readEnvelope<T extends z.ZodMiniType>(envelope: T, body: unknown, quote: Quote): z.output<T> {
  const read = envelope.safeParse(body);
  if (read.success) return read.data;
  throw refusalOf(body, flawOf(read.error), quote);
}

/**
 * The error about an envelope. It quotes the answer's `message`, because some services report trouble with status 200.
 */
function refusalOf(body: unknown, { path, issue }: Flaw, quote: Quote): ContractError {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  const first: unknown = Array.isArray(message) ? message[0] : message;
  const said = typeof first === "string" && first !== "" ? shown(first, quote) : undefined;
  return new ContractError([...path], issue, { said });
}

function shown(text: string, quote: Quote): string {
  return shortened(quote(text, SHOWN + 1), SHOWN);
}

/** Throws a `ContractError` for too many rows, before any row is read. */
function expectAtMost(count: number, most: number, what: string): void {
  if (count > most) throw new ContractError(["result"], `${count} ${what}, at most ${most} are read`);
}

/** Throws a `ContractError` if the answer is for another query. The case of an address may differ. */
function expectEcho(field: string, got: string, asked: string, quote: Quote): void {
  if (got === asked || (field === "pairAddress" && got.toLowerCase() === asked.toLowerCase())) return;
  const issue = `the answer is for ${shown(got, quote)}, the request was for ${asked}`;
  throw new ContractError([field], issue);
}
