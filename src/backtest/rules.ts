import { checkChoice, checkNumber } from "../contract/input.js";
import { TIMEFRAMES, type Timeframe } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";

/**
 * How the prices of a candle are taken to follow each other, as nobody knows it.
 *
 * - `"pessimistic"`: of all orders of high and low, and of turns at the prices of open orders, the one that leaves the
 *   account with the least at the close. A stop comes before a target.
 * - `"optimistic"`: the one that leaves it with the most. Where the two give different results, candles of this length
 *   cannot tell what the strategy is worth: give shorter ones, with `within`.
 * - `"high-first"`, `"low-first"`: open, high, low, close; open, low, high, close.
 */
export type InsideBar = "pessimistic" | "optimistic" | "high-first" | "low-first";

/** What trading costs, as a share of the traded value (0.003 for 0.3 %), or in the currency of the account. */
export interface FeeOptions {
  /** Of limit orders that have waited, a share from 0 to below 1; default 0.003, which many pools take. */
  maker?: number;
  /** Of all others, a share from 0 to below 1; default 0.003. */
  taker?: number;
  /** Of each fill, in the currency of the account, such as the gas; at least 0, default 0. */
  fixed?: number;
}

/**
 * How much worse than the candle's price a fill is. Limit orders that have waited do not slip, and none slips past its
 * limit.
 *
 * - `amount`: that much a token, in the currency of the prices.
 * - `share`: that share of the price, from 0 to below 1.
 * - `impact`: `impact` × (traded value / value traded in the candle)² of the price, as Zipline's `VolumeShareSlippage`
 *   has it, whose usual impact is 0.1. No more than all of the price. It takes a `maxVolumeShare`.
 */
export type Slippage =
  | {
      /** In the currency of the prices, a token; at least 0. */
      amount: number;
    }
  | {
      /** A share of the price, from 0 to below 1. */
      share: number;
    }
  | {
      /** The factor of the square, a number of at least 0. */
      impact: number;
    };

/** What a broker is like. */
export interface BrokerOptions {
  /** Money at the start, in the currency of the prices; above 0, default 10,000. */
  cash?: number;
  /** What each fill costs; default: see `FeeOptions`. */
  fees?: FeeOptions;
  /** How much worse than the candle's price a fill is; default `{ share: 0.001 }`. */
  slippage?: Slippage;
  /** The most that all fills of a candle may take of the value traded in it, a share of above 0 to 1; default: no cap. */
  maxVolumeShare?: number;
  /** For how long an order is under way, in ms: a candle that begins before its arrival cannot fill it. Default 0. */
  latency?: number;
  /** Which way the prices of a candle are taken to have gone; default `"pessimistic"`. */
  insideBar?: InsideBar;
  /**
   * The timeframe whose candles say what happened inside longer ones of the same pair: where they are among the feeds,
   * they fill the orders. A longer candle in which there is none of them is filled by the rule of `insideBar`.
   */
  within?: Timeframe;
  /** Allows to sell what is not held, as far as the account can cover it; default: it does not. */
  short?: {
    /** What that costs a year of 365 days, as a share of the value that is owed; at least 0. */
    borrow: number;
  };
}

/** The options of a broker, checked and complete, frozen. */
export interface BrokerRules {
  /** Money at the start, in the currency of the prices. */
  readonly cash: number;
  /** What each fill costs. */
  readonly fees: Readonly<Required<FeeOptions>>;
  /** How much worse than the candle's price a fill is. */
  readonly slippage: Readonly<Slippage>;
  /** The most that all fills of a candle may take of the value traded in it, a share of it; `undefined`: no cap. */
  readonly maxVolumeShare: number | undefined;
  /** For how long an order is under way, in ms. */
  readonly latency: number;
  /** Which way the prices of a candle are taken to have gone. */
  readonly insideBar: InsideBar;
  /** The timeframe whose candles fill the orders of their pair; `undefined`: each series fills its own. */
  readonly within: Timeframe | undefined;
  /** What it costs to owe tokens; `undefined` where that is not allowed. */
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
    latency: checkNumber(`${prefix}latency`, latency, { min: 0 }),
    insideBar: checkChoice(`${prefix}insideBar`, insideBar, [
      "pessimistic",
      "optimistic",
      "high-first",
      "low-first",
    ]),
    within: within === undefined ? undefined : checkChoice(`${prefix}within`, within, TIMEFRAMES),
    short:
      short === undefined
        ? undefined
        : Object.freeze({ borrow: checkNumber(`${prefix}short.borrow`, short.borrow, { min: 0 }) }),
  };
  if ("impact" in rules.slippage && rules.maxVolumeShare === undefined) {
    const allowed = "given with maxVolumeShare, as a fill that is larger than its candle has no price";
    throw new InvalidInputError(`${prefix}slippage.impact`, allowed, "is given without it");
  }
  return Object.freeze(rules);
}

function checkSlippage(slippage: Slippage, parameter: string): Slippage {
  checkNames(slippage, ["amount", "share", "impact"], `${parameter}.`);
  const [[name, value] = ["", undefined], ...others] = Object.entries(slippage);
  if (others.length > 0 || value === undefined) {
    throw new InvalidInputError(parameter, "one of amount, share, impact", "is not one of them");
  }
  if (name === "share") checkShare(`${parameter}.share`, value);
  else checkNumber(`${parameter}.${name}`, value, { min: 0 });
  return Object.freeze({ ...slippage });
}

function checkShare(parameter: string, value: number): number {
  checkNumber(parameter, value, { min: 0 });
  if (value < 1) return value;
  throw new InvalidInputError(parameter, "a share from 0 to below 1", `is ${value}`);
}

function checkAbove0(parameter: string, value: number): number {
  checkNumber(parameter, value, { min: 0 });
  if (value > 0) return value;
  throw new InvalidInputError(parameter, "a finite number above 0", "is 0");
}
