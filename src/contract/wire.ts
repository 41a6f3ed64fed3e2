import * as z from "zod";
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

const instant = z.string().transform((text, context) => {
  const ms = parseIsoInstant(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: NO_INSTANT });
  return z.NEVER;
});

const wireCandle = z
  .object({
    timestamp: z.string(),
    open: z.number(),
    high: z.number(),
    low: z.number(),
    close: z.number(),
    volume: z.number(),
    swaps: z.number().optional(),
    trades: z.number().optional(),
  })
  .transform((row, context): Candle => {
    const timestamp = parseIsoInstant(row.timestamp);
    const swaps = row.swaps ?? row.trades;
    const problem = problemOf(row, timestamp);
    if (problem === undefined) {
      const { open, high, low, close, volume } = row;
      return Object.freeze({ timestamp: timestamp!, open, high, low, close, volume, swaps: swaps! });
    }
    const [field, message] = problem;
    context.addIssue({ code: "custom", path: [field], message });
    return z.NEVER;
  });

const AMOUNTS = ["open", "high", "low", "close", "volume"] as const;

type WireRow = Omit<Candle, "timestamp" | "swaps"> & {
  readonly swaps?: number | undefined;
  readonly trades?: number | undefined;
};

/**
 * The first rule that a row of the right types breaks, and its field. In one place, as each check that zod makes
 * for itself costs a row as much as its type does.
 */
function problemOf(
  row: WireRow,
  timestamp: number | undefined,
): [field: string, message: string] | undefined {
  const { open, high, low, close, volume, swaps, trades } = row;
  if (timestamp === undefined) return ["timestamp", NO_INSTANT];
  if (Math.min(open, high, low, close, volume) < 0) {
    return [AMOUNTS.find((field) => row[field] < 0)!, "below 0"];
  }
  if (swaps === undefined && trades === undefined) return ["swaps", "missing, and no trades in its place"];
  if (swaps !== undefined && !isCount(swaps)) return ["swaps", "not a whole number from 0 on"];
  if (trades !== undefined && !isCount(trades)) return ["trades", "not a whole number from 0 on"];
  return high < low ? ["high", "below low"] : undefined;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

const wirePage = z.object({
  cursor: z.string().nullish(),
  page: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]),
  pairAddress: z.string(),
  tokenAddress: z.string().nullish(),
  timeframe: z.enum(TIMEFRAMES),
  currency: z.enum(CURRENCIES),
  // Its rows are looked at one by one, and need not be copied before.
  result: z.custom<readonly unknown[]>(Array.isArray, "expected an array"),
});

const total = z
  .number()
  .nullish()
  .transform((value) => value ?? null);

const wireTransaction = z
  .object({ transactionHash: z.string().min(1), transactionTimestamp: instant, blocksAfterCreation: total })
  .transform((transaction): SniperTransaction => Object.freeze(transaction));

const transactions = z
  .array(wireTransaction)
  .nullish()
  .transform((list): readonly SniperTransaction[] => Object.freeze(list ?? []));

const wireSniper = z
  .object({
    walletAddress: z.string().min(1),
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
  })
  .transform((sniper): Sniper => Object.freeze(sniper));

const wireReport = z.object({
  blockNumber: total,
  blockTimestamp: instant.nullish().transform((value) => value ?? null),
  transactionHash: z
    .string()
    .nullish()
    .transform((value) => value ?? null),
  result: z.array(z.unknown()).nullish(),
});

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
  const wire = check(wirePage, parseJson(text), []);
  expectEcho("pairAddress", wire.pairAddress.toLowerCase(), asked.pairAddress.toLowerCase());
  expectEcho("timeframe", wire.timeframe, asked.timeframe);
  expectEcho("currency", wire.currency, asked.currency);
  const result: Candle[] = [];
  const refused: RefusedRow<number>[] = [];
  wire.result.forEach((row, index) => {
    const read = wireCandle.safeParse(row);
    if (!read.success) {
      refused.push({ key: rowTimestamp(row), error: contractError(read.error, ["result", index]) });
    } else if (!isStart(read.data.timestamp)) {
      const issue = `not the start of a ${asked.timeframe} interval${asked.timeframe === "1w" ? " (see weekStart)" : ""}`;
      const error = new ContractError(["result", index, "timestamp"], issue);
      refused.push({ key: read.data.timestamp, error });
    } else {
      result.push(read.data);
    }
  });
  const page: OhlcvPage = Object.freeze({
    ...(wire.cursor ? { cursor: wire.cursor } : {}),
    page: wire.page,
    pairAddress: wire.pairAddress,
    tokenAddress: wire.tokenAddress ?? null,
    timeframe: wire.timeframe,
    currency: wire.currency,
    result: Object.freeze(result),
  });
  return { page, refused };
}

/** Reads the body of a sniper answer; throws a `ContractError` where the envelope is bad. */
export function readSniperBody(text: string): ReadReport {
  const wire = check(wireReport, parseJson(text), []);
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

function check<T>(schema: z.ZodType<T>, value: unknown, path: (string | number)[]): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw contractError(read.error, path);
}

function contractError(cause: z.ZodError, base: (string | number)[]): ContractError {
  const first = cause.issues[0];
  const path = (first?.path ?? []).map((key) => (typeof key === "symbol" ? String(key) : key));
  return new ContractError([...base, ...path], first?.message ?? "not allowed", { cause });
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
