import * as z from "zod";
import { ContractError, InvalidInputError } from "./errors.js";

// Model ----------------------------------------------------------------------------------------------------

/** The lengths of a candle that the service knows, shortest first. */
export const TIMEFRAMES = [
  "1s",
  "10s",
  "30s",
  "1min",
  "5min",
  "10min",
  "30min",
  "1h",
  "4h",
  "12h",
  "1d",
  "1w",
  "1M",
] as const;
const NETWORKS = ["mainnet", "devnet"] as const;
const CURRENCIES = ["usd", "native"] as const;
const WEEK_STARTS = ["monday", "thursday"] as const;

/** The length of a candle; `1M` is a calendar month, `1w` begins where `weekStart` says. */
export type Timeframe = (typeof TIMEFRAMES)[number];
/** The chain that a pair lives on. */
export type Network = (typeof NETWORKS)[number];
/** What prices and volumes are counted in: US dollars, or the chain's own coin. */
export type Currency = (typeof CURRENCIES)[number];
/** The day, at 00:00 UTC, on which `1w` begins. */
export type WeekStart = (typeof WEEK_STARTS)[number];

/** An instant: a `Date`, ms since the epoch, ISO 8601 with a zone, or `YYYY-MM-DD` (00:00 UTC); from 1970 to 9999. */
export type DateLike = Date | number | string;

/** Which candles: of one pair, in one timeframe and one currency. */
export interface Series {
  network: Network;
  pairAddress: string;
  timeframe: Timeframe;
  currency: Currency;
}

/** What one OHLCV request asks for. */
export interface OhlcvQuery extends Series {
  /** Start of the range, inclusive. */
  fromDate: DateLike;
  /** End of the range, exclusive. */
  toDate: DateLike;
  /** Candles a page, 1 to 1000; the service's default is 100. */
  limit?: number;
  /** The `cursor` of the page before. */
  cursor?: string;
}

/** What one sniper request asks for; always of mainnet. */
export interface SniperQuery {
  pairAddress: string;
  /** How many blocks after the pair's creation count as sniping, 0 to 1000; absent: the service's choice. */
  blocksAfterCreation?: number;
}

/** One candlestick. Prices and volume are in the currency of its series. */
export interface Candle {
  /** Start of its interval, ms since the epoch. */
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  /** How many swaps it sums up. */
  readonly swaps: number;
}

/** One page of candles, as the service gave it. */
export interface OhlcvPage {
  /** Fetches the next page; absent on the last one. */
  readonly cursor?: string;
  /** Counted from 1. */
  readonly page: number;
  readonly pairAddress: string;
  readonly tokenAddress: string | null;
  readonly timeframe: Timeframe;
  readonly currency: Currency;
  /** In the order served, which no code may rely on. */
  readonly result: readonly Candle[];
}

/** One swap of a sniper. */
export interface SniperTransaction {
  readonly transactionHash: string;
  /** ms since the epoch. */
  readonly transactionTimestamp: number;
  readonly blocksAfterCreation: number | null;
}

/** The totals of a sniper: counts, tokens, US dollars, percent; passed through as served, sign included. */
export type SniperTotal = (typeof SNIPER_TOTALS)[number];

/** One wallet that bought within the first blocks of a pair, and sold. */
export type Sniper = {
  readonly walletAddress: string;
  /** Its early buys. */
  readonly snipedTransactions: readonly SniperTransaction[];
  readonly sellTransactions: readonly SniperTransaction[];
} & { readonly [total in SniperTotal]: number | null };

/** The snipers of a pair. */
export interface SniperReport {
  /** The block in which the pair was created. */
  readonly blockNumber: number | null;
  /** The time of that block, ms since the epoch. */
  readonly blockTimestamp: number | null;
  readonly transactionHash: string | null;
  readonly result: readonly Sniper[];
}

/** The names of a sniper's totals, in the order of the contract. */
export const SNIPER_TOTALS = [
  "totalSellTransactions",
  "totalSnipedTransactions",
  "totalTokensSniped",
  "totalSnipedUsd",
  "totalTokensSold",
  "totalSoldUsd",
  "currentBalance",
  "currentBalanceUsdValue",
  "realizedProfitPercentage",
  "realizedProfitUsd",
] as const;

// Wire -----------------------------------------------------------------------------------------------------

const amount = z.number().nonnegative();
const count = z.number().int().nonnegative();
const instant = z.string().transform((text, context) => {
  const ms = parseIsoInstant(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: "not an ISO 8601 instant with a zone" });
  return z.NEVER;
});

const wireCandle = z
  .object({
    timestamp: instant,
    open: amount,
    high: amount,
    low: amount,
    close: amount,
    volume: amount,
    swaps: count.optional(),
    trades: count.optional(),
  })
  .transform(({ timestamp, open, high, low, close, volume, swaps, trades }, context): Candle => {
    const number = swaps ?? trades;
    if (number === undefined) {
      context.addIssue({ code: "custom", path: ["swaps"], message: "missing, and no trades in its place" });
      return z.NEVER;
    }
    if (high < low) {
      context.addIssue({ code: "custom", path: ["high"], message: "below low" });
      return z.NEVER;
    }
    return Object.freeze({ timestamp, open, high, low, close, volume, swaps: number });
  });

const wirePage = z.object({
  cursor: z.string().nullish(),
  page: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]),
  pairAddress: z.string(),
  tokenAddress: z.string().nullish(),
  timeframe: z.enum(TIMEFRAMES),
  currency: z.enum(CURRENCIES),
  result: z.array(z.unknown()),
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

// Routes ---------------------------------------------------------------------------------------------------

