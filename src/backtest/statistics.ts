import type { Curve } from "./curve.js";
import type { Fill } from "./report.js";
import type { Trade } from "./trades.js";

const DAY = 86_400_000;
const DAYS_IN_YEAR = 365;
/** Below that many daily returns their spread says nothing. */
const FEWEST_DAYS = 30;

/**
 * A figure, or the reason why there is none. A figure that the time span is too short for would mislead.
 *
 * ```ts
 * import type { Figure } from "pairstream/backtest";
 *
 * const shown = ({ value, reason }: Figure) => value?.toFixed(2) ?? `none: ${reason}`;
 * ```
 */
export type Figure =
  | {
      /** The number; the field that holds the figure says its unit. */
      readonly value: number;
      /** Absent. */
      readonly reason?: undefined;
    }
  | {
      /** Absent. */
      readonly value?: undefined;
      /** Why there is no number, in words. */
      readonly reason: string;
    };

/** What statistics are made of. */
export interface Performance {
  /** When it began, ms since the epoch. */
  readonly from: number;
  /** What there was at the start, in the currency of the account; above 0. */
  readonly cash: number;
  /** Ascending by time, the first after `from`. */
  readonly curve: Curve;
  /** The closed ones in the order of their end. */
  readonly trades: readonly Trade[];
  /** All fills. */
  readonly fills: readonly Fill[];
  /** What was paid for tokens that were owed, in the currency of the account. */
  readonly borrowed: number;
}

/**
 * The statistics of an account. Money is in its currency. A daily return is the value of the account after 24 hours,
 * divided by its value before them, minus 1; the days count from the start, and the last one once half of it is
 * covered. A year has 365 days, because markets on chain never close.
 */
export interface Statistics {
  /** The start, ms since the epoch. */
  readonly from: number;
  /** The end of the last candle, ms since the epoch. */
  readonly to: number;
  /** The value at the start, in the currency of the account. */
  readonly start: number;
  /** The value at the end, in the currency of the account. */
  readonly end: number;
  /** The total return, `end / start − 1`, as a fraction: 0.1 for 10 %. */
  readonly totalReturn: number;
  /**
   * The compound annual growth rate, `(end / start)^(year / span) − 1`, as a fraction. There is none for less than a year:
   * the Global Investment Performance Standards (GIPS, 2020) do not allow to annualize it.
   */
  readonly cagr: Figure;
  /** The standard deviation of the daily returns (of a sample, n − 1), times √365, as a fraction. None below 30 days. */
  readonly volatility: Figure;
  /**
   * The Sharpe ratio: the mean of the daily returns, divided by their standard deviation, times √365, with a risk-free rate
   * of 0; a number. None below 30 days, or if nothing moved. Sharpe, W. F. (1994), The Sharpe Ratio, Journal of Portfolio
   * Management 21(1).
   */
  readonly sharpe: Figure;
  /**
   * The Sortino ratio: as the Sharpe ratio, but divided by the downside deviation `√(Σ min(0, return)² / n)`; a number. None
   * below 30 days, or without a day of loss.
   * Sortino, F. A., Price, L. N. (1994), Performance Measurement in a Downside Risk Framework, Journal of Investing 3(3).
   */
  readonly sortino: Figure;
  /**
   * The Calmar ratio: `cagr / maxDrawdown` over the whole span; a number. None below a year, or without a drawdown. Young,
   * T. W. (1991), Calmar Ratio: A Smoother Tool, Futures 20(1).
   */
  readonly calmar: Figure;
  /** The largest fall from the highest value so far, as a share of that value, taken at each candle. */
  readonly maxDrawdown: number;
  /** The time from that highest value until it was reached again, or until the end, in ms. */
  readonly maxDrawdownLength: number;
  /** The longest time below the highest value so far, in ms, however small the fall. */
  readonly longestDrawdown: number;
  /** The share of the time in which tokens were held or owed, counted in whole candles, from 0 to 1. */
  readonly exposure: number;
  /** The value of all fills, buys and sells, divided by the mean value of the account; a number. */
  readonly turnover: Figure;
  /** How many positions were opened and closed. */
  readonly trades: number;
  /** How many are still open. */
  readonly openTrades: number;
  /** The share of the closed trades with a profit, after fees, from 0 to 1. */
  readonly winRate: Figure;
  /** The sum of all profits, divided by the sum of all losses; a number. None without a loss. */
  readonly profitFactor: Figure;
  /** The mean profit of a closed trade, in the currency of the account. */
  readonly expectancy: Figure;
  /** The mean profit of the trades with a profit, in the currency of the account. */
  readonly averageWin: Figure;
  /** The mean loss of the trades with a loss, in the currency of the account; above 0. */
  readonly averageLoss: Figure;
  /** How many closed trades in a row had a profit, at most. */
  readonly longestWinStreak: number;
  /** How many closed trades in a row had a loss, at most. */
  readonly longestLossStreak: number;
  /** The fees of all fills, in the currency of the account. */
  readonly fees: number;
  /** The cost of slippage, in the currency of the account: fills at worse prices than those of the candles. */
  readonly slippage: number;
  /** The cost of borrowing tokens that were owed, in the currency of the account. */
  readonly borrowed: number;
}

