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
} from "./contract.js";
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
