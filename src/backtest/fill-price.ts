import type { OpenOrder } from "./open-order.js";
import { isReducing } from "./order.js";
import type { RejectionReason } from "./report.js";
import type { BrokerRules } from "./rules.js";

/** What an account has while an order of a pair is filled. */
export interface Funds {
  readonly cash: number;
  /** Tokens of the pair; below 0 where they are owed. */
  readonly quantity: number;
  /** What the positions in other pairs are worth, and the sum of their sizes without signs, in the currency. */
  readonly others: { readonly value: number; readonly gross: number };
}

/** What an order comes to at a price. */
export type Deal =
  | { readonly quantity: number; readonly price: number; readonly fee: number; readonly wanted: number }
  | { readonly reason: RejectionReason; readonly message: string };

/** How far amounts may be off that should be equal, as a share of them. */
const ROUNDING = 1e-9;

/**
 * Works out what an order trades at a candle's price. `most`: the value that the candle has left for it; `traded`: the
 * value that was traded in it.
 *
 * The account never owes money: after a fill that makes a position larger, all positions together, without signs, are
 * worth no more than the account.
 */
export function dealOf(
  open: OpenOrder,
  quote: number,
  isMaker: boolean,
  funds: Funds,
  rules: BrokerRules,
  most: number,
  traded: number,
): Deal {
  const { order } = open;
  const { cash, quantity: held, others } = funds;
  const sign = order.side === "buy" ? 1 : -1;
  const isOpposite = held * sign < 0;
  if (isReducing(order) && !isOpposite)
    return { reason: "no-position", message: "there is nothing to reduce" };
  if (order.onlyIfFlat === true && held !== 0 && open.remaining === undefined)
    return { reason: "not-flat", message: `the position is ${held} tokens` };

  if (!(quote > 0)) return { reason: "no-price", message: `the price is ${quote}, and nobody trades at it` };

  const rate = isMaker ? rules.fees.maker : rules.fees.taker;
  const { fixed } = rules.fees;
  const equity = cash + held * quote + others.value;
  // What a token costs the account beyond its own worth is paid out of the account, of shorts too.
  const costOf = (price: number) => quote + Math.abs(price - quote) + price * rate;
  const free = equity - others.gross - (isOpposite ? -1 : 1) * Math.abs(held) * quote - fixed;
  const sizeAt = (price: number): number => {
    const { size } = order;
    if (open.remaining !== undefined) return open.remaining;
    if ("quantity" in size) return size.quantity;
    if ("position" in size) return Math.abs(held) * size.position;
    if ("amount" in size) return (size.amount - fixed) / costOf(price);
    if ("equity" in size) return (equity * size.equity - fixed) / costOf(price);
    return Math.min((equity * size.risk) / (sign * (price - size.stop)), free / costOf(price));
  };
  const bounded = (quantity: number) => {
    const reducing = isReducing(order) ? Math.min(quantity, Math.abs(held)) : quantity;
    return { wanted: reducing, quantity: Math.min(reducing, most / quote) };
  };

  if ("risk" in order.size && sign * (quote - order.size.stop) <= 0) {
    const message = `a ${order.side} at ${quote} cannot have its stop at ${order.size.stop}`;
    return { reason: "wrong-stop", message };
  }
  // A worse price buys no more, so that the slippage of the larger size is enough.
  const price = isMaker ? quote : slipped(open, quote, bounded(sizeAt(quote)).quantity, rules, traded);
  const { wanted, quantity: bought } = bounded(sizeAt(price));
  const isAll = isOpposite && Math.abs(bought - Math.abs(held)) <= Math.abs(held) * ROUNDING;
  const quantity = isAll ? Math.abs(held) : bought;
  if (!(wanted > 0 && wanted < Infinity)) {
    const isPoor = wanted <= 0 && ("amount" in order.size || "equity" in order.size || "risk" in order.size);
    if (isPoor) return { reason: "insufficient-funds", message: "its size does not cover the costs" };
    return { reason: "no-price", message: `at a price of ${quote} its size is ${wanted} tokens` };
  }
  if (sign < 0 && rules.short === undefined && quantity > held * (1 + ROUNDING)) {
    return { reason: "no-position", message: `it sells ${quantity} tokens, and ${held} are held` };
  }
  const fee = quantity * price * rate + fixed;
  const after = held + sign * quantity;
  if (Math.abs(after) > Math.abs(held) || held * after < 0) {
    const worth = cash - sign * quantity * price - fee + after * quote + others.value;
    const gross = Math.abs(after) * quote + others.gross;
    if (gross > worth + Math.abs(equity) * ROUNDING) {
      const message = `the positions would be worth ${gross}, and the account ${worth} after costs`;
      return { reason: "insufficient-funds", message };
    }
  }
  return { quantity, price, fee, wanted: isAll ? quantity : wanted };
}

/** The price after slippage. */
function slipped(
  { order }: OpenOrder,
  quote: number,
  quantity: number,
  { slippage }: BrokerRules,
  traded: number,
): number {
  const by =
    "amount" in slippage
      ? slippage.amount
      : "share" in slippage
        ? quote * slippage.share
        : quote * Math.min(1, slippage.impact * (traded > 0 ? (quantity * quote) / traded : 0) ** 2);
  const price = order.side === "buy" ? quote + by : Math.max(0, quote - by);
  if (order.type !== "limit" && order.type !== "stop-limit") return price;
  return order.side === "buy" ? Math.min(price, order.limit) : Math.max(price, order.limit);
}