/** Computes the statistics of an account. */
export function statisticsOf(performance: Performance): Statistics {
  const { from, cash, curve, trades, fills, borrowed } = performance;
  const days = new DailyReturns(from, cash);
  const falls = new Drawdowns(from, cash);
  const totals = new Totals(from, cash);
  curve.each((at, equity, isExposed) => {
    days.take(at, equity);
    falls.take(at, equity);
    totals.take(at, equity, isExposed);
  });
  const { to, end } = totals;
  const cagr = cagrOf(cash, end, to - from);
  return Object.freeze({
    from,
    to,
    start: cash,
    end,
    totalReturn: end / cash - 1,
    cagr,
    ...ofDays(days.end()),
    calmar: calmarOf(cagr, falls.deepest),
    maxDrawdown: falls.deepest,
    maxDrawdownLength: falls.deepestLength,
    longestDrawdown: falls.longest,
    exposure: to > from ? totals.exposed / (to - from) : 0,
    turnover: turnoverOf(fills, totals.equity / totals.count),
    ...ofTrades(trades),
    fees: sum(fills.map(({ fee }) => fee)),
    slippage: sum(fills.map(({ slippage }) => slippage)),
    borrowed,
  });
}

/** Sums over points. In variables that a function shares with this one, each would be a new object at every point. */
class Totals {
  /** Until when, ms since the epoch, and what there was then. */
  to = 0;
  end = 0;
  /** For how long tokens were held or owed, in ms. */
  exposed = 0;
  /** Of all points. */
  equity = 0;
  count = 0;

  constructor(from: number, cash: number) {
    this.to = from;
    this.end = cash;
  }

  take(at: number, equity: number, isExposed: boolean): void {
    if (isExposed) this.exposed += at - this.to;
    this.equity += equity;
    this.count += 1;
    this.to = at;
    this.end = equity;
  }
}

class DailyReturns {
  readonly returns: number[] = [];
  #before = 0;
  #now = 0;
  #dayEnd = 0;
  #last = -Infinity;

  constructor(from: number, cash: number) {
    this.#before = cash;
    this.#now = cash;
    this.#dayEnd = from + DAY;
  }

