import { checkSeries, show } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";

/** How much an order trades. Sizes that depend on the price or the account are computed at the fill. */
export type OrderSize =
  | {
      /** How many tokens; above 0. */
      readonly quantity: number;
    }
  | {
      /** The money to spend, costs included, in the currency of the account; above 0. */
      readonly amount: number;
    }
  | {
      /** The money to spend as a share of the account's value, above 0, at most 1. */
      readonly equity: number;
    }
  | {
      /**
       * The loss, as a share of the account's value, if the price goes from the fill to `stop`, without costs; above 0, at
       * most 1. It buys no more than the account can pay. The stop itself is a separate order.
       */
      readonly risk: number;
      /** The price at which the trade counts as lost: below the fill of a buy, above that of a sell. */
      readonly stop: number;
    }
  | {
      /** A share of the position in the pair, above 0, at most 1. Such an order only reduces. */
      readonly position: number;
    };

/** How far behind the best price a trailing stop stays. */
export type TrailDistance =
  | {
      /** In the currency of the prices; above 0. */
      readonly amount: number;
    }
  | {
      /** A share of the best price, above 0, below 1. */
      readonly share: number;
    };

/** The fields of every order. */
export interface OrderBase {
  /** A name for `after` and for cancelling, unique among the open orders; default: `#` and a number. */
  readonly id?: string;
  /** The series whose candles fill it. Positions are kept by pair. */
  readonly series: Series;
  /** Whether it buys or sells tokens. */
  readonly side: "buy" | "sell";
  /** How much it trades. */
  readonly size: OrderSize;
  /**
   * `"gtc"`, the default: until it is filled or cancelled. For market and limit orders also `"ioc"`: what the first open
   * does not fill is cancelled; and `"fok"`: the first open fills all of it, or nothing.
   */
  readonly timeInForce?:
    | "gtc"
    | "ioc"
    | "fok"
    | {
        /** No candle that ends later fills the order, ms since the epoch. */
        readonly until: number;
      };
  /**
   * The order waits until the order of this `id` is filled, at least in part. If that one is cancelled without a fill,
   * so is this one.
   */
  readonly after?: string;
  /**
   * One cancels the other: the first fill of an order cancels all others of its group. Orders that only reduce wait for
   * that until one of them is filled in whole.
   */
  readonly group?: string;
  /** Whether the order may only make a position smaller; default false, and true if `size` is a `position`. */
  readonly reduceOnly?: boolean;
  /**
   * Whether it is refused (`not-flat`) if tokens of the pair are held or owed when its first part would be filled; default false.
   * So a strategy that buys again and again holds one position. Not with `reduceOnly`, nor with a `position` as `size`.
   */
  readonly onlyIfFlat?: boolean;
}

/**
 * An order of a strategy.
 *
 * - `market`: filled at the open of the first candle that begins after the order is known.
 * - `limit`: at the `limit` price or better.
 * - `stop`: becomes a market order at `stop`, a price that is worse than the present one.
 * - `stop-limit`: becomes a limit order at `stop`.
 * - `trailing-stop`: a stop that follows the best price since it became active, at a distance.
 * - `take-profit`: becomes a market order at `target`, a price that is better than the present one.
 */
export type Order = OrderBase &
  (
    | { readonly type: "market" }
    | {
        readonly type: "limit";
        /** The worst price that it takes. */
        readonly limit: number;
      }
    | {
        readonly type: "stop";
        /** The price that makes it a market order. */
        readonly stop: number;
      }
    | {
        readonly type: "stop-limit";
        /** The price that makes it a limit order. */
        readonly stop: number;
        /** The worst price that it takes. */
        readonly limit: number;
      }
    | {
        readonly type: "trailing-stop";
        /** How far behind the best price it stays. */
        readonly trail: TrailDistance;
      }
    | {
        readonly type: "take-profit";
        /** The price that makes it a market order. */
        readonly target: number;
      }
  );

/** Cancels an open order. A candle that has already begun may still fill it. */
export interface CancelOrder {
  readonly type: "cancel";
  /** The `id` of the order. */
  readonly id: string;
}

const PRICES = {
  market: [],
  limit: ["limit"],
  stop: ["stop"],
  "stop-limit": ["stop", "limit"],
  "trailing-stop": [],
  "take-profit": ["target"],
} as const;
/** What an order of each type has besides. */
const NAMES = { ...PRICES, "trailing-stop": ["trail"] } as const;
/** The names of the fields of every order. */
const FIELDS = /* @__PURE__ */ namesOf<OrderBase & Pick<Order, "type">>({
  type: true,
  id: true,
  series: true,
  side: true,
  size: true,
  timeInForce: true,
  after: true,
  group: true,
  reduceOnly: true,
  onlyIfFlat: true,
});

