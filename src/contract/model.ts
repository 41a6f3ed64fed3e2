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
export const NETWORKS = ["mainnet", "devnet"] as const;
export const CURRENCIES = ["usd", "native"] as const;
export const WEEK_STARTS = ["monday", "thursday"] as const;

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
