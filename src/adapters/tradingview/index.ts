/**
 * A datafeed for TradingView's Charting Library, and for whatever chart asks for bars as that does.
 *
 * @module pairstream/tradingview
 */

export { createDatafeed, type Datafeed, type DatafeedOptions, type DatafeedSymbol } from "./datafeed.js";
export type {
  Bar,
  DatafeedConfiguration,
  HistoryMetadata,
  LibrarySymbolInfo,
  PeriodParams,
  ResolutionString,
  SearchSymbolResultItem,
} from "./library.js";
