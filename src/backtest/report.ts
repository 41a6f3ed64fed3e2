import type { Series } from "../contract/model.js";
import type { CancelOrder, Order } from "./order.js";

/** An order, or a part of it, that was carried out. Money is in the currency of the account. */
export interface Fill {
  /** The `id` of the order, or `"liquidation"` where the broker closed a position of an account that was worth nothing. */
  readonly id: string;
  /** What was ordered; absent in a liquidation. */
  readonly order?: Order;
  /** Whose candle filled it. */
  readonly series: Series;
  readonly side: "buy" | "sell";
  /** The timestamp of the candle that filled it, ms since the epoch. */
  readonly candle: number;
  /** When that candle was known to have closed, and the fill with it, by the service's clock, ms since the epoch. */
  readonly reportedAt: number;
  /** The candle's price at which it was filled: never above its high nor below its low. */
  readonly quote: number;
  /** The price that was paid: the quote, and the slippage on top of it. */
  readonly price: number;
  /** How many tokens changed hands. */
  readonly quantity: number;
  /** In the currency of the account. */
  readonly fee: number;
  /** What the difference between `price` and `quote` came to, in the currency of the account. */
  readonly slippage: number;
  /** `maker` for a limit order that had waited. */
  readonly liquidity: "maker" | "taker";
}

/**
 * Why an order was refused.
 *
 * - `invalid`: it is not a valid order; the message names the wrong property.
 * - `late`: it was decided on an event that is not `live`.
 * - `unknown-series`, `unknown-order`, `duplicate-id`: what it names is not there, or is there already.
 * - `no-position`: it sells more than is held, where the broker allows no shorts, or there is nothing to reduce.
 * - `insufficient-funds`: the account cannot pay for it.
 * - `no-price`: at the price of that instant its size is no amount of tokens, as for a price of 0.
 * - `wrong-stop`: the `stop` of a `risk` is on the wrong side of the fill.
 * - `ruined`: the account is worth nothing.
 */
export type RejectionReason =
  | "invalid"
  | "late"
  | "unknown-series"
  | "unknown-order"
  | "duplicate-id"
  | "no-position"
  | "insufficient-funds"
  | "no-price"
  | "wrong-stop"
  | "ruined";

/** An order that was refused, when it was placed or when it should have been filled. */
export interface Rejection {
  /** What was ordered. */
  readonly order: Order | CancelOrder;
  /** The reason as a name, for a `switch`. */
  readonly reason: RejectionReason;
  /** The reason in words, with the numbers. */
  readonly message: string;
  /** When that was known, by the service's clock, ms since the epoch. */
  readonly at: number;
}

/**
 * An open order that went without being filled, or the rest of one.
 *
 * - `asked`: a `cancel` requested it. `expired`: its `until` has passed. `immediate`: `ioc` or `fok` did not get all.
 * - `group`: another one of its group was filled. `position`: it only reduces, and the position is closed. `after`: the order that it waited for went without a fill, or one that
 *   came after it has been filled. `ruined`: the account is worth nothing.
 */
export interface Cancellation {
  /** The `id` of the order. */
  readonly id: string;
  /** What was ordered. */
  readonly order: Order;
  readonly reason: "asked" | "expired" | "immediate" | "group" | "position" | "after" | "ruined";
  /** When that was known, by the service's clock, ms since the epoch. */
  readonly at: number;
}

/** What it cost to owe tokens while a candle lasted. */
export interface BorrowCost {
  /** Whose tokens are owed. */
  readonly series: Series;
  /** In the currency of the account. */
  readonly amount: number;
}

/** What a broker has to say. */
export type Report =
  | { readonly type: "borrow"; readonly borrow: BorrowCost }
  | { readonly type: "fill"; readonly fill: Fill }
  | { readonly type: "rejection"; readonly rejection: Rejection }
  | { readonly type: "cancellation"; readonly cancellation: Cancellation };

export function reportFill(fill: Fill): Report {
  return Object.freeze({ type: "fill", fill: Object.freeze(fill) });
}

export function reportRejection(rejection: Rejection): Report {
  return Object.freeze({ type: "rejection", rejection: Object.freeze(rejection) });
}

export function reportCancellation(cancellation: Cancellation): Report {
  return Object.freeze({ type: "cancellation", cancellation: Object.freeze(cancellation) });
}

export function reportBorrow(borrow: BorrowCost): Report {
  return Object.freeze({ type: "borrow", borrow: Object.freeze(borrow) });
}
