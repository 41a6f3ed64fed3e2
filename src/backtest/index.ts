/**
 * Runs strategies on paper, over past candles or live events, with fees, slippage and other rules of a broker, and computes
 * the results.
 *
 * @module pairstream/backtest
 */

export {
  type BacktestFeed,
  type BacktestOptions,
  type BacktestResult,
  backtest,
  type PlacedOrder,
} from "./backtest.js";
export type { Position } from "./broker.js";
export type { EquityPoint } from "./curve.js";
export type { Account } from "./ledger.js";
export type { CancelOrder, Order, OrderBase, OrderSize, TrailDistance } from "./order.js";
export type { Cancellation, Fill, Rejection, RejectionReason } from "./report.js";
export type { BrokerOptions, BrokerRules, FeeOptions, InsideBar, Slippage } from "./rules.js";
export type { Figure, Statistics } from "./statistics.js";
export type { Strategy, StrategyAccount } from "./strategy.js";
export {
  type SweepFigures,
  type SweepOptions,
  type SweepResult,
  type SweepRow,
  type SweepSplit,
  type SweepWindow,
  sweep,
} from "./sweep.js";
export { SweepError } from "./sweep-error.js";
export type { TimeRange } from "./sweep-run.js";
export { type PaperEvent, type PaperOptions, tradeOnPaper } from "./trade-on-paper.js";
export type { Trade } from "./trades.js";