  take(at: number, equity: number): void {
    while (at > this.#dayEnd) this.#endDay();
    this.#now = equity;
    if (at === this.#dayEnd) this.#endDay();
    this.#last = at;
  }

  /** All of them. The last day counts once half of it is there: in a whole month the last swap comes before its end. */
  end(): readonly number[] {
    if (this.#last >= this.#dayEnd - DAY / 2) this.#endDay();
    return this.returns;
  }

  #endDay(): void {
    // What is worth nothing, or less, has nothing to gain from.
    this.returns.push(this.#before > 0 ? this.#now / this.#before - 1 : 0);
    this.#before = this.#now;
    this.#dayEnd += DAY;
  }
}

function ofDays(returns: readonly number[]): Pick<Statistics, "volatility" | "sharpe" | "sortino"> {
  const count = returns.length;
  if (count < FEWEST_DAYS) {
    const figure = none(`${count} of ${FEWEST_DAYS} days`);
    return { volatility: figure, sharpe: figure, sortino: figure };
  }
  const mean = sum(returns) / count;
  const deviation = Math.sqrt(sum(returns.map((each) => (each - mean) ** 2)) / (count - 1));
  const downside = Math.sqrt(sum(returns.map((each) => Math.min(0, each) ** 2)) / count);
  const year = Math.sqrt(DAYS_IN_YEAR);
  const isStill = returns.every((each) => each === returns[0]);
  return {
    volatility: some(deviation * year),
    sharpe: isStill || deviation === 0 ? none("nothing moved") : some((mean / deviation) * year),
    sortino: downside === 0 ? none("no day of loss") : some((mean / downside) * year),
  };
}

function cagrOf(start: number, end: number, span: number): Figure {
  const days = span / DAY;
  if (Math.round(days) < DAYS_IN_YEAR) return none(`${Math.round(days)} of ${DAYS_IN_YEAR} days`);
  return some(end <= 0 ? -1 : (end / start) ** (DAYS_IN_YEAR / days) - 1);
}

function calmarOf(cagr: Figure, maxDrawdown: number): Figure {
  if (cagr.value === undefined) return cagr;
  return maxDrawdown > 0 ? some(cagr.value / maxDrawdown) : none("no drawdown");
}

class Drawdowns {
  deepest = 0;
  deepestLength = 0;
  longest = 0;
  #deepestAt = 0;
  #peak = 0;
  #peakAt = 0;
  #isDown = false;

  constructor(from: number, cash: number) {
    this.#deepestAt = from;
    this.#peak = cash;
    this.#peakAt = from;
  }

  take(at: number, equity: number): void {
    if (equity < this.#peak) {
      this.#isDown = true;
      const depth = 1 - equity / this.#peak;
      if (depth > this.deepest) {
        this.deepest = depth;
        this.#deepestAt = this.#peakAt;
      }
    }
    // Also with the point that regains the peak.
    if (this.#isDown) {
      this.longest = Math.max(this.longest, at - this.#peakAt);
      if (this.#deepestAt === this.#peakAt) this.deepestLength = at - this.#peakAt;
    }
    if (equity >= this.#peak) {
      this.#peak = equity;
      this.#peakAt = at;
      this.#isDown = false;
    }
  }
}

function turnoverOf(fills: readonly Fill[], mean: number): Figure {
  if (!(mean > 0)) return none("the account was worth nothing");
  return some(sum(fills.map(({ price, quantity }) => price * quantity)) / mean);
}

type OfTrades = Pick<
  Statistics,
  | "trades"
  | "openTrades"
  | "winRate"
  | "profitFactor"
  | "expectancy"
  | "averageWin"
  | "averageLoss"
  | "longestWinStreak"
  | "longestLossStreak"
>;

function ofTrades(trades: readonly Trade[]): OfTrades {
  const profits = trades.flatMap(({ profit }) => profit ?? []);
  const wins = profits.filter((profit) => profit > 0);
  const losses = profits.filter((profit) => profit < 0).map((profit) => -profit);
  const count = profits.length;
  const meanOf = (values: readonly number[], what: string) =>
    values.length === 0 ? none(what) : some(sum(values) / values.length);
  const [noTrade, noWin, noLoss] = ["no closed trade", "no trade with a profit", "no trade with a loss"];
  return {
    trades: count,
    openTrades: trades.length - count,
    winRate: count === 0 ? none(noTrade) : some(wins.length / count),
    profitFactor: losses.length === 0 ? none(count === 0 ? noTrade : noLoss) : some(sum(wins) / sum(losses)),
    expectancy: meanOf(profits, noTrade),
    averageWin: meanOf(wins, count === 0 ? noTrade : noWin),
    averageLoss: meanOf(losses, count === 0 ? noTrade : noLoss),
    longestWinStreak: longestRun(profits, (profit) => profit > 0),
    longestLossStreak: longestRun(profits, (profit) => profit < 0),
  };
}

function longestRun(profits: readonly number[], isMeant: (profit: number) => boolean): number {
  let [run, longest] = [0, 0];
  for (const profit of profits) {
    run = isMeant(profit) ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function some(value: number): Figure {
  return Object.freeze({ value });
}

function none(reason: string): Figure {
  return Object.freeze({ reason });
}
