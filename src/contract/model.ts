/**
 * The timeframes that the service has, shortest first. All others are made of these.
 *
 * ```ts
 * import { type AnyTimeframe, TIMEFRAMES } from "pairstream";
 *
 * const isServed = (timeframe: AnyTimeframe) => (TIMEFRAMES as readonly string[]).includes(timeframe);
 * ```
 */
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
export const NETWORKS = ["mainnet", "devnet"] as const;
export const CURRENCIES = ["usd", "native"] as const;
export const WEEK_STARTS = ["monday", "thursday"] as const;

/** The length of a candle that the service has. `1M` is a calendar month; `1w` begins at the `weekStart`. */
export type Timeframe = (typeof TIMEFRAMES)[number];
/**
 * The length of a candle: one that the service has, or another one that is made of those.
 *
 * - Seconds, minutes and hours: what divides a day, counted from 00:00 UTC.
 * - Days: `1d` to `365d`, counted from 1970-01-01.
 * - Weeks: `1w` to `52w`, counted from the first `weekStart` of 1970.
 * - Months: `1M`, `2M`, `3M`, `4M` and `6M`, counted from January.
 *
 * Each length has one name: an hour is `1h`, and not `60min`.
 */
export type AnyTimeframe =
  | Timeframe
  | `${2 | 3 | 4 | 5 | 6 | 8 | 9 | 12 | 15 | 16 | 18 | 20 | 24 | 25 | 27 | 32 | 36 | 40 | 45 | 48 | 50 | 54}s`
  | `${64 | 72 | 75 | 80 | 90 | 96 | 100 | 108 | 128 | 135 | 144 | 150 | 160 | 192 | 200 | 216 | 225 | 270}s`
  | `${288 | 320 | 384 | 400 | 432 | 450 | 576 | 640 | 675 | 800 | 864 | 1152 | 1350 | 1600 | 1728 | 3200 | 3456}s`
  | `${2 | 3 | 4 | 6 | 8 | 9 | 12 | 15 | 16 | 18 | 20 | 24 | 32 | 36 | 40 | 45 | 48 | 72 | 80 | 90 | 96 | 144}min`
  | `${160 | 288}min`
  | `${2 | 3 | 6 | 8}h`
  | (`${number}${"d" | "w"}` & {})
  | `${2 | 3 | 4 | 6}M`;
/** The chain of a pair. */
export type Network = (typeof NETWORKS)[number];
/** The unit of prices and volumes: US dollars, or the chain's own coin. */
export type Currency = (typeof CURRENCIES)[number];
/** The day, at 00:00 UTC, on which `1w` begins. */
export type WeekStart = (typeof WEEK_STARTS)[number];

/** An instant: a `Date`, ms since the epoch, ISO 8601 with a zone, or `YYYY-MM-DD` (00:00 UTC); from 1970 to 9999. */
export type DateLike = Date | number | string;

/** Identifies a series of candles: one pair, one timeframe, one currency. `T`: the timeframes that it can have. */
export interface Series<T extends string = AnyTimeframe> {
  /** The chain of the pair. */
  network: Network;
  /** The address of the pair, not of a token: 1 to 128 letters, digits, or `_ . : -`, the first a letter or digit. */
  pairAddress: string;
  /** The length of its candles. */
  timeframe: T;
  /** The unit of its prices and volumes. */
  currency: Currency;
}

/** The query of one OHLCV request. */
export interface OhlcvQuery extends Series<Timeframe> {
  /** Start of the range, inclusive. */
  fromDate: DateLike;
  /** End of the range, exclusive. */
  toDate: DateLike;
  /** Candles per page, 1 to 1000; the service's default is 100. */
  limit?: number;
  /** The `cursor` of the previous page, at most 4,096 characters; default: the first page. */
  cursor?: string;
}

/** The query of one sniper request. Sniper reports exist on mainnet only. */
export interface SniperQuery {
  /** The address of the pair, as in a `Series`. */
  pairAddress: string;
  /** How many blocks after the pair's creation count as sniping, 0 to 1000; default: the service decides. */
  blocksAfterCreation?: number;
}

/** One candlestick. Prices and volume are in the currency of its series, from 0 to 1e100. */
export interface Candle {
  /** Start of its interval, ms since the epoch. */
  readonly timestamp: number;
  /** The price of its first swap, in the currency of its series. */
  readonly open: number;
  /** The highest price, in the currency of its series. */
  readonly high: number;
  /** The lowest price, in the currency of its series. */
  readonly low: number;
  /** The price of its last swap, in the currency of its series. */
  readonly close: number;
  /** The traded volume, in the currency of its series; from 0. */
  readonly volume: number;
  /** How many swaps the candle covers; 0 in a candle that fills a gap. */
  readonly swaps: number;
}

/** One page of candles, as the service sent it. */
export interface OhlcvPage {
  /** The cursor of the next page; absent on the last page. */
  readonly cursor?: string;
  /** The page number, from 1. */
  readonly page: number;
  /** The address of the pair. */
  readonly pairAddress: string;
  /** The token that the prices are for; `null` if the service does not know it. */
  readonly tokenAddress: string | null;
  /** The length of the candles. */
  readonly timeframe: Timeframe;
  /** The unit of prices and volumes. */
  readonly currency: Currency;
  /** The candles in the order in which the service sent them. Do not rely on that order. */
  readonly result: readonly Candle[];
}

/** One swap of a sniper. */
export interface SniperTransaction {
  /** The hash of its transaction; unique on one side (buys or sales) of a wallet. */
  readonly transactionHash: string;
  /** The time of the swap, ms since the epoch. */
  readonly transactionTimestamp: number;
  /** How many blocks the swap came after the pair's creation; `null` if the service does not say. */
  readonly blocksAfterCreation: number | null;
}

/** The totals of a sniper: counts, tokens, US dollars, percent. They are as the service sent them, sign included. */
export type SniperTotal = (typeof SNIPER_TOTALS)[number];

/** A wallet that bought within the first blocks of a pair, with its buys and sales. */
export type Sniper = {
  /** The address of the wallet. */
  readonly walletAddress: string;
  /** Its early buys. */
  readonly snipedTransactions: readonly SniperTransaction[];
  /** All of its sales, early or late. */
  readonly sellTransactions: readonly SniperTransaction[];
} & { readonly [total in SniperTotal]: number | null };

/** The snipers of a pair. */
export interface SniperReport {
  /** The number of the block in which the pair was created; `null` if the service does not say. */
  readonly blockNumber: number | null;
  /** The time of that block, ms since the epoch; `null` if the service does not say. */
  readonly blockTimestamp: number | null;
  /** The transaction that created the pair; `null` if the service does not say. */
  readonly transactionHash: string | null;
  /** One entry per wallet. */
  readonly result: readonly Sniper[];
}

/** The names of a sniper's totals, in the contract's order. */
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
