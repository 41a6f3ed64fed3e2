/**
 * Candles and snipers of a polled service as RxJS streams, with operators and indicators for them, and with replay, so
 * that you can test a strategy on the past.
 *
 * @module pairstream
 */

export type { CandleEvent, CandleEventBase, CandleStatus } from "./candles/event.js";
export { applyCandleEvent } from "./candles/event.js";
export { type FetchCandlesOptions, fetchCandles } from "./candles/fetch.js";
export type { HistoryQuery } from "./candles/history.js";
export type { WatchOptions } from "./candles/options.js";
export { watchCandles } from "./candles/watch.js";
export type {
  ClientActivity,
  ClockActivity,
  DroppedActivity,
  QuotaActivity,
  RequestActivity,
  ResponseActivity,
  RetryActivity,
  StoreActivity,
  ThrottledActivity,
} from "./client/activity.js";
export { createClient } from "./client/client.js";
export type { CallOptions, Client, Priority } from "./client/core.js";
export type { ClientOptions } from "./client/options.js";
export type { FetchLike } from "./client/send/transport.js";
export type {
  AnyTimeframe,
  Candle,
  Currency,
  DateLike,
  Network,
  OhlcvPage,
  OhlcvQuery,
  Series,
  Sniper,
  SniperQuery,
  SniperReport,
  SniperTotal,
  SniperTransaction,
  Timeframe,
  WeekStart,
} from "./contract/model.js";
export { TIMEFRAMES } from "./contract/model.js";
export { type Cost, type CostEstimate, type CostOptions, estimateCost } from "./cost.js";
export type { AnyPairstreamError, PairstreamErrorName } from "./errors.js";
export {
  AuthenticationError,
  ContractError,
  HttpError,
  InvalidInputError,
  isPairstreamError,
  NetworkError,
  PairstreamError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "./errors.js";
export { type FeedStatus, watchFeedStatus } from "./feed-status.js";
export { type Health, healthOf } from "./health.js";
export { dema } from "./indicators/averages/dema.js";
export { ema } from "./indicators/averages/ema.js";
export { hma } from "./indicators/averages/hma.js";
export { kama } from "./indicators/averages/kama.js";
export { type LinearRegression, linearRegression } from "./indicators/averages/linear-regression.js";
export { rma } from "./indicators/averages/rma.js";
export { sma } from "./indicators/averages/sma.js";
export { tema } from "./indicators/averages/tema.js";
export { vwma } from "./indicators/averages/vwma.js";
export { wma } from "./indicators/averages/wma.js";
export {
  type IndicatorColumns,
  type IndicatorColumnsOptions,
  indicatorColumns,
} from "./indicators/columns/indicator-columns.js";
export { type Indicator, indicator, type Kernel, type OwnIndicatorOptions } from "./indicators/kernel.js";
export { awesomeOscillator } from "./indicators/momentum/awesome-oscillator.js";
export { cci } from "./indicators/momentum/cci.js";
export { cmo } from "./indicators/momentum/cmo.js";
export { type Macd, macd } from "./indicators/momentum/macd.js";
export { mfi } from "./indicators/momentum/mfi.js";
export { momentum } from "./indicators/momentum/momentum.js";
export { type Ppo, ppo } from "./indicators/momentum/ppo.js";
export { roc } from "./indicators/momentum/roc.js";
export { rsi } from "./indicators/momentum/rsi.js";
export { stochRsi } from "./indicators/momentum/stoch-rsi.js";
export { type Stochastic, stochastic } from "./indicators/momentum/stochastic.js";
export { trix } from "./indicators/momentum/trix.js";
export { ultimateOscillator } from "./indicators/momentum/ultimate-oscillator.js";
export { williamsR } from "./indicators/momentum/williams-r.js";
export type { CandleColumns, ColumnsOf } from "./indicators/rows.js";
export type { Price, Source, SourceOptions } from "./indicators/source.js";
export { adx, type DirectionalMovement } from "./indicators/trend/adx.js";
export { type Aroon, aroon } from "./indicators/trend/aroon.js";
export { type Ichimoku, ichimoku } from "./indicators/trend/ichimoku.js";
export { psar } from "./indicators/trend/psar.js";
export { type Supertrend, supertrend } from "./indicators/trend/supertrend.js";
export { atr } from "./indicators/volatility/atr.js";
export { type BollingerBands, bollinger } from "./indicators/volatility/bollinger.js";
export { type DonchianChannel, donchian } from "./indicators/volatility/donchian.js";
export { highest } from "./indicators/volatility/highest.js";
export { type KeltnerChannel, keltner } from "./indicators/volatility/keltner.js";
export { lowest } from "./indicators/volatility/lowest.js";
export { natr } from "./indicators/volatility/natr.js";
export { stdDev } from "./indicators/volatility/std-dev.js";
export { trueRange } from "./indicators/volatility/true-range.js";
export { adl } from "./indicators/volume/adl.js";
export { chaikinOscillator } from "./indicators/volume/chaikin-oscillator.js";
export { cmf } from "./indicators/volume/cmf.js";
export { obv } from "./indicators/volume/obv.js";
export { type VwapOptions, vwap } from "./indicators/volume/vwap.js";
export { type LatestCandles, type LatestCandlesQuery, latestCandles } from "./latest/latest-candles.js";
export { type LatestSniperReport, latestSniperReport } from "./latest/latest-sniper-report.js";
export type { LatestOptions } from "./latest/options.js";
export type { CloseOptions } from "./operators/by-series.js";
export { closes } from "./operators/closes.js";
export { type CrossesOptions, type Crossing, crosses } from "./operators/crosses.js";
export { finals } from "./operators/finals.js";
export { heikinAshi } from "./operators/heikin-ashi.js";
export type { IndicatorEvent, IndicatorValues } from "./operators/indicator-event.js";
export { latest } from "./operators/latest.js";
export type { CandlePath, Line, Operand, ValuePath } from "./operators/operand.js";
export { type ResampleOptions, resample } from "./operators/resample.js";
export { type AsyncIterableOptions, toAsyncIterable } from "./operators/to-async-iterable.js";
export { withIndicators } from "./operators/with-indicators.js";
export { withTimeframe } from "./operators/with-timeframe.js";
export { type PauseOptions, pauseWhileHidden } from "./pause/pause-while-hidden.js";
export { assertNoLookahead, type LookaheadOptions } from "./replay/no-lookahead.js";
export { readCandles } from "./replay/read-candles.js";
export { type RecordOptions, recordExchanges } from "./replay/record.js";
export { replayExchanges, type Tape } from "./replay/replay.js";
export { type ReplayCandlesOptions, replayCandles } from "./replay/replay-candles.js";
export { VirtualClock } from "./replay/virtual-clock.js";
export { applySniperEvent, emptyReport, type SniperEvent } from "./snipers/event.js";
export { holdingOf, type SniperHolding } from "./snipers/holding.js";
export type { KnownSnipers } from "./snipers/known.js";
export type { SniperLook } from "./snipers/look.js";
export { sniperTrades, watchSniperReport } from "./snipers/report.js";
export { type SniperSummary, type SummaryOptions, summarizeSnipers } from "./snipers/summary.js";
export type { SniperTrade } from "./snipers/trades.js";
export { type SniperWatch, watchSnipers } from "./snipers/watch.js";
export { clientSource, type PairSource } from "./source.js";
export { intervalOf } from "./timeframe.js";
