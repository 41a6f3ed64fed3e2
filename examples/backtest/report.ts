import type { Series } from "pairstream";
import { amount, dateAndTime, shortened } from "../live/text.js";
import type { Backtest, Trade } from "./backtest.js";
import type { BrokerRules } from "./broker.js";
import { intervalsInYear, type Statistics, statisticsOf } from "./statistics.js";

/** A backtest in figures and words; text and page show the same ones. */
export interface Report {
  readonly title: string;
  /** What it was run on. */
  readonly subject: readonly string[];
  readonly columns: readonly ["strategy", "buy and hold"];
  readonly rows: readonly { readonly name: string; readonly values: readonly [string, string] }[];
  readonly assumptions: readonly string[];
}

export function reportOf(
  { candles, trades, fills, strategy, buyAndHold }: Backtest,
  { title, series, source, rules }: { title: string; series: Series; source: string; rules: BrokerRules },
): Report {
  const { timeframe, currency, pairAddress } = series;
  const perYear = intervalsInYear(timeframe);
  const [own, held] = [statisticsOf(strategy, perYear), statisticsOf(buyAndHold, perYear)];
  const row = (name: string, tell: (statistics: Statistics) => string) => {
    return { name, values: [tell(own), tell(held)] as const };
  };
  const fees = fills.reduce((sum, { fee }) => sum + fee, 0);
  const holdFee = candles.length === 0 ? 0 : (rules.cash * rules.fee) / (1 + rules.fee);
  const days = (candles.length / perYear) * 365;
  const [first, last] = [candles[0], candles.at(-1)];
  const flat = candles.filter(({ swaps }) => swaps === 0).length;
  return {
    title,
    subject: [
      `${timeframe} candles of ${shortened(pairAddress)} in ${currency}, from ${source}`,
      first === undefined || last === undefined
        ? "no candles"
        : `${count(candles.length, "candle")} from ${dateAndTime(first.timestamp)} to ${dateAndTime(last.timestamp)} UTC` +
          `, ${days.toFixed(1)} days; ${flat.toLocaleString("en-US")} without swaps`,
    ],
    columns: ["strategy", "buy and hold"],
    rows: [
      row("return", ({ gain }) => percent(gain, { signed: true })),
      row("equity at the end", ({ end }) => amount(end)),
      row("max drawdown", ({ maxDrawdown }) => percent(maxDrawdown)),
      row("Sharpe, annualised", ({ sharpe }) => (sharpe === undefined ? "none" : sharpe.toFixed(2))),
      row("exposure", ({ exposure }) => percent(exposure)),
      { name: "trades", values: [tally(trades), candles.length === 0 ? "0" : "1, open"] },
      { name: "fees paid", values: [amount(fees), amount(holdFee)] },
    ],
    assumptions: [
      `${amount(rules.cash)} ${currency} at the start; long only, all in or all out; no order is too large for the pool.`,
      `An order of a closed candle is filled at the open of the next one, ${percent(rules.slippage)} worse (slippage); ` +
        `each fill costs ${percent(rules.fee)} of it (fee).`,
      "What is still held at the end is worth its last close, before the costs of selling. Buy and hold buys at the first open.",
      "An interval without swaps has a flat candle: on chain the price stands still until somebody trades.",
      `Sharpe: gains from candle to candle, times the root of ${perYear.toLocaleString("en-US")} intervals a year ` +
        `(365 days of ${timeframe}); risk-free rate 0.` +
        (days < 30 ? ` From ${days.toFixed(1)} days it says little about a year.` : ""),
      "Exposure: the share of the intervals in which tokens were held. Drawdown: by closes, from the highest so far.",
    ],
  };
}

/** For a terminal. */
export function textOf({ title, subject, columns, rows, assumptions }: Report): string {
  const names = Math.max(...rows.map(({ name }) => name.length));
  const width = (at: 0 | 1) => Math.max(columns[at].length, ...rows.map(({ values }) => values[at].length));
  const line = (name: string, [own, held]: readonly [string, string]) =>
    `${name.padEnd(names)}  ${own.padStart(width(0))}  ${held.padStart(width(1))}`;
  return [
    title,
    ...subject,
    "",
    line("", columns),
    ...rows.map(({ name, values }) => line(name, values)),
    "",
    ...assumptions.map((assumption) => `- ${assumption}`),
  ].join("\n");
}

function tally(trades: readonly Trade[]): string {
  const closed = trades.flatMap(({ profit }) => (profit === undefined ? [] : [profit]));
  const won = closed.filter((profit) => profit > 0).length;
  const open = trades.length > closed.length ? ", 1 open" : "";
  return `${closed.length}${closed.length === 0 ? "" : `, ${won} won`}${open}`;
}

function percent(share: number, { signed = false } = {}): string {
  const text = (share * 100).toFixed(2);
  return `${signed && share > 0 ? "+" : ""}${text === "-0.00" ? "0.00" : text} %`;
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}
