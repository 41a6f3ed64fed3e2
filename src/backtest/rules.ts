import { checkChoice, checkNumber, checkTimeframe } from "../contract/input.js";
import type { AnyTimeframe } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";

/**
 * The path that the price is assumed to take within a candle. A candle does not tell it.
 *
 * - `"pessimistic"`: the path after which the account is worth the least at the close. The high may come before the low or
 *   after it, and the price may turn at the prices of open orders. A stop comes before a target.
 * - `"optimistic"`: the path after which the account is worth the most. If the results of the two differ much, candles of
 *   this length cannot tell what the strategy is worth: add shorter ones, with `within`.
 * - `"high-first"`: open, high, low, close.
 * - `"low-first"`: open, low, high, close.
 */
export type InsideBar = "pessimistic" | "optimistic" | "high-first" | "low-first";

/** The fees of trading, as shares of the traded value (0.003 for 0.3 %), or in the currency of the account. */
export interface FeeOptions {
  /** The fee of limit orders that have waited, a share from 0 to below 1; default 0.003, which many pools take. */
  maker?: number;
  /** The fee of all other orders, a share from 0 to below 1; default 0.003. */
  taker?: number;
  /** The fixed fee of each fill, such as the gas, in the currency of the account; at least 0, default 0. */
  fixed?: number;
}

/**
 * How much worse than the candle's price a fill is. A limit order that has waited has no slippage, and no fill is worse than
 * its limit.
 *
 * - `amount`: an amount for each token, in the currency of the prices.
 * - `share`: a share of the price, from 0 to below 1.
 * - `impact`: the share `impact` × (traded value / value traded in the candle)² of the price, at most all of it. The
 *   formula is that of Zipline's `VolumeShareSlippage`, with a usual `impact` of 0.1. It needs a `maxVolumeShare`.
 */
export type Slippage =
  | {
      /** The amount for each token, in the currency of the prices; at least 0. */
      amount: number;
    }
  | {
      /** The share of the price, from 0 to below 1. */
      share: number;
    }
  | {
      /** The factor before the square, a number of at least 0. */
      impact: number;
    };

/**
 * The rules of the broker: money, fees, slippage, and how orders are filled.
 *
 * ```ts
 * import type { BrokerOptions } from "pairstream/backtest";
 *
 * const broker: BrokerOptions = {
 *   cash: 5_000,
 *   fees: { maker: 0.0005, taker: 0.003, fixed: 0.02 },
 *   slippage: { impact: 0.1 },
 *   maxVolumeShare: 0.1,
 *   latency: 400,
 * };
 * ```
 */
export interface BrokerOptions {
  /** The money at the start, in the currency of the prices; above 0, default 10,000. */
  cash?: number;
  /** The fees of each fill; default: see `FeeOptions`. */
  fees?: FeeOptions;
  /** How much worse than the candle's price a fill is; default `{ share: 0.001 }`. */
  slippage?: Slippage;
  /** The share of the value traded in a candle that all of its fills may take: above 0, at most 1; default: no limit. */
  maxVolumeShare?: number;
  /** How long an order is under way, in ms; at least 0, default 0. A candle that begins before its arrival does not fill it. */
  latency?: number;
  /** The path that the price is assumed to take within a candle; default `"pessimistic"`. */
  insideBar?: InsideBar;
  /**
   * A shorter timeframe whose candles fill the orders of longer ones of the same pair, because they show the path of the
   * price; default: each series fills its own orders. A longer candle without any shorter one follows `insideBar`.
   */
  within?: AnyTimeframe;
  /** Allows short selling, as far as the account can cover it; default: not allowed. */
  short?: {
    /** The cost of borrowing for a year of 365 days, as a share of the value that is owed; at least 0. */
    borrow: number;
  };
}

