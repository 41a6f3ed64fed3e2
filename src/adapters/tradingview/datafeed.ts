import {
  asyncScheduler,
  catchError,
  defer,
  map,
  type Observable,
  observeOn,
  of,
  type SchedulerLike,
} from "rxjs";
import { checkSeries, checkWeekStart, show } from "../../contract/input.js";
import type { Candle, Series, WeekStart } from "../../contract/model.js";
import { checkNames, checkScheduler, checkSource, namesOf } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import type { PairSource } from "../../source.js";
import { decimalsOf } from "../price-decimals.js";
import { HeardClock } from "../wire/heard-clock.js";
import { Feed, type FeedContext } from "./feed.js";
import {
  allResolutions,
  type Bar,
  barOf,
  type DatafeedConfiguration,
  type HistoryMetadata,
  type LibrarySymbolInfo,
  multipliersOf,
  type PeriodParams,
  type SearchSymbolResultItem,
  timeframeOf,
} from "./library.js";

/** A pair that the chart can show. */
export interface DatafeedSymbol extends Omit<Series, "timeframe"> {
  /** The name that users see, such as `BONK/SOL`; 1 to 200 characters, unique. Upper and lower case count as the same. */
  name: string;
  /** A text that is shown beside the name; default: the pair address. */
  description?: string;
}

