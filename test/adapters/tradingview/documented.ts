// The interface of a datafeed as the Charting Library documents it, in the parts that matter for assignability.

type Nominal<T, Name extends string> = T & { [Symbol.species]: Name };
type ResolutionString = Nominal<string, "ResolutionString">;
type Timezone = "Etc/UTC" | "Europe/London" | "America/New_York";

interface Bar {
  time: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume?: number;
}

interface SymbolInfo {
  name: string;
  base_name?: string[];
  ticker?: string;
  description: string;
  type: string;
  session: string;
  session_holidays?: string;
  exchange: string;
  listed_exchange: string;
  timezone: Timezone;
  format: "price" | "volume";
  pricescale: number;
  minmov: number;
  minmove2?: number;
  fractional?: boolean;
  has_intraday?: boolean;
  supported_resolutions?: ResolutionString[];
  intraday_multipliers?: string[];
  has_seconds?: boolean;
  seconds_multipliers?: string[];
  has_daily?: boolean;
  daily_multipliers?: string[];
  has_weekly_and_monthly?: boolean;
  weekly_multipliers?: string[];
  monthly_multipliers?: string[];
  volume_precision?: number;
  data_status?: "streaming" | "endofday" | "delayed_streaming";
}

interface Configuration {
  exchanges?: { value: string; name: string; desc: string }[];
  supported_resolutions?: ResolutionString[];
  supports_marks?: boolean;
  supports_time?: boolean;
  supports_timescale_marks?: boolean;
  symbols_types?: { name: string; value: string }[];
}

interface FoundSymbol {
  symbol: string;
  description: string;
  exchange: string;
  ticker?: string;
  type: string;
}

/** What a widget takes as its `datafeed`; methods as properties, so that their parameters are compared strictly. */
export interface BasicDataFeed {
  onReady: (callback: (configuration: Configuration) => void) => void;
  getServerTime?: (callback: (serverTime: number) => void) => void;
  searchSymbols: (
    userInput: string,
    exchange: string,
    symbolType: string,
    onResult: (items: FoundSymbol[]) => void,
    searchSource?: "symbolSearch" | "compare" | "indicatorInputs",
  ) => void;
  resolveSymbol: (
    symbolName: string,
    onResolve: (symbolInfo: SymbolInfo) => void,
    onError: (reason: string) => void,
    extension?: { currencyCode?: string; unitId?: string; session?: string },
  ) => void;
  getBars: (
    symbolInfo: SymbolInfo,
    resolution: ResolutionString,
    periodParams: { from: number; to: number; countBack: number; firstDataRequest: boolean },
    onResult: (bars: Bar[], meta?: { noData?: boolean; nextTime?: number | null }) => void,
    onError: (reason: string) => void,
  ) => void;
  subscribeBars: (
    symbolInfo: SymbolInfo,
    resolution: ResolutionString,
    onTick: (bar: Bar) => void,
    listenerGuid: string,
    onResetCacheNeededCallback: () => void,
  ) => void;
  unsubscribeBars: (listenerGuid: string) => void;
}