/** Path and query of an OHLCV request; the range in ms is widened to whole seconds, which is what the service takes. */
export function ohlcvRoute(
  query: Series & { from: number; to: number; limit?: number | undefined; cursor?: string | undefined },
): string {
  const parameters = new URLSearchParams({
    timeframe: query.timeframe,
    currency: query.currency,
    fromDate: String(Math.floor(query.from / 1_000)),
    toDate: String(Math.ceil(query.to / 1_000)),
  });
  if (query.limit !== undefined) parameters.set("limit", String(query.limit));
  if (query.cursor !== undefined) parameters.set("cursor", query.cursor);
  return `/token/${query.network}/pairs/${query.pairAddress}/ohlcv?${parameters}`;
}

/** Path and query of a sniper request. */
export function snipersRoute(query: SniperQuery): string {
  const blocks = query.blocksAfterCreation;
  return `/token/mainnet/pairs/${query.pairAddress}/snipers${blocks === undefined ? "" : `?blocksAfterCreation=${blocks}`}`;
}

// Input ----------------------------------------------------------------------------------------------------

const LATEST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const ISO_INSTANT = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;
const CALENDAR_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_ALLOWED =
  "a Date, ms since the epoch, ISO 8601 with a zone, or YYYY-MM-DD (UTC), from 1970 to 9999";

/** The instant in ms that a user's date stands for; throws an `InvalidInputError` where it stands for none. */
export function toInstant(parameter: string, value: DateLike): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parseDate(value) : value;
  if (typeof ms === "number" && ms >= 0 && ms <= LATEST_INSTANT) return ms;
  throw new InvalidInputError(parameter, DATE_ALLOWED, `is ${show(value)}`);
}

/** Refuses a range that is not one. */
export function checkRange(from: number, to: number, names: { from: string; to: string }): void {
  if (from < to) return;
  const ends = `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
  throw new InvalidInputError(names.to, `an instant after ${names.from}`, `makes no range (${ends})`);
}

/** Checks a series and keeps what belongs to it, frozen. */
export function checkSeries(series: Series): Series {
  if (typeof series !== "object" || series === null) {
    const allowed = "an object with network, pairAddress, timeframe and currency";
    throw new InvalidInputError("series", allowed, `is ${show(series)}`);
  }
  return Object.freeze({
    network: checkChoice("network", series.network, NETWORKS),
    pairAddress: checkPairAddress(series.pairAddress),
    timeframe: checkChoice("timeframe", series.timeframe, TIMEFRAMES),
    currency: checkChoice("currency", series.currency, CURRENCIES),
  });
}

/** Checks a sniper query and keeps what belongs to it. */
export function checkSniperQuery(query: SniperQuery): SniperQuery {
  if (typeof query !== "object" || query === null) {
    throw new InvalidInputError("query", "an object with pairAddress", `is ${show(query)}`);
  }
  const { network } = query as { network?: unknown };
  if (network !== undefined && network !== "mainnet") {
    throw new InvalidInputError(
      "network",
      "mainnet, where alone there are sniper reports",
      `is ${show(network)}`,
    );
  }
  const pairAddress = checkPairAddress(query.pairAddress);
  if (query.blocksAfterCreation === undefined) return { pairAddress };
  const range = { min: 0, max: 1_000, integer: true };
  return {
    pairAddress,
    blocksAfterCreation: checkNumber("blocksAfterCreation", query.blocksAfterCreation, range),
  };
}

export function checkWeekStart(value: WeekStart | undefined): WeekStart {
  return value === undefined ? "monday" : checkChoice("weekStart", value, WEEK_STARTS);
}

export function checkLimit(value: number | undefined): number | undefined {
  return value === undefined ? undefined : checkNumber("limit", value, { min: 1, max: 1_000, integer: true });
}

export function checkChoice<const T extends string>(
  parameter: string,
  value: T,
  choices: readonly NoInfer<T>[],
): T {
  if (choices.includes(value)) return value;
  throw new InvalidInputError(parameter, choices.join(", "), `is ${show(value)}`);
}

export function checkNumber(
  parameter: string,
  value: number,
  { min, max, integer = false }: { min: number; max?: number; integer?: boolean },
): number {
  const isAllowed =
    typeof value === "number" &&
    Number.isFinite(value) &&
    value >= min &&
    (max === undefined || value <= max) &&
    (!integer || Number.isInteger(value));
  if (isAllowed) return value;
  const kind = integer ? "a whole number" : "a number";
  const allowed = max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
  throw new InvalidInputError(parameter, allowed, `is ${show(value)}`);
}

/** Letters, digits and a few marks, so that an address can neither leave its place in the path nor the origin. */
const PAIR_ADDRESS = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

function checkPairAddress(value: string): string {
  if (typeof value === "string" && PAIR_ADDRESS.test(value)) return value;
  const allowed = "1 to 128 letters, digits, or _ . : -, the first a letter or digit";
  throw new InvalidInputError("pairAddress", allowed, value === "" ? "is empty" : `is ${show(value)}`);
}

function parseDate(text: string): number | undefined {
  if (!CALENDAR_DATE.test(text)) return parseIsoInstant(text);
  return parseIsoInstant(`${text}T00:00:00Z`);
}

/** ISO 8601 with a zone to ms; `undefined` for anything else, 30 February included. */
export function parseIsoInstant(text: string): number | undefined {
  const parts = ISO_INSTANT.exec(text);
  if (parts === null) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const day = Number(parts[3]);
  // Date.parse rolls 30 February over into March; only days past the 28th can roll.
  if (day > 28 && day > new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate())
    return undefined;
  return ms;
}

function show(value: unknown): string {
  if (typeof value === "string") return value.length > 60 ? `"${value.slice(0, 60)}…"` : `"${value}"`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : value.toISOString();
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
