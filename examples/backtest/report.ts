import type { Candle, Series } from "pairstream";
import type { BacktestResult, BrokerRules, Fill, Statistics, Trade } from "pairstream/backtest";
import { amount, dateAndTime, shortened } from "../live/text.js";
import {
  type Bin,
  distributionOf,
  duration,
  type Month,
  monthsOf,
  percent,
  type Row,
  rowsOf,
} from "./figures.js";
import type { Past } from "./past.js";
import type { LoadedStrategy } from "./strategy-file.js";

/** A backtest, and what it was run on. */
export interface Run {
  readonly result: BacktestResult;
  /** What it returns if high and low of each candle come in the order that is best for it. */
  readonly kindReturn: number;
  readonly past: Past;
  readonly loaded: LoadedStrategy;
}

/** A backtest in figures and words; text and page show the same ones. */
export interface Report {
  readonly title: string;
  /** What it was run on. */
  readonly subject: readonly string[];
  /** What came of it, in a sentence. */
  readonly verdict: string;
  /** What is to be known before anything is believed. */
  readonly notes: readonly string[];
  readonly columns: readonly ["strategy", "buy and hold"];
  readonly rows: readonly Row[];
  readonly months: readonly { readonly own: Month; readonly held: Month }[];
  readonly trades: readonly Trade[];
  readonly distribution: readonly Bin[];
  readonly assumptions: readonly string[];
}

const DAY = 86_400_000;
/** The mean of fewer trades says little of the next one. */
export const FEW_TRADES = 30;
/** From here on a stop was filled past a gap, as a share of its price. */
const GAP = 0.005;

export function reportOf({ result, kindReturn, past, loaded }: Run): Report {
  const { statistics, buyAndHold, trades } = result;
  const { series } = past.pairs[0]!;
  const held = monthsOf(buyAndHold.curve, buyAndHold.statistics);
  const set = Object.entries(loaded.parameters).map(([name, value]) => `${name} ${value}`);
  return {
    title: loaded.title,
    subject: [
      ...(set.length === 0 ? [] : [set.join(", ")]),
      `${past.title}: ${past.pairs.map(({ series }) => `${shortened(series.pairAddress)} ${series.timeframe}`).join(", ")}, in ${series.currency}`,
      `${dateAndTime(statistics.from).slice(0, 16)} to ${dateAndTime(statistics.to).slice(0, 16)} UTC, ${candlesText(past)}`,
    ],
    verdict:
      `${percent(statistics.totalReturn, { signed: true })} in ${duration(statistics.to - statistics.from)}, ` +
      `and ${percent(buyAndHold.statistics.totalReturn, { signed: true })} by holding; ` +
      `the deepest fall was ${percent(statistics.maxDrawdown)}, by holding ${percent(buyAndHold.statistics.maxDrawdown)}. ` +
      `Costs took ${amount(statistics.fees + statistics.slippage + statistics.borrowed)} ${series.currency}.`,
    notes: [
      ...(past.explanation === undefined ? [] : [past.explanation]),
      ...notesOf(result, kindReturn, past),
    ],
    columns: ["strategy", "buy and hold"],
    rows: rowsOf(result, series),
    months: monthsOf(result.curve, statistics).map((own, at) => ({ own, held: held[at]! })),
    trades,
    distribution: distributionOf(trades),
    assumptions: assumptionsOf(result.broker, past),
  };
}

function candlesText({ pairs }: Past): string {
  const all = pairs.reduce((sum, { candles }) => sum + candles.length, 0);
  const flat = pairs.reduce((sum, { candles }) => sum + candles.filter(({ swaps }) => swaps === 0).length, 0);
  return `${count(all, "candle")}, ${flat.toLocaleString("en-US")} of them without swaps`;
}