/** The options of a broker with the defaults filled in, frozen. */
export interface BrokerRules {
  /** The money at the start, in the currency of the prices. */
  readonly cash: number;
  /** The fees of each fill. */
  readonly fees: Readonly<Required<FeeOptions>>;
  /** How much worse than the candle's price a fill is. */
  readonly slippage: Readonly<Slippage>;
  /** How much of the value traded in a candle all of its fills may take, a share of it; `undefined`: no limit. */
  readonly maxVolumeShare: number | undefined;
  /** How long an order is under way, in ms. */
  readonly latency: number;
  /** The path that the price is assumed to take within a candle. */
  readonly insideBar: InsideBar;
  /** The timeframe whose candles fill the orders of their pair; `undefined`: each series fills its own orders. */
  readonly within: AnyTimeframe | undefined;
  /** The cost of borrowing for short selling; `undefined`: not allowed. */
  readonly short: BrokerOptions["short"] | undefined;
}

const NAMES = namesOf<BrokerOptions>({
  cash: true,
  fees: true,
  slippage: true,
  maxVolumeShare: true,
  latency: true,
  insideBar: true,
  within: true,
  short: true,
});

/** Checks a broker's options. `prefix` names the option that holds them. */
export function checkBroker(options: BrokerOptions = {}, prefix = "broker."): BrokerRules {
  checkNames(options, NAMES, prefix);
  const {
    cash = 10_000,
    fees = {},
    maxVolumeShare,
    latency = 0,
    insideBar = "pessimistic",
    within,
    short,
  } = options;
  checkNames(fees, namesOf<FeeOptions>({ maker: true, taker: true, fixed: true }), `${prefix}fees.`);
  if (short !== undefined) checkNames(short, ["borrow"], `${prefix}short.`);
  const rules: BrokerRules = {
    cash: checkAbove0(`${prefix}cash`, cash),
    fees: Object.freeze({
      maker: checkShare(`${prefix}fees.maker`, fees.maker ?? 0.003),
      taker: checkShare(`${prefix}fees.taker`, fees.taker ?? 0.003),
      fixed: checkNumber(`${prefix}fees.fixed`, fees.fixed ?? 0, { min: 0 }),
    }),
    slippage: checkSlippage(options.slippage ?? { share: 0.001 }, `${prefix}slippage`),
    maxVolumeShare:
      maxVolumeShare === undefined
        ? undefined
        : checkNumber(`${prefix}maxVolumeShare`, checkAbove0(`${prefix}maxVolumeShare`, maxVolumeShare), {
            min: 0,
            max: 1,
          }),
    latency: checkNumber(`${prefix}latency`, latency, { min: 0, unit: "ms" }),
    insideBar: checkChoice(`${prefix}insideBar`, insideBar, [
      "pessimistic",
      "optimistic",
      "high-first",
      "low-first",
    ]),
    within: within === undefined ? undefined : checkTimeframe(`${prefix}within`, within),
    short:
      short === undefined
        ? undefined
        : Object.freeze({ borrow: checkNumber(`${prefix}short.borrow`, short.borrow, { min: 0 }) }),
  };
  if ("impact" in rules.slippage && rules.maxVolumeShare === undefined) {
    const allowed =
      "impact only together with maxVolumeShare, which keeps each fill within the volume of its candle";
    throw new InvalidInputError(`${prefix}slippage.impact`, allowed, "is given without maxVolumeShare");
  }
  return Object.freeze(rules);
}

function checkSlippage(slippage: Slippage, parameter: string): Slippage {
  checkNames(slippage, ["amount", "share", "impact"], `${parameter}.`);
  const [[name, value] = ["", undefined], ...others] = Object.entries(slippage);
  if (others.length > 0 || value === undefined) {
    throw new InvalidInputError(
      parameter,
      "an object with exactly one of amount, share and impact",
      "has none of them, or several",
    );
  }
  if (name === "share") checkShare(`${parameter}.share`, value);
  else checkNumber(`${parameter}.${name}`, value, { min: 0 });
  return Object.freeze({ ...slippage });
}

function checkShare(parameter: string, value: number): number {
  checkNumber(parameter, value, { min: 0 });
  if (value < 1) return value;
  throw new InvalidInputError(parameter, "a number from 0 to below 1", `is ${value}`);
}

function checkAbove0(parameter: string, value: number): number {
  checkNumber(parameter, value, { min: 0 });
  if (value > 0) return value;
  throw new InvalidInputError(parameter, "a finite number above 0", "is 0");
}
