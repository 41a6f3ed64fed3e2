export type { CandleEvent, CandleStatus } from "./candles/event.js";
export { applyCandleEvent } from "./candles/event.js";
export { type FetchCandlesOptions, fetchCandles } from "./candles/fetch.js";
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
  ThrottledActivity,
} from "./client/activity.js";
export { createClient } from "./client/client.js";
export type { CallOptions, Client, Priority } from "./client/core.js";
export type { ClientOptions } from "./client/options.js";
export type { FetchLike } from "./client/transport.js";
export type {
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
export type { PairstreamErrorName } from "./errors.js";
export {
  AuthenticationError,
  ContractError,
  HttpError,
  InvalidInputError,
  NetworkError,
  PairstreamError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "./errors.js";
export { type FeedStatus, watchFeedStatus } from "./feed-status.js";
export { closes } from "./operators/closes.js";
export { finals } from "./operators/finals.js";
export { latest } from "./operators/latest.js";
export { VirtualClock } from "./replay/virtual-clock.js";
export { applySniperEvent, emptyReport, type SniperEvent } from "./snipers/diff.js";
export { type SniperWatch, watchSnipers } from "./snipers/watch.js";
