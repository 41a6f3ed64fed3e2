import type { Series } from "../contract/model.js";
import type { CancelOrder, Order } from "./order.js";

/** The execution of an order, or of a part of it. Money is in the currency of the account. */
export interface Fill {
  /** The `id` of the order; `"liquidation"` if the broker closed the position because the account was worth nothing. */
  readonly id: string;
  /** The order; absent in a liquidation. */
  readonly order?: Order;
  /** The series whose candle filled it. */
  readonly series: Series;
  /** Whether tokens were bought or sold. */
  readonly side: "buy" | "sell";
  /** The timestamp of the candle that filled it, ms since the epoch. */
  readonly candle: number;
  /** When that candle was known to have closed, and so the fill, ms since the epoch by the service's clock. */
  readonly reportedAt: number;
  /** The price of the candle at which it was filled, from its low to its high. */
  readonly quote: number;
  /** The price that was paid or received: the quote with the slippage. */
  readonly price: number;
  /** How many tokens changed hands. */
  readonly quantity: number;
  /** The fee, in the currency of the account. */
  readonly fee: number;
  /** The cost of the difference between `price` and `quote`, in the currency of the account. */
  readonly slippage: number;
  /** `"maker"` for a limit order that had waited, `"taker"` for all others. */
  readonly liquidity: "maker" | "taker";
}

/**
 * Why an order was refused.
 *
 * - `invalid`: it is not a valid order; the message names the wrong property.
 * - `late`: it was decided on an event that is not `live`.
 * - `unknown-series`: its series is not among the feeds.
 * - `unknown-order`: the order that it names in `after`, or cancels, is not open.
 * - `duplicate-id`: another open order has its `id`.
 * - `no-position`: it sells more than is held, and the broker allows no short selling; or there is nothing to reduce.
 * - `not-flat`: it is `onlyIfFlat`, and tokens of the pair are held or owed.
 * - `insufficient-funds`: the account cannot pay for it.
 * - `no-price`: its size cannot be computed at the price of the fill, for example at a price of 0.
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
  | "not-flat"
  | "insufficient-funds"
  | "no-price"
  | "wrong-stop"
  | "ruined";

/** A refused order: it was refused when it was placed, or when it should have been filled. */
export interface Rejection {
  /** The order, or the cancellation of one. */
  readonly order: Order | CancelOrder;
  /** The reason as a name, for a `switch`. */
  readonly reason: RejectionReason;
  /** The reason in words, with the numbers. */
  readonly message: string;
  /** When it was known, ms since the epoch by the service's clock. */
  readonly at: number;
}

/**
 * An open order, or the rest of one, that was cancelled.
 *
 * - `asked`: the strategy cancelled it.
 * - `expired`: its `until` has passed.
 * - `immediate`: an `ioc` or `fok` order was not filled in full at once.
 * - `group`: another order of its group was filled.
 * - `position`: it only reduces, and the position is closed.
 * - `after`: the order that it waited for was cancelled without a fill, or an order that came after it was filled.
 * - `ruined`: the account is worth nothing.
 */
export interface Cancellation {
  /** The `id` of the order. */
  readonly id: string;
  /** The order. */
  readonly order: Order;
  /** The reason as a name, for a `switch`. */
  readonly reason: "asked" | "expired" | "immediate" | "group" | "position" | "after" | "ruined";
  /** When it was known, ms since the epoch by the service's clock. */
  readonly at: number;
}

/** The cost of owing tokens during one candle. */
export interface BorrowCost {
  /** The series of the owed tokens. */
  readonly series: Series;
  /** The cost, in the currency of the account. */
  readonly amount: number;
}

/** A report of the broker. */
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
