import type { Series } from "pairstream";

/** What the page draws. Instants are ms since the epoch, money is in the currency of the prices. */
export interface PageData {
  readonly pairs: readonly PagePair[];
  /** What the account was worth, ascending by time. */
  readonly curve: readonly CurvePoint[];
  readonly trades: readonly PageTrade[];
}

export interface PagePair {
  /** Of the candles here, which may be longer than those that were traded. */
  readonly series: Series;
  /** Timestamp, open, high, low, close, volume; one an interval. */
  readonly candles: readonly (readonly [number, number, number, number, number, number])[];
}

/** When, of the strategy, of buying and holding, and how far the strategy was below its highest, as a share, at worst. */
export type CurvePoint = readonly [at: number, equity: number, held: number, drawdown: number];

export interface PageTrade {
  /** Which of the pairs. */
  readonly pair: number;
  readonly side: "long" | "short";
  /** The candles that opened and closed it. */
  readonly from: number;
  readonly to?: number;
  readonly entry: number;
  readonly exit?: number;
  /** Absent while it is open. */
  readonly gain?: number;
}
