import type { Series } from "pairstream";
import type { BacktestResult, EquityPoint, Figure, Statistics, Trade } from "pairstream/backtest";
import { amount } from "../live/text.js";

/** One figure of an account, as it is shown. */
export interface Cell {
  readonly text: string;
  /** Why there is no number; absent where there is one. */
  readonly reason?: string;
  /** Below 0 for what is bad as a number, above 0 for what is good; absent where neither is. */
  readonly sign?: number;
}

export interface Row {
  readonly group: "return" | "risk" | "trades" | "costs";
  readonly name: string;
  /** Of the strategy and of buy and hold; no second one where holding has none. */
  readonly cells: readonly [Cell, Cell?];
  /** How it is worked out. */
  readonly formula: string;
}

export function percent(share: number, { signed = false } = {}): string {
  const text = (share * 100).toFixed(2).replace(/\B(?=(\d{3})+\.)/g, ",");
  return `${signed && share > 0 ? "+" : ""}${text === "-0.00" ? "0.00" : text} %`;
}

/** `3 d 4 h`, `5 h 30 min`, `12 min`, `40 s`. */
export function duration(ms: number): string {
  const [days, hours] = [Math.floor(ms / 86_400_000), Math.floor(ms / 3_600_000) % 24];
  const [minutes, seconds] = [Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60];
  const both = (first: string, second: number, unit: string) =>
    second === 0 ? first : `${first} ${second} ${unit}`;
  if (days > 0) return both(`${days} d`, hours, "h");
  if (hours > 0) return both(`${hours} h`, minutes, "min");
  return minutes > 0 ? both(`${minutes} min`, seconds, "s") : `${seconds} s`;
}

const plain = (text: string): Cell => ({ text });
const signed = (value: number, text: string): Cell => ({ text, sign: Math.sign(value) });
const figure = (of: Figure, tell: (value: number) => Cell): Cell =>
  of.value === undefined ? { text: "–", reason: of.reason } : tell(of.value);

/** The figures of a backtest, in the order in which they are read. */
export function rowsOf(result: BacktestResult, { currency }: Pick<Series, "currency">): readonly Row[] {
  const [own, held] = [result.statistics, result.buyAndHold.statistics];
  const row = (
    group: Row["group"],
    name: string,
    formula: string,
    tell: (of: Statistics) => Cell,
    has: "both" | "strategy" = "both",
  ): Row => ({ group, name, formula, cells: has === "both" ? [tell(own), tell(held)] : [tell(own)] });
  const share = (value: number) => signed(value, percent(value, { signed: true }));
  const ratio = (value: number) => signed(value, value.toFixed(2));
  const money = (value: number) => signed(value, amount(value));
  const times = (value: number) => plain(`${value.toFixed(2)} ×`);
  return [
    row("return", "return", "end / start − 1", ({ totalReturn }) => share(totalReturn)),
    row("return", `at the end, ${currency}`, "money, and tokens at their last close", ({ end }) =>
      plain(amount(end)),
    ),
    row("return", "CAGR", "(end / start)^(365 days / span) − 1; none below a year (GIPS, 2020)", ({ cagr }) =>
      figure(cagr, share),
    ),
    row("risk", "max drawdown", "largest fall from the highest value so far, at closes", ({ maxDrawdown }) =>
      plain(percent(maxDrawdown)),
    ),
    row("risk", "its length", "from that highest value until it was reached again, or until the end", (of) =>
      plain(duration(of.maxDrawdownLength)),
    ),
    row("risk", "longest drawdown", "longest time below the highest value so far", ({ longestDrawdown }) =>
      plain(duration(longestDrawdown)),
    ),
    row("risk", "volatility", "standard deviation of daily returns × √365; none below 30 days", (of) =>
      figure(of.volatility, (value) => plain(percent(value))),
    ),
    row("risk", "Sharpe", "mean / standard deviation of daily returns × √365 (Sharpe, 1994)", ({ sharpe }) =>
      figure(sharpe, ratio),
    ),
    row(
      "risk",
      "Sortino",
      "mean / downside deviation of daily returns × √365 (Sortino and Price, 1994)",
      ({ sortino }) => figure(sortino, ratio),
    ),
    row("risk", "Calmar", "CAGR / max drawdown (Young, 1991)", ({ calmar }) => figure(calmar, ratio)),
    row("risk", "exposure", "share of the time in which tokens were held or owed", ({ exposure }) =>
      plain(percent(exposure)),
    ),
    row(
      "trades",
      "trades",
      "positions that were opened and closed",
      ({ trades, openTrades }) => plain(`${trades}${openTrades > 0 ? `, ${openTrades} open` : ""}`),
      "strategy",
    ),
    row(
      "trades",
      "win rate",
      "share of the closed trades with a profit after costs",
      ({ winRate }) => figure(winRate, (value) => plain(percent(value))),
      "strategy",
    ),
    row(
      "trades",
      "profit factor",
      "sum of all profits / sum of all losses",
      ({ profitFactor }) => figure(profitFactor, (value) => signed(value - 1, value.toFixed(2))),
      "strategy",
    ),
    row(
      "trades",
      "expectancy",
      "mean profit of a closed trade",
      ({ expectancy }) => figure(expectancy, money),
      "strategy",
    ),
    row(
      "trades",
      "average win",
      "mean profit of the trades with a profit",
      ({ averageWin }) => figure(averageWin, money),
      "strategy",
    ),
    row(
      "trades",
      "average loss",
      "mean loss of the trades with a loss",
      ({ averageLoss }) => figure(averageLoss, (value) => money(-value)),
      "strategy",
    ),
    row(
      "trades",
      "longest streaks",
      "trades in a row with a profit, with a loss",
      (of) => plain(`${of.longestWinStreak} won, ${of.longestLossStreak} lost`),
      "strategy",
    ),
    row("costs", "turnover", "value of all fills / mean value of the account", ({ turnover }) =>
      figure(turnover, times),
    ),
    row("costs", "fees", "paid to the pool and the chain", ({ fees }) => plain(amount(fees))),
    row("costs", "slippage", "cost of worse prices than those of the candles", ({ slippage }) =>
      plain(amount(slippage)),
    ),
    ...(result.broker.short === undefined
      ? []
      : [row("costs", "borrowing", "cost of owing tokens", ({ borrowed }) => plain(amount(borrowed)))]),
  ];
}