/** What a datafeed shows, and how. */
export interface DatafeedOptions {
  /** The pairs of the datafeed, at least one. */
  symbols: readonly DatafeedSymbol[];
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
  /** The source of every timer; default: `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

/** The datafeed that the Charting Library calls. It is assignable to the library's `IBasicDataFeed`. */
export interface Datafeed {
  /** Gives what this datafeed supports. */
  onReady(callback: (configuration: DatafeedConfiguration) => void): void;
  /** Finds the symbols whose name, description or pair address contains the input. Exchange and type are ignored. */
  searchSymbols(
    userInput: string,
    exchange: string,
    symbolType: string,
    onResult: (items: SearchSymbolResultItem[]) => void,
  ): void;
  /**
   * Gives the details of a symbol. It reads the newest closed minute, so that `pricescale` fits the price; while the service
   * is down it waits, as first bars do.
   */
  resolveSymbol(
    symbolName: string,
    onResolve: (symbolInfo: LibrarySymbolInfo) => void,
    onError: (reason: string) => void,
  ): void;
  /** Gives the bars of a period, ascending, and earlier ones if there are fewer than `countBack`. */
  getBars(
    symbolInfo: { name: string; ticker?: string },
    resolution: string,
    periodParams: PeriodParams,
    onResult: (bars: Bar[], meta: HistoryMetadata) => void,
    onError: (reason: string) => void,
  ): void;
  /** Follows a symbol: `onTick` gets new bars and changes of the newest one; any other change calls `onResetCacheNeeded`. */
  subscribeBars(
    symbolInfo: { name: string; ticker?: string },
    resolution: string,
    onTick: (bar: Bar) => void,
    listenerGuid: string,
    onResetCacheNeeded: () => void,
  ): void;
  /** Ends a subscription. Nothing is called after that. */
  unsubscribeBars(listenerGuid: string): void;
  /** Gives the service's time in whole seconds; before the first event, the time of this machine. */
  getServerTime(callback: (seconds: number) => void): void;
}

const NAMES = namesOf<DatafeedOptions>({ symbols: true, weekStart: true, scheduler: true });
const SYMBOL_NAMES = namesOf<DatafeedSymbol>({
  name: true,
  description: true,
  network: true,
  pairAddress: true,
  currency: true,
});
const LONGEST_NAME = 200;
/** How many decimals a price has while there is none. */
const STANDARD_DECIMALS = 8;
/** The largest power of ten that is a whole number in every digit. */
const MOST_DECIMALS = 22;

/**
 * A datafeed for TradingView's Charting Library (Advanced Charts, Trading Platform): the pairs of a source in all
 * resolutions from `1S` to `6M`.
 *
 * What the chart holds after its bars, ticks and resets is the fold of the events. A tick replaces the last bar or
 * follows it. Where an older bar has changed, come late or gone, `onResetCacheNeeded` is called; the page has to call
 * `resetData()` of the chart then. Every callback is called in another macrotask, with bars of its own: those of a
 * request once. `noData` is true only where there is no bar before either.
 *
 * The polls of a series run from the first request that reaches the present, until 10 s later where nobody subscribes,
 * and until the last subscription ends. While the service is down, a symbol and a first request wait, and the source warns of
 * that. What ends a stream for good is the `reason` of a request; for a subscription, which has no place for it, the error is
 * reported as RxJS reports what nobody handles (`config.onUnhandledError`), and the next request begins anew. Give each
 * widget a datafeed of its own, as each has a cache of its own.
 *
 * Throws an `InvalidInputError` for what it cannot take.
 *
 * ```ts
 * import { createDatafeed } from "pairstream/tradingview";
 * import { gatewaySource } from "pairstream/sse";
 *
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const datafeed = createDatafeed(gatewaySource("https://example.com/pairs"), {
 *   symbols: [{ name: "BONK/SOL", network: "mainnet", pairAddress, currency: "usd" }],
 * });
 * // new TradingView.widget({ container: "chart", symbol: "BONK/SOL", interval: "1", datafeed, library_path: … });
 * ```
 */
export function createDatafeed(source: PairSource, options: DatafeedOptions): Datafeed {
  checkSource(source, ["candles", "status", "history"]);
  checkNames(options, NAMES);
  const symbols = checkSymbols(options.symbols);
  const weekStart = checkWeekStart(options.weekStart);
  const { scheduler = asyncScheduler } = options;
  checkScheduler(scheduler);
  const clock = new HeardClock();
  const context: FeedContext = {
    source,
    weekStart,
    scheduler,
    hear: ({ observedAt }) => clock.hear(observedAt, scheduler.now()),
  };
  const feeds = new Map<string, Feed>();
  const followed = new Map<string, Feed>();

  const symbolOf = (name: unknown) => {
    const symbol = symbols.get(String(name).toUpperCase());
    if (symbol !== undefined) return symbol;
    throw new InvalidInputError("symbol", "one of the symbols of this datafeed", `is ${show(name)}`);
  };
  const feedOf = ({ name, ticker = name }: { name: string; ticker?: string }, resolution: string) => {
    const symbol = symbolOf(ticker);
    const timeframe = timeframeOf(resolution);
    if (timeframe === undefined) {
      throw new InvalidInputError("resolution", allResolutions().join(", "), `is ${show(resolution)}`);
    }
    const key = `${timeframe} ${symbol.name}`;
    const { network, pairAddress, currency } = symbol;
    const feed = feeds.get(key) ?? new Feed({ network, pairAddress, timeframe, currency }, context);
    feeds.set(key, feed);
    return feed;
  };
  /** One call in another macrotask. What it throws is reported as RxJS does. */
  const later = (call: () => void) =>
    of(call)
      .pipe(observeOn(scheduler))
      .subscribe((now) => now());
  /** One call when something has come, which is another macrotask, or one with the reason why it has not. */
  const answer = <T>(
    read: Observable<T>,
    onResult: (value: T) => void,
    onError: (reason: string) => void,
  ) => {
    const failure = (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      return of(() => onError(reason)).pipe(observeOn(scheduler));
    };
    read
      .pipe(
        map((value) => () => onResult(value)),
        catchError(failure),
      )
      .subscribe((call) => call());
  };

  return Object.freeze<Datafeed>({
    onReady(callback) {
      const configuration: DatafeedConfiguration = {
        supported_resolutions: allResolutions(),
        supports_time: true,
        supports_marks: false,
        supports_timescale_marks: false,
      };
      later(() => callback(configuration));
    },
    searchSymbols(userInput, _exchange, _symbolType, onResult) {
      const input = userInput.trim().toLowerCase();
      const found = [...symbols.values()].filter(({ name, description, pairAddress }) =>
        [name, description, pairAddress].some((text) => text.toLowerCase().includes(input)),
      );
      const items = found.map(({ name, description }) => ({
        symbol: name,
        full_name: name,
        ticker: name,
        description,
        exchange: "",
        type: "crypto",
      }));
      later(() => onResult(items));
    },
    resolveSymbol(symbolName, onResolve, onError) {
      const read = defer(() => feedOf({ name: symbolName }, "1").newest());
      const take = (newest: Candle | undefined) => onResolve(infoOf(symbolOf(symbolName), newest));
      answer(read, take, onError);
    },
    getBars(symbolInfo, resolution, periodParams, onResult, onError) {
      const read = defer(() => feedOf(symbolInfo, resolution).candles(periodParams));
      const take = (candles: readonly Candle[]) =>
        onResult(candles.map(barOf), { noData: candles.length === 0 });
      answer(read, take, onError);
    },
    subscribeBars(symbolInfo, resolution, onTick, listenerGuid, onResetCacheNeeded) {
      const feed = feedOf(symbolInfo, resolution);
      followed.get(listenerGuid)?.unsubscribe(listenerGuid);
      followed.set(listenerGuid, feed);
      feed.subscribe(listenerGuid, {
        onTick: (candle) => onTick(barOf(candle)),
        onReset: () => onResetCacheNeeded(),
      });
    },
    unsubscribeBars(listenerGuid) {
      followed.get(listenerGuid)?.unsubscribe(listenerGuid);
      followed.delete(listenerGuid);
    },
    getServerTime(callback) {
      later(() => {
        const now = scheduler.now();
        callback(Math.floor((clock.told(now) ?? now) / 1_000));
      });
    },
  });
}

type CheckedSymbol = Required<DatafeedSymbol>;

/** The symbols by their names in upper case. */
function checkSymbols(symbols: readonly DatafeedSymbol[]): ReadonlyMap<string, CheckedSymbol> {
  const checked = new Map<string, CheckedSymbol>();
  for (const symbol of Array.isArray(symbols) ? (symbols as readonly DatafeedSymbol[]) : []) {
    checkNames(symbol, SYMBOL_NAMES, "symbols.");
    const { network, pairAddress, currency } = checkSeries({ ...symbol, timeframe: "1min" });
    const { name, description = pairAddress } = symbol;
    checkText("symbols.name", name);
    checkText("symbols.description", description);
    const key = name.toUpperCase();
    if (checked.has(key))
      throw new InvalidInputError("symbols.name", "each name once", `is ${show(name)} twice`);
    checked.set(key, Object.freeze({ name, description, network, pairAddress, currency }));
  }
  if (checked.size > 0) return checked;
  throw new InvalidInputError("symbols", "a list of at least one symbol", `is ${show(symbols)}`);
}

function checkText(parameter: string, text: string): void {
  if (typeof text === "string" && text.trim() !== "" && text.length <= LONGEST_NAME) return;
  throw new InvalidInputError(parameter, `a text of 1 to ${LONGEST_NAME} characters`, `is ${show(text)}`);
}

function infoOf({ name, description }: CheckedSymbol, newest: Candle | undefined): LibrarySymbolInfo {
  const decimals = newest === undefined ? STANDARD_DECIMALS : decimalsOf(newest.close);
  return {
    name,
    full_name: name,
    ticker: name,
    description,
    type: "crypto",
    session: "24x7",
    timezone: "Etc/UTC",
    exchange: "",
    listed_exchange: "",
    format: "price",
    pricescale: 10 ** Math.min(MOST_DECIMALS, decimals),
    minmov: 1,
    has_seconds: true,
    seconds_multipliers: multipliersOf("S"),
    has_intraday: true,
    intraday_multipliers: multipliersOf(""),
    has_daily: true,
    daily_multipliers: multipliersOf("D"),
    has_weekly_and_monthly: true,
    weekly_multipliers: multipliersOf("W"),
    monthly_multipliers: multipliersOf("M"),
    supported_resolutions: allResolutions(),
    volume_precision: 2,
    data_status: "streaming",
  };
}
