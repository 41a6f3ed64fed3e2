import { isAmount, LARGEST_AMOUNT, wrongFieldOf } from "./candle-numbers.js";
import { parseIsoInstant } from "./iso-instant.js";
import {
  type Candle,
  CURRENCIES,
  type OhlcvPage,
  type Series,
  SNIPER_TOTALS,
  type Sniper,
  type SniperReport,
  type SniperTransaction,
  TIMEFRAMES,
} from "./model.js";
import {
  expectAtMost,
  expectEcho,
  expectNameOrNothing,
  type Flaw,
  flaw,
  isCount,
  isNothing,
  isNumber,
  isObject,
  isOneOf,
  isTextOrNothing,
  isTotal,
  nameFlaw,
  RefusedRow,
  readObject,
  refusalOf,
  refuse,
  type Wire,
} from "./values.js";

const NO_INSTANT = "not an ISO 8601 instant with a zone";
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

const FIELDS = ["blockNumber", "blockTimestamp", "transactionHash", "result"] as const;
const LISTS = ["snipedTransactions", "sellTransactions"] as const;

/** An unchecked row of candles. */
type WireCandle = { readonly [field in keyof Candle | "trades"]?: unknown };

/** An answer with a valid envelope: its valid rows in the page, the others apart. */
export interface ReadPage {
  readonly page: OhlcvPage;
  readonly refused: readonly RefusedRow<number>[];
}

/** A report with a valid envelope: its valid rows in the report, the others apart. */
export interface ReadReport {
  readonly report: SniperReport;
  readonly refused: readonly RefusedRow<string>[];
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
  most = MOST_ROWS,
): ReadPage {
  const wire = readObject(text);
  const { cursor, page, pairAddress, tokenAddress, timeframe, currency, result: rows } = wire;
  if (!isTextOrNothing(cursor)) refuse("cursor", "not a string");
  if (cursor && cursor.length > LONGEST_CURSOR) refuse("cursor", `longer than ${LONGEST_CURSOR} characters`);
  const number = typeof page === "string" && /^\d{1,15}$/.test(page) ? Number(page) : page;
  if (!isNumber(number)) throw refusalOf(wire, ["page"], "not a number");
  if (typeof pairAddress !== "string") refuse("pairAddress", "not a string");
  expectNameOrNothing("tokenAddress", tokenAddress);
  if (!isOneOf(TIMEFRAMES, timeframe)) refuse("timeframe", `not one of ${TIMEFRAMES.join(", ")}`);
  if (!isOneOf(CURRENCIES, currency)) refuse("currency", `not one of ${CURRENCIES.join(", ")}`);
  if (!Array.isArray(rows)) refuse("result", "not an array");
  expectEcho("pairAddress", pairAddress, asked.pairAddress);
  expectEcho("timeframe", timeframe, asked.timeframe);
  expectEcho("currency", currency, asked.currency);
  expectAtMost(rows.length, most, "rows");
  const result: Candle[] = [];
  const refused: RefusedRow<number>[] = [];
  for (let index = 0; index < rows.length; index += 1) {
    const row: unknown = rows[index];
    const read = readCandle(row);
    if ("issue" in read) refused.push(new RefusedRow(rowTimestamp(row), index, read));
    else if (isStart(read.timestamp)) result.push(read);
    else refused.push(new RefusedRow(read.timestamp, index, offGrid(asked)));
  }
  return {
    page: Object.freeze({
      ...(cursor ? { cursor } : {}),
      page: number,
      pairAddress,
      tokenAddress: tokenAddress ?? null,
      timeframe,
      currency,
      result: Object.freeze(result),
    }),
    refused,
  };
}

/** Checked field by field: a page holds a thousand rows, and a schema takes several times as long. */
function readCandle(row: unknown): Candle | Flaw {
  if (typeof row !== "object" || row === null) return { path: [], issue: "not an object" };
  const { timestamp: text, open, high, low, close, volume, trades, swaps = trades } = row as WireCandle;
  const timestamp = instantOf(text);
  if (timestamp === undefined) return flaw("timestamp", NO_INSTANT);
  const candle = { timestamp, open, high, low, close, volume, swaps };
  const field = wrongFieldOf(candle);
  if (field === "swaps") {
    return flaw(field, swaps === undefined ? "missing, and so is trades" : NO_COUNT);
  }
  if (field !== undefined) return flaw(field, isAmount(candle[field]) ? "below low" : NO_AMOUNT);
  if (trades !== undefined && !isCount(trades)) return flaw("trades", NO_COUNT);
  return Object.freeze(candle as Candle);
}

