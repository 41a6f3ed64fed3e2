import * as z from "zod/mini";
import { ContractError } from "../errors.js";
import { parseIsoInstant } from "./iso-instant.js";
import {
  type Candle,
  CURRENCIES,
  type OhlcvPage,
  type Series,
  type Sniper,
  type SniperReport,
  type SniperTransaction,
  TIMEFRAMES,
} from "./model.js";

const NO_INSTANT = "not an ISO 8601 instant with a zone";
const NO_AMOUNT = "not a number from 0 on";
const NO_COUNT = "not a whole number from 0 on";

const text = z.string().check(z.minLength(1, "empty"));

const instant = z.pipe(
  z.string(),
  z.transform((input, context) => {
    const ms = parseIsoInstant(input);
    if (ms !== undefined) return ms;
    context.issues.push({ code: "custom", message: NO_INSTANT, input });
    return z.NEVER;
  }),
);

/** What is missing is null. */
const orNull = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? null),
  );

const wirePage = z.object({
  cursor: z.nullish(z.string()),
  page: z.union([z.number(), z.pipe(z.string().check(z.regex(/^\d+$/)), z.transform(Number))]),
  pairAddress: z.string(),
  tokenAddress: orNull(z.string()),
  timeframe: z.enum(TIMEFRAMES),
  currency: z.enum(CURRENCIES),
  // Its rows are looked at one by one, and need not be copied before.
  result: z.custom<readonly unknown[]>(Array.isArray, "not an array"),
});

const total = orNull(z.number());

const wireTransaction = z.pipe(
  z.object({ transactionHash: text, transactionTimestamp: instant, blocksAfterCreation: total }),
  z.transform((transaction): SniperTransaction => Object.freeze(transaction)),
);

const transactions = z.pipe(
  z.nullish(z.array(wireTransaction)),
  z.transform((list): readonly SniperTransaction[] => Object.freeze(list ?? [])),
);

const wireSniper = z.pipe(
  z.object({
    walletAddress: text,
    snipedTransactions: transactions,
    sellTransactions: transactions,
    totalSellTransactions: total,
    totalSnipedTransactions: total,
    totalTokensSniped: total,
    totalSnipedUsd: total,
    totalTokensSold: total,
    totalSoldUsd: total,
    currentBalance: total,
    currentBalanceUsdValue: total,
    realizedProfitPercentage: total,
    realizedProfitUsd: total,
  }),
  z.transform((sniper): Sniper => Object.freeze(sniper)),
);

const wireReport = z.object({
  blockNumber: total,
  blockTimestamp: orNull(instant),
  transactionHash: orNull(z.string()),
  result: z.nullish(z.array(z.unknown())),
});

/** A row of candles, of which nothing is known yet. */
type WireCandle = { readonly [field in keyof Candle | "trades"]?: unknown };

/** The first rule that a row breaks, and the field in which it does; no field where it is no row at all. */
interface RowProblem {
  readonly field?: string;
  readonly issue: string;
}

