import type { Candle, Timeframe } from "../../contract/model.js";

// The names and shapes of the Charting Library, which is not on npm, as far as a datafeed meets them.

/** A name of an interval as the Charting Library writes it; its brand is the library's own. */
export type ResolutionString = string & { [Symbol.species]: "ResolutionString" };

/** A bar of the Charting Library. */
export interface Bar {
  /** Where its interval begins, ms since the epoch, UTC. */
  time: number;
  /** The price of the first swap. */
  open: number;
  /** The highest price. */
  high: number;
  /** The lowest price. */
  low: number;
  /** The price of the last swap. */
  close: number;
  /** What was traded, in the currency of the symbol. */
  volume: number;
}

/** Which bars the Charting Library wants. */
export interface PeriodParams {
  /** Start of the range, inclusive: how many seconds since the epoch, UTC. */
  from: number;
  /** End of the range, exclusive: how many seconds since the epoch, UTC. */
  to: number;
  /** How many bars at least: where the range holds fewer, earlier ones are added. */
  countBack: number;
  /** Whether the library begins with this answer, as at first and after a reset. */
  firstDataRequest: boolean;
}

/** What the Charting Library is told beside bars. */
export interface HistoryMetadata {
  /** True where there is no bar in the answer, and none before it. */
  noData: boolean;
}

/** What the Charting Library can do with this datafeed. */
export interface DatafeedConfiguration {
  /** All resolutions. */
  supported_resolutions: ResolutionString[];
  /** Whether `getServerTime` is there. */
  supports_time: boolean;
  /** No marks on bars. */
  supports_marks: boolean;
  /** No marks on the time scale. */
  supports_timescale_marks: boolean;
}

/** A symbol as the list of a search shows it. */
export interface SearchSymbolResultItem {
  /** Its name. */
  symbol: string;
  /** Its name again, for older versions of the library. */
  full_name: string;
  /** Its description, or its pair address. */
  description: string;
  /** None. */
  exchange: string;
  /** What `resolveSymbol` is asked for: its name. */
  ticker: string;
  /** `"crypto"`. */
  type: string;
}

/** A symbol as the Charting Library wants to know it. */
export interface LibrarySymbolInfo {
  /** Its name. */
  name: string;
  /** Its name again, for older versions of the library. */
  full_name: string;
  /** What the datafeed finds it by: its name. */
  ticker: string;
  /** Its description, or its pair address. */
  description: string;
  /** `"crypto"`. */
  type: string;
  /** Traded at all times: `"24x7"`. */
  session: string;
  /** Days begin at midnight UTC. */
  timezone: "Etc/UTC";
  /** None. */
  exchange: string;
  /** None. */
  listed_exchange: string;
  /** Decimals by `pricescale`. */
  format: "price";
  /** A power of ten: how many of the smallest steps make a price of 1. */
  pricescale: number;
  /** The smallest step, in units of `1 / pricescale`: 1. */
  minmov: number;
  /** True: there are resolutions of seconds. */
  has_seconds: boolean;
  /** Which ones. */
  seconds_multipliers: string[];
  /** True: there are resolutions of minutes. */
  has_intraday: boolean;
  /** Which ones, in minutes. */
  intraday_multipliers: string[];
  /** True: there are days. */
  has_daily: boolean;
  /** Single days. */
  daily_multipliers: string[];
  /** True: there are weeks and months. */
  has_weekly_and_monthly: boolean;
  /** Single weeks. */
  weekly_multipliers: string[];
  /** Single months. */
  monthly_multipliers: string[];
  /** All resolutions. */
  supported_resolutions: ResolutionString[];
  /** How many decimals volumes have. */
  volume_precision: number;
  /** `"streaming"`. */
  data_status: "streaming";
}

/** How the library writes each timeframe. */
const RESOLUTIONS: Readonly<Record<Timeframe, string>> = {
  "1s": "1S",
  "10s": "10S",
  "30s": "30S",
  "1min": "1",
  "5min": "5",
  "10min": "10",
  "30min": "30",
  "1h": "60",
  "4h": "240",
  "12h": "720",
  "1d": "1D",
  "1w": "1W",
  "1M": "1M",
};
/** Older versions leave the 1 out. */
const TIMEFRAMES_BY_RESOLUTION = new Map(
  Object.entries(RESOLUTIONS).flatMap(([timeframe, resolution]) =>
    [resolution, resolution.replace(/^1(?=[DWM])/, "")].map((one) => [one, timeframe as Timeframe]),
  ),
);

export function allResolutions(): ResolutionString[] {
  return Object.values(RESOLUTIONS) as ResolutionString[];
}

/** The numbers of the resolutions of one unit: `S`, or none for minutes. */
export function multipliersOf(unit: "S" | ""): string[] {
  const pattern = new RegExp(`^(\\d+)${unit}$`);
  return Object.values(RESOLUTIONS).flatMap((resolution) => pattern.exec(resolution)?.[1] ?? []);
}

/** `undefined` for what is no resolution of this datafeed. */
export function timeframeOf(resolution: string): Timeframe | undefined {
  return TIMEFRAMES_BY_RESOLUTION.get(resolution);
}

/** A bar of its own: the library writes into what it is given. */
export function barOf({ timestamp, open, high, low, close, volume }: Candle): Bar {
  return { time: timestamp, open, high, low, close, volume };
}