/** Parses an instant; `undefined` if the value is not one. */
function instantOf(value: unknown): number | undefined {
  return typeof value === "string" ? parseIsoInstant(value) : undefined;
}

function offGrid({ timeframe }: Series): Flaw {
  const hint = timeframe === "1w" ? " (see weekStart)" : "";
  return flaw("timestamp", `not the start of a ${timeframe} interval${hint}`);
}

function rowTimestamp(row: unknown): number | undefined {
  return instantOf((row as WireCandle | null)?.timestamp);
}

/** Reads the body of a sniper answer. Throws a `ContractError` if the envelope is bad. */
export function readSniperBody(text: string): ReadReport {
  const wire = readObject(text);
  // Each field may be missing, but not all of them: an error answer would otherwise pass as a report without snipers.
  if (!FIELDS.some((field) => Object.hasOwn(wire, field))) {
    throw refusalOf(wire, [], `has none of ${FIELDS.join(", ")}`);
  }
  const { blockNumber, blockTimestamp, transactionHash, result: rows } = wire;
  if (!isTotal(blockNumber)) refuse("blockNumber", "not a number");
  const timestamp = isNothing(blockTimestamp) ? null : instantOf(blockTimestamp);
  if (timestamp === undefined) refuse("blockTimestamp", NO_INSTANT);
  expectNameOrNothing("transactionHash", transactionHash);
  const list = rows ?? [];
  if (!Array.isArray(list)) refuse("result", "not an array");
  expectAtMost(list.length, MOST_WALLETS, "wallets");
  expectAtMost(countTransactions(list), MOST_TRANSACTIONS, "transactions");
  const result: Sniper[] = [];
  const refused: RefusedRow<string>[] = [];
  for (let index = 0; index < list.length; index += 1) {
    const row: unknown = list[index];
    const read = readSniper(row);
    if ("issue" in read) refused.push(new RefusedRow(rowWallet(row), index, read));
    else result.push(read);
  }
  const report: SniperReport = Object.freeze({
    blockNumber: blockNumber ?? null,
    blockTimestamp: timestamp,
    transactionHash: transactionHash ?? null,
    result: Object.freeze(result),
  });
  return { report, refused };
}

function countTransactions(rows: readonly unknown[]): number {
  let count = 0;
  for (const row of rows) {
    for (const name of LISTS) {
      const list = (row as Wire | null)?.[name];
      if (Array.isArray(list)) count += list.length;
    }
  }
  return count;
}

function readSniper(row: unknown): Sniper | Flaw {
  if (!isObject(row)) return { path: [], issue: "not an object" };
  const { walletAddress } = row;
  const nameless = nameFlaw("walletAddress", walletAddress);
  if (nameless !== undefined) return nameless;
  const sniper: Record<string, unknown> = { walletAddress };
  for (const name of LISTS) {
    const read = readTransactions(row[name] ?? []);
    if ("issue" in read) return { path: [name, ...read.path], issue: read.issue };
    sniper[name] = read;
  }
  for (const name of SNIPER_TOTALS) {
    const total = row[name];
    if (!isTotal(total)) return flaw(name, "not a number");
    sniper[name] = total ?? null;
  }
  return Object.freeze(sniper) as Sniper;
}

function readTransactions(rows: unknown): readonly SniperTransaction[] | Flaw {
  if (!Array.isArray(rows)) return { path: [], issue: "not an array" };
  const transactions: SniperTransaction[] = [];
  for (let index = 0; index < rows.length; index += 1) {
    const read = readTransaction(rows[index]);
    if ("issue" in read) return { path: [index, ...read.path], issue: read.issue };
    transactions.push(read);
  }
  return Object.freeze(transactions);
}

function readTransaction(row: unknown): SniperTransaction | Flaw {
  if (!isObject(row)) return { path: [], issue: "not an object" };
  const { transactionHash, transactionTimestamp: instant, blocksAfterCreation } = row;
  const nameless = nameFlaw("transactionHash", transactionHash);
  if (nameless !== undefined) return nameless;
  const transactionTimestamp = instantOf(instant);
  if (transactionTimestamp === undefined) return flaw("transactionTimestamp", NO_INSTANT);
  if (!isTotal(blocksAfterCreation)) return flaw("blocksAfterCreation", "not a number");
  const transaction = {
    transactionHash: transactionHash as string,
    transactionTimestamp,
    blocksAfterCreation: blocksAfterCreation ?? null,
  };
  return Object.freeze(transaction);
}

function rowWallet(row: unknown): string | undefined {
  const wallet = (row as Wire | null)?.walletAddress;
  return nameFlaw("walletAddress", wallet) === undefined ? (wallet as string) : undefined;
}
