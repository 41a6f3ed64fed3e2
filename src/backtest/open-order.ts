import type { Order } from "./order.js";

/** An order that waits. It is replaced, never altered, so that what might happen can be tried. */
export interface OpenOrder {
  readonly id: string;
  readonly order: Order;
  readonly pair: string;
  readonly series: string;
  /** It takes part in candles that begin then or later, ms since the epoch. */
  readonly from: number;
  /** It takes part in no candle that begins then or later. */
  readonly cancelFrom: number;
  /** Whether the order that it comes `after` has no fill yet. */
  readonly isWaiting: boolean;
  /** Whether its stop or target has been reached. */
  readonly isTriggered: boolean;
  /** Whether it was there, and could not be filled, at some price so far. */
  readonly hasRested: boolean;
  /** The best price since a trailing stop became active. */
  readonly best: number | undefined;
  /** The tokens that are left to trade; unknown until the first fill. */
  readonly remaining: number | undefined;
}

/** Whether an order trades at a price as soon as the price is there. */
export function isDue({ order, isTriggered, best }: OpenOrder, price: number): boolean {
  const isBuy = order.side === "buy";
  switch (order.type) {
    case "market":
      return true;
    case "limit":
      return isBuy ? price <= order.limit : price >= order.limit;
    case "stop-limit":
      return isTriggered && (isBuy ? price <= order.limit : price >= order.limit);
    default:
      return isTriggered || reaches(order, price, best);
  }
}

/** Whether a stop or target is reached at a price. */
export function isTriggeredBy({ order, isTriggered, best }: OpenOrder, price: number): boolean {
  return !isTriggered && reaches(order, price, best);
}

function reaches(order: Order, price: number, best: number | undefined): boolean {
  const isBuy = order.side === "buy";
  switch (order.type) {
    case "stop":
    case "stop-limit":
      return isBuy ? price >= order.stop : price <= order.stop;
    case "take-profit":
      return isBuy ? price <= order.target : price >= order.target;
    case "trailing-stop": {
      if (best === undefined) return false;
      const level = levelOf(order, best);
      return isBuy ? price >= level : price <= level;
    }
    default:
      return false;
  }
}

/** The price at which an order has something to do; `undefined` for one that does it at any. */
export function turnOf({ order, isTriggered, best }: OpenOrder): number | undefined {
  switch (order.type) {
    case "market":
      return undefined;
    case "limit":
      return order.limit;
    case "stop-limit":
      return isTriggered ? order.limit : order.stop;
    case "stop":
      return isTriggered ? undefined : order.stop;
    case "take-profit":
      return isTriggered ? undefined : order.target;
    case "trailing-stop":
      return isTriggered || best === undefined ? undefined : levelOf(order, best);
  }
}

function levelOf({ side, trail }: Order & { readonly type: "trailing-stop" }, best: number): number {
  const sign = side === "buy" ? 1 : -1;
  return "amount" in trail ? best + sign * trail.amount : best * (1 + sign * trail.share);
}

/** A trailing stop after the price has been there. */
export function follow(open: OpenOrder, price: number): OpenOrder {
  const { order, best } = open;
  if (order.type !== "trailing-stop" || open.isTriggered) return open;
  const isBetter = best === undefined || (order.side === "buy" ? price < best : price > best);
  return isBetter ? { ...open, best: price } : open;
}
