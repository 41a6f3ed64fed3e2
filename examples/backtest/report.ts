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
  const held = monthsOf(buyAndHold.equity, buyAndHold.statistics);
  const set = Object.entries(loaded.parameters).map(([name, value]) => `${name} ${value}`);
  return {
    title: loaded.title,
    subject: [
      ...(set.length === 0 ? [] : [set.join(", ")]),
      `${past.title}: ${past.pairs.map(({ series }) => `${shortened(series.pairAddress)} ${series.timeframe}`).join(", ")}, in ${series.currency}`,
      `${dateAndTime(statistics.from).slice(0, 16)} to ${dateAndTime(statistics.to).slice(0, 16)} UTC, ${candlesText(past)}`,
    ],
    verdict:
      `In ${duration(statistics.to - statistics.from)} the strategy returned ${percent(statistics.totalReturn, { signed: true })}, ` +
      `and buy and hold ${percent(buyAndHold.statistics.totalReturn, { signed: true })}. ` +
      `The deepest fall was ${percent(statistics.maxDrawdown)}, and ${percent(buyAndHold.statistics.maxDrawdown)} for buy and hold. ` +
      `The costs were ${amount(statistics.fees + statistics.slippage + statistics.borrowed)} ${series.currency}.`,
    notes: [
      ...(past.explanation === undefined ? [] : [past.explanation]),
      ...notesOf(result, kindReturn, past),
    ],
    columns: ["strategy", "buy and hold"],
    rows: rowsOf(result, series),
    months: monthsOf(result.equity, statistics).map((own, at) => ({ own, held: held[at]! })),
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
      `There ${closed === 1 ? "is" : "are"} only ${count(closed, "closed trade")}: the mean of fewer than ${FEW_TRADES} says little about the next one.`,
    );
  }
  if (to - from < 30 * DAY) {
    notes.push(`The time span is only ${duration(to - from)}: less than 30 days show one kind of market.`);
  }
  if (openTrades > 0) {
    notes.push(
      `${count(openTrades, "position")} ${openTrades === 1 ? "is" : "are"} still open, and counted at the last close, without the costs of ${trades.at(-1)!.side === "long" ? "selling" : "buying back"}.`,
    );
  }
  const isSame = Math.abs(kindReturn - totalReturn) < 0.000_05;
  notes.push(
    isSame
      ? "A candle does not tell whether its high or its low came first. Here that makes no difference."
      : `A candle does not tell whether its high or its low came first. The figures assume the worse order; with the better one the return is ${percent(kindReturn, { signed: true })}.`,
  );
  const isOdd = ({ sharpe, totalReturn }: Statistics) => (sharpe.value ?? 0) * totalReturn < 0;
  if (isOdd(statistics) || isOdd(buyAndHold.statistics)) {
    notes.push(
      "The Sharpe ratio and the return can have different signs: the ratio uses the mean daily return. Days of +100 % and −50 % have a mean of +25 %, but a return of 0 %.",
    );
  }
  const distances = distancesOf(result);
  const [distance, range] = [
    medianOf(distances),
    medianOf(pairs.flatMap(({ candles }) => rangesOf(candles))),
  ];
  if (2 * distances.length > closed && distance < range) {
    notes.push(
      `${distances.length} of ${count(closed, "closed trade")} ended at a stop, ${percent(distance)} from the entry in the median. The median candle is larger: ${percent(range)} from low to high. Such a stop is hit by chance.`,
    );
  }
  const gaps = fills.map(pastStop).filter((share) => share > GAP);
  if (gaps.length > 0) {
    const mean = gaps.reduce((sum, share) => sum + share, 0) / gaps.length;
    notes.push(
      `${count(gaps.length, "stop")} ${gaps.length === 1 ? "was" : "were"} filled after a gap, on average ${percent(mean)} worse than the price of the stop: a stop does not guarantee a price.`,
    );
  }
  return [...notes, ...refusedNotes(rejections.map(({ reason }) => [reason, 1]))];
}

/** What orders were refused for, and how often. */
export function refusedNotes(refused: Iterable<readonly [reason: string, times: number]>): string[] {
  const reasons = new Map<string, number>();
  for (const [reason, times] of refused) reasons.set(reason, (reasons.get(reason) ?? 0) + times);
  if (reasons.size === 0) return [];
  const all = [...reasons.values()].reduce((sum, times) => sum + times, 0);
  const each = [...reasons].map(([reason, times]) => `${reason} ${times}`).join(", ");
  return [`${count(all, "order")} ${all === 1 ? "was" : "were"} refused: ${each}.`];
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
  const gas = fees.fixed > 0 ? `, and ${amount(fees.fixed)} ${currency} for gas` : "";
  const worse = "share" in slippage ? `${percent(slippage.share)} worse` : "worse by its own rule";
  return [
    `The account begins with ${amount(cash)} ${currency}. ${short === undefined ? "It sells only what it holds." : `It may owe tokens, for ${percent(short.borrow)} a year.`}`,
    `An order arrives ${latency === 0 ? "when its candle closes" : `${latency} ms after its candle has closed`}. Only candles that begin after that fill it.`,
    `A market order is filled at the next open; a stop at its price, or at the open after a gap. Slippage makes prices ${worse}. Each fill costs a fee of ${percent(fees.taker)}${gas}.`,
    within === undefined
      ? "A candle does not tell whether its high or its low came first: the order that is worse for the account counts."
      : `${within} candles show what happened inside longer ones. Inside a ${within} candle, the order of high and low that is worse for the account counts.`,
    maxVolumeShare === undefined
      ? "No order is too large for the pool: only the slippage stands for what your own trades do to the price."
      : `The fills of a candle take at most ${percent(maxVolumeShare)} of the value that was traded in it.`,
    "An interval without swaps has a flat candle: on chain the price does not change until somebody trades.",
    "Buy and hold buys each pair for an equal part of the money at its first open, at the same costs. The risk-free rate is 0, and a year has 365 days.",
    "The backtest leaves out sandwiched swaps, failed transactions, pools that run dry, and pairs that no longer exist, which you therefore did not try.",
  ];
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}