/** What an account gained in a month of the calendar, UTC. */
export interface Month {
  readonly year: number;
  /** From 1 to 12. */
  readonly month: number;
  readonly gain: number;
  /** Whether the backtest covers all of it. */
  readonly isWhole: boolean;
}

export function monthsOf(
  curve: readonly EquityPoint[],
  { from, start }: Pick<Statistics, "from" | "start">,
): Month[] {
  const months: Month[] = [];
  let before = start;
  let at = 0;
  for (let begin = from; at < curve.length; ) {
    const date = new Date(begin);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    const [first, end] = [Date.UTC(year, month), Date.UTC(year, month + 1)];
    let now = before;
    let reached = begin;
    for (; at < curve.length && curve[at]!.at <= end; at += 1) ({ equity: now, at: reached } = curve[at]!);
    // What is worth nothing has nothing to gain from.
    const gain = before > 0 ? now / before - 1 : 0;
    months.push({ year, month: month + 1, gain, isWhole: begin === first && reached === end });
    before = now;
    begin = end;
  }
  return months;
}

/** How many trades gained from `from` to below `to`, as shares. */
export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** In hundredths of a percent. */
const WIDTHS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000];
const MOST_BINS = 24;

/** The gains of closed trades, in bins of one round width, none of which has zero inside. */
export function distributionOf(trades: readonly Trade[]): Bin[] {
  const gains = trades.flatMap(({ gain }) => gain ?? []);
  if (gains.length === 0) return [];
  const [least, most] = [Math.min(...gains), Math.max(...gains)];
  const places = (width: number) => [
    Math.floor((least * 10_000) / width),
    Math.floor((most * 10_000) / width),
  ];
  const fits = (width: number) => places(width)[1]! - places(width)[0]! < MOST_BINS;
  const width = WIDTHS.find(fits) ?? WIDTHS.at(-1)!;
  const [first, last] = places(width) as [number, number];
  const counts = new Map<number, number>();
  for (const gain of gains) {
    const place = Math.floor((gain * 10_000) / width);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const place = first + at;
    return {
      from: (place * width) / 10_000,
      to: ((place + 1) * width) / 10_000,
      count: counts.get(place) ?? 0,
    };
  });
}