/** Reads a row by hand, as there are a thousand on a page: a schema takes several times as long for one. */
function readCandle(row: unknown): Candle | RowProblem {
  if (typeof row !== "object" || row === null) return { issue: "not an object" };
  const { timestamp: text, open, high, low, close, volume, trades, swaps = trades } = row as WireCandle;
  const timestamp = typeof text === "string" ? parseIsoInstant(text) : undefined;
  if (timestamp === undefined) return { field: "timestamp", issue: NO_INSTANT };
  if (!isAmount(open)) return { field: "open", issue: NO_AMOUNT };
  if (!isAmount(high)) return { field: "high", issue: NO_AMOUNT };
  if (!isAmount(low)) return { field: "low", issue: NO_AMOUNT };
  if (!isAmount(close)) return { field: "close", issue: NO_AMOUNT };
  if (!isAmount(volume)) return { field: "volume", issue: NO_AMOUNT };
  if (swaps === undefined) return { field: "swaps", issue: "missing, and no trades in its place" };
  if (!isCount(swaps)) return { field: "swaps", issue: NO_COUNT };
  if (trades !== undefined && !isCount(trades)) return { field: "trades", issue: NO_COUNT };
  if (high < low) return { field: "high", issue: "below low" };
  return Object.freeze({ timestamp, open, high, low, close, volume, swaps });
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A row of an answer that breaks the contract; `key` names it from one read to the next, where it can be named. */
export interface RefusedRow<Key> {
  readonly key: Key | undefined;
  readonly error: ContractError;
}

/** An answer whose envelope is good, with the rows that are not set apart. */
export interface ReadPage {
  readonly page: OhlcvPage;
  readonly refused: readonly RefusedRow<number>[];
}
export interface ReadReport {
  readonly report: SniperReport;
  readonly refused: readonly RefusedRow<string>[];
}

/**
 * Reads the body of an OHLCV answer. `isStart` tells whether an instant is the start of an interval of the series.
 * Throws a `ContractError` where the envelope is bad or speaks of another series.
 */
export function readOhlcvBody(text: string, asked: Series, isStart: (instant: number) => boolean): ReadPage {
  const wire = check(wirePage, parseJson(text));
  expectEcho("pairAddress", wire.pairAddress.toLowerCase(), asked.pairAddress.toLowerCase());
  expectEcho("timeframe", wire.timeframe, asked.timeframe);
  expectEcho("currency", wire.currency, asked.currency);
  const result: Candle[] = [];
  const refused: RefusedRow<number>[] = [];
  wire.result.forEach((row, index) => {
    const read = readCandle(row);
    if ("issue" in read) {
      const { field, issue } = read;
      const path = field === undefined ? ["result", index] : ["result", index, field];
      refused.push({ key: rowTimestamp(row), error: new ContractError(path, issue) });
    } else if (!isStart(read.timestamp)) {
      const issue = `not the start of a ${asked.timeframe} interval${asked.timeframe === "1w" ? " (see weekStart)" : ""}`;
      const error = new ContractError(["result", index, "timestamp"], issue);
      refused.push({ key: read.timestamp, error });
    } else {
      result.push(read);
    }
  });
  const page: OhlcvPage = Object.freeze({
    ...(wire.cursor ? { cursor: wire.cursor } : {}),
    page: wire.page,
    pairAddress: wire.pairAddress,
    tokenAddress: wire.tokenAddress,
    timeframe: wire.timeframe,
    currency: wire.currency,
    result: Object.freeze(result),
  });
  return { page, refused };
}

/** Reads the body of a sniper answer; throws a `ContractError` where the envelope is bad. */
export function readSniperBody(text: string): ReadReport {
  const wire = check(wireReport, parseJson(text));
  const result: Sniper[] = [];
  const refused: RefusedRow<string>[] = [];
  (wire.result ?? []).forEach((row, index) => {
    const read = wireSniper.safeParse(row);
    if (read.success) result.push(read.data);
    else refused.push({ key: rowWallet(row), error: contractError(read.error, ["result", index]) });
  });
  return { report: Object.freeze({ ...wire, result: Object.freeze(result) }), refused };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const start = text.slice(0, 40).replace(/\s+/g, " ");
    throw new ContractError([], `not JSON, but ${text === "" ? "empty" : `"${start}…"`}`, { cause });
  }
}

function check<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw contractError(read.error, []);
}

function contractError(cause: z.core.$ZodError, base: (string | number)[]): ContractError {
  const first = cause.issues[0];
  const path = (first?.path ?? []).map((key) => (typeof key === "symbol" ? String(key) : key));
  return new ContractError([...base, ...path], first === undefined ? "not allowed" : textOf(first), {
    cause,
  });
}

/** zod's own texts would have to be loaded, for all who use it in a process. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return `not of type ${issue.expected}`;
  if (issue.code === "invalid_value") return `none of ${issue.values.join(", ")}`;
  return issue.message;
}

function expectEcho(field: string, got: string, asked: string): void {
  if (got !== asked) throw new ContractError([field], `the answer is for ${got}, asked was ${asked}`);
}

function rowTimestamp(row: unknown): number | undefined {
  const timestamp = (row as { timestamp?: unknown } | null)?.timestamp;
  return typeof timestamp === "string" ? parseIsoInstant(timestamp) : undefined;
}

function rowWallet(row: unknown): string | undefined {
  const wallet = (row as { walletAddress?: unknown } | null)?.walletAddress;
  return typeof wallet === "string" && wallet !== "" ? wallet : undefined;
}