/**
 * What no broker could carry out, in words; `undefined` if the order is one. `isKnown`: its series has been checked, and
 * cannot have changed.
 */
export function flawOfOrder(order: Order, isKnown = false): string | undefined {
  if (typeof order !== "object" || order === null) return `an order is ${show(order)}, not an object`;
  if (!Object.hasOwn(PRICES, order.type))
    return `type is ${show(order.type)}, not one of ${Object.keys(PRICES).join(", ")}`;
  if (order.side !== "buy" && order.side !== "sell") return `side is ${show(order.side)}, not buy or sell`;
  for (const name of PRICES[order.type]) {
    const price = (order as unknown as Record<string, unknown>)[name];
    if (!isAbove0(price)) return `${name} is ${show(price)}, not a finite price above 0`;
  }
  return (
    flawOf(() => checkNames(order, [...FIELDS, ...NAMES[order.type]])) ??
    flawOfNames(order) ??
    (isKnown ? undefined : flawOf(() => checkSeries(order.series), "series: ")) ??
    flawOfTrail(order) ??
    flawOfSize(order.size) ??
    (order.onlyIfFlat === true && isReducing(order)
      ? "onlyIfFlat: there is nothing to reduce then"
      : undefined) ??
    flawOfTime(order)
  );
}

function flawOfNames(order: Order): string | undefined {
  for (const name of ["id", "after", "group"] as const) {
    const value = order[name];
    if (value !== undefined && (typeof value !== "string" || value === ""))
      return `${name} is ${show(value)}, not a string of at least one character`;
  }
  for (const name of ["reduceOnly", "onlyIfFlat"] as const) {
    const value = order[name];
    if (value !== undefined && typeof value !== "boolean")
      return `${name} is ${show(value)}, not true or false`;
  }
  return undefined;
}

function flawOf(check: () => unknown, prefix = ""): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInputError) return prefix + error.message;
    throw error;
  }
}

function flawOfTrail(order: Order): string | undefined {
  if (order.type !== "trailing-stop") return undefined;
  const { amount, share } = Object(order.trail) as { amount?: unknown; share?: unknown };
  if (share === undefined && isAbove0(amount)) return undefined;
  if (amount === undefined && isAbove0(share) && share < 1) return undefined;
  return "trail is neither an amount above 0 nor a share above 0 and below 1";
}

function flawOfSize(size: OrderSize): string | undefined {
  const { stop, ...rest } = Object(size) as Record<string, unknown>;
  const [[name, value] = [], ...others] = Object.entries(rest);
  if (others.length > 0 || (name !== "risk") !== (stop === undefined))
    return "size has not exactly one of quantity, amount, equity, position, or risk with stop";
  if (name === "quantity" || name === "amount") {
    return isAbove0(value) ? undefined : `size.${name} is ${show(value)}, not a finite number above 0`;
  }
  if (name !== "equity" && name !== "risk" && name !== "position")
    return "size has none of quantity, amount, equity, position, or risk with stop";
  if (!isAbove0(value) || value > 1)
    return `size.${name} is ${show(value)}, not a share above 0 and at most 1`;
  if (name === "risk" && !isAbove0(stop)) return `size.stop is ${show(stop)}, not a finite price above 0`;
  return undefined;
}

function flawOfTime({ timeInForce, type }: Order): string | undefined {
  if (timeInForce === undefined || timeInForce === "gtc") return undefined;
  if (timeInForce === "ioc" || timeInForce === "fok") {
    return type === "market" || type === "limit" ? undefined : `a ${type} order cannot be ${timeInForce}`;
  }
  const { until } = Object(timeInForce) as { until?: unknown };
  return typeof until === "number" && Number.isFinite(until)
    ? undefined
    : `timeInForce is ${show(timeInForce)}, not gtc, ioc, fok or { until } in ms since the epoch`;
}

function isAbove0(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value < Infinity;
}

/** Whether an order may only make a position smaller. */
export function isReducing({ reduceOnly, size }: Order): boolean {
  return reduceOnly === true || "position" in size;
}

/** The name of a pair in one currency: what a position is kept by. */
export function pairKeyOf({ network, pairAddress, currency }: Series): string {
  return `${network}/${pairAddress}/${currency}`;
}

/** The name of a series. */
export function seriesKeyOf(series: Series): string {
  return `${pairKeyOf(series)}/${series.timeframe}`;
}
