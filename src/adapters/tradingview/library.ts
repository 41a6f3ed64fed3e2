import type { AnyTimeframe, Candle } from "../../contract/model.js";
import { isTimeframe } from "../../contract/timeframes.js";

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
  /** All resolutions that are offered. */
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
  /** Which numbers of days. */
  daily_multipliers: string[];
  /** True: there are weeks and months. */
  has_weekly_and_monthly: boolean;
  /** Which numbers of weeks. */
  weekly_multipliers: string[];
  /** Which numbers of months. */
  monthly_multipliers: string[];
  /** All resolutions that are offered. */
  supported_resolutions: ResolutionString[];
  /** How many decimals volumes have. */
  volume_precision: number;
  /** `"streaming"`. */
  data_status: "streaming";
}

/** The resolutions that the library offers; the datafeed has every other one that nests, too. */
const RESOLUTIONS: readonly string[] = [
  ...["1S", "5S", "10S", "15S", "30S", "1", "3", "5", "10", "15", "30", "45"],
  ...["60", "120", "180", "240", "360", "480", "720", "1D", "3D", "1W", "1M", "3M", "6M"],
];

export function allResolutions(): ResolutionString[] {
  return [...RESOLUTIONS] as ResolutionString[];
}

/** The numbers of the resolutions of one unit: `S`, `D`, `W`, `M`, or none for minutes. */
export function multipliersOf(unit: "S" | "D" | "W" | "M" | ""): string[] {
  const pattern = new RegExp(`^(\\d+)${unit}$`);
  return RESOLUTIONS.flatMap((resolution) => pattern.exec(resolution)?.[1] ?? []);
}

/** `undefined` for what is no resolution of this datafeed. Older versions of the library leave a 1 out. */
export function timeframeOf(resolution: string): AnyTimeframe | undefined {
  const [, digits, unit] = /^([1-9]\d*)?([SDWM]?)$/.exec(resolution) ?? [];
  if (unit === undefined || resolution === "") return undefined;
  const count = Number(digits ?? 1);
  const name =
    unit === ""
      ? count % 1_440 === 0
        ? `${count / 1_440}d`
        : count % 60 === 0
          ? `${count / 60}h`
          : `${count}min`
      : count + (unit === "M" ? unit : unit.toLowerCase());
  return isTimeframe(name) ? name : undefined;
}

/** A bar of its own: the library writes into what it is given. */
export function barOf({ timestamp, open, high, low, close, volume }: Candle): Bar {
  return { time: timestamp, open, high, low, close, volume };
}