function notesOf(result: BacktestResult, kindReturn: number, { pairs }: Past): string[] {
  const { statistics, buyAndHold, trades, fills, rejections } = result;
  const notes: string[] = [];
  const { trades: closed, openTrades, totalReturn, from, to } = statistics;
  if (closed < FEW_TRADES) {
    notes.push(
      `${count(closed, "closed trade")}: below ${FEW_TRADES} their mean says little of the next one.`,
    );
  }
  if (to - from < 30 * DAY) {
    notes.push(`${duration(to - from)}: a span below 30 days shows one kind of market.`);
  }
  if (openTrades > 0) {
    notes.push(
      `${count(openTrades, "position")} still open: worth the last close, before the costs of ${trades.at(-1)!.side === "long" ? "selling" : "buying back"}.`,
    );
  }
  const isSame = Math.abs(kindReturn - totalReturn) < 0.000_05;
  notes.push(
    isSame
      ? "The order of high and low inside a candle, which nobody knows, makes no difference here."
      : `Nobody knows the order of high and low inside a candle. The worst one counts; with the best one it is ${percent(kindReturn, { signed: true })}.`,
  );
  const isOdd = ({ sharpe, totalReturn }: Statistics) => (sharpe.value ?? 0) * totalReturn < 0;
  if (isOdd(statistics) || isOdd(buyAndHold.statistics)) {
    notes.push(
      "A Sharpe ratio and a return of different signs are no mistake: the ratio is of the mean daily return, and +100 % and −50 % have a mean of +25 %, and come to nothing.",
    );
  }
  const distances = distancesOf(result);
  const [distance, range] = [
    medianOf(distances),
    medianOf(pairs.flatMap(({ candles }) => rangesOf(candles))),
  ];
  if (2 * distances.length > closed && distance < range) {
    notes.push(
      `${distances.length} of ${count(closed, "closed trade")} ended at a stop, which was ${percent(distance)} away; half of the candles go further than that between low and high (${percent(range)} in the middle one): such a stop is hit by chance.`,
    );
  }
  const gaps = fills.map(pastStop).filter((share) => share > GAP);
  if (gaps.length > 0) {
    const mean = gaps.reduce((sum, share) => sum + share, 0) / gaps.length;
    notes.push(
      `${count(gaps.length, "stop")} filled past a gap, ${percent(mean)} worse than asked for on the mean: a stop is no promise of a price.`,
    );
  }
  const reasons = new Map<string, number>();
  for (const { reason } of rejections) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  if (reasons.size > 0) {
    const each = [...reasons].map(([reason, times]) => `${reason} ${times}`).join(", ");
    notes.push(`${count(rejections.length, "order")} refused: ${each}.`);
  }
  return notes;
}

/** How much worse than its price a stop was filled, as a share of it. */
function pastStop({ order, quote, side }: Fill): number {
  if (order?.type !== "stop") return 0;
  return (side === "sell" ? order.stop - quote : quote - order.stop) / order.stop;
}

/** How far the stops of the trades that ended at one were from their entries, as shares. */
function distancesOf({ fills, trades }: BacktestResult): number[] {
  const placeOf = (series: Series, candle: number) => `${series.pairAddress} ${candle}`;
  const entries = new Map(trades.map(({ series, to, entry }) => [placeOf(series, to ?? -1), entry]));
  return fills.flatMap(({ order, series, candle }) => {
    const entry = entries.get(placeOf(series, candle));
    return order?.type !== "stop" || entry === undefined ? [] : Math.abs(order.stop / entry - 1);
  });
}

/** How far candles in which somebody traded went from their low to their high, as shares. */
function rangesOf(candles: readonly Candle[]): number[] {
  return candles.flatMap(({ high, low, swaps }) => (swaps > 0 && low > 0 ? high / low - 1 : []));
}

/** The upper one of two; `NaN` of none. */
function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** What all figures hold for. */
export function assumptionsOf(broker: BrokerRules, { pairs, within }: Past): string[] {
  const { cash, fees, slippage, maxVolumeShare, latency, short } = broker;
  const { currency } = pairs[0]!.series;
  const gas = fees.fixed > 0 ? `, and ${amount(fees.fixed)} ${currency} for the chain` : "";
  const worse = "share" in slippage ? percent(slippage.share) : "by its rule";
  return [
    `${amount(cash)} ${currency} at the start; ${short === undefined ? "nothing is sold that is not held" : `tokens may be owed, for ${percent(short.borrow)} a year`}.`,
    `An order counts as known ${latency === 0 ? "as its candle closes" : `${latency} ms after its candle has closed`}; no candle that began before fills it.`,
    `Market orders are filled at the next open, stops at their price or, past a gap, at the open; ${worse} worse than that (slippage). Each fill costs ${percent(fees.taker)} of it (fee)${gas}.`,
    within === undefined
      ? "Nobody knows what happened inside a candle: of all orders of high and low, the one that leaves the account with the least counts."
      : `Candles of ${within} tell what happened inside longer ones; inside them the order of high and low that leaves the account with the least counts.`,
    maxVolumeShare === undefined
      ? "No order is too large for the pool: what your own trades do to the price is in the slippage alone."
      : `All fills of a candle take at most ${percent(maxVolumeShare)} of the value traded in it.`,
    "An interval without swaps has a flat candle: on chain the price stands still until somebody trades.",
    "Buy and hold puts equal parts into each pair at its first open, at the same costs. The risk-free rate is 0; a year has 365 days.",
    "Not in it: sandwiched swaps, failed transactions, pools that run dry, and pairs that are gone and that you therefore did not try.",
  ];
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}
