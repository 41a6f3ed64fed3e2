import { type CandleEvent, InvalidInputError } from "pairstream";

/** What a strategy wants done, decided on a candle that has closed. */
export interface Order {
  readonly side: "buy" | "sell";
  /** The timestamp of that candle, ms since the epoch. */
  readonly candle: number;
  /** When the candle was known to have closed, by the service's clock, ms since the epoch. */
  readonly placedAt: number;
  /** Its close: what the strategy saw, not what it will get. */
  readonly price: number;
}

/** What trading costs, and what there is to trade with. */
export interface BrokerRules {
  /** Money at the start, in the currency of the prices; above 0. */
  readonly cash: number;
  /** The share of a traded amount that goes to the pool, from 0 to below 1: 0.003 for 0.3 %. */
  readonly fee: number;
  /** How much worse than the open a fill is, as a share of it, from 0 to below 1. */
  readonly slippage: number;
}

/** 0.3 % is what many pools take; slippage for an amount that a pool of some size hardly feels. */
export const USUAL_RULES: BrokerRules = { cash: 10_000, fee: 0.003, slippage: 0.001 };

/** An order that was carried out. */
export interface Fill {
  readonly order: Order;
  /** The timestamp of the candle at whose open it was filled, ms since the epoch. */
  readonly candle: number;
  /** After slippage, before the fee. */
  readonly price: number;
  /** How many tokens changed hands. */
  readonly quantity: number;
  /** In the currency of the prices. */
  readonly fee: number;
}

/** What somebody has, and wants. */
export interface Account {
  readonly cash: number;
  /** Tokens held; above 0 only where `cash` is 0: this broker knows all or nothing. */
  readonly quantity: number;
  /** An order that waits for its candle. */
  readonly pending: Order | undefined;
}

/** What a broker sees of a candle. */
export type Quote = Pick<CandleEvent, "type" | "candle" | "status" | "observedAt">;

/** Checks the rules, and opens an account with nothing but cash. */
export function openAccount({ cash, fee, slippage }: BrokerRules): Account {
  if (!(cash > 0 && cash < Number.POSITIVE_INFINITY)) {
    throw new InvalidInputError("cash", "a finite amount above 0", `is ${cash}`);
  }
  for (const [name, share] of Object.entries({ fee, slippage })) {
    if (!(share >= 0 && share < 1)) {
      throw new InvalidInputError(name, "a share from 0 to below 1", `is ${share}`);
    }
  }
  return { cash, quantity: 0, pending: undefined };
}

/** Takes an order. One that asks for what the account is already in leaves it there, and calls off one that waits. */
export function placeOrder(account: Account, order: Order): Account {
  const isHolding = account.quantity > 0;
  return { ...account, pending: isHolding === (order.side === "buy") ? undefined : order };
}

/**
 * Fills the order that waits at the open of the first candle after the one it was decided on: all of the cash, or all
 * of the tokens. After an outage several candles turn up at once, over already when the order was placed; nobody
 * could have traded at their opens, so that a candle counts only while it is open, or when it is seen after the order.
 */
export function fillOrder(
  account: Account,
  quote: Quote,
  { fee: rate, slippage }: BrokerRules,
): { readonly account: Account; readonly fill?: Fill } {
  const { cash, quantity, pending } = account;
  if (pending === undefined || quote.type === "removed" || quote.candle.timestamp <= pending.candle) {
    return { account };
  }
  if (quote.status !== "open" && quote.observedAt <= pending.placedAt) return { account };
  const { timestamp, open } = quote.candle;
  if (pending.side === "buy") {
    const price = open * (1 + slippage);
    const bought = cash / (price * (1 + rate));
    // At a price of nothing there is nobody to buy from.
    if (!(bought > 0 && bought < Number.POSITIVE_INFINITY)) return { account };
    const fee = bought * price * rate;
    return {
      account: { cash: 0, quantity: bought, pending: undefined },
      fill: { order: pending, candle: timestamp, price, quantity: bought, fee },
    };
  }
  const price = open * (1 - slippage);
  const fee = quantity * price * rate;
  return {
    account: { cash: cash + quantity * price - fee, quantity: 0, pending: undefined },
    fill: { order: pending, candle: timestamp, price, quantity, fee },
  };
}

/** What the account is worth at a price, before the costs of selling. */
export function equityOf({ cash, quantity }: Account, price: number): number {
  return quantity > 0 ? cash + quantity * price : cash;
}
