/** What an account was worth, candle by candle. */
export interface EquityCurve {
  /** Before the first candle; above 0. */
  readonly start: number;
  /** After each candle, at its close; one entry an interval. */
  readonly equity: readonly number[];
  /** In how many of these intervals tokens were held. */
  readonly exposed: number;
}

export interface Statistics {
  readonly end: number;
  /** What was gained of the start, as a share: 0.1 for 10 %. */
  readonly gain: number;
  /** The deepest fall from a peak so far, as a share of that peak, 0 to 1. */
  readonly maxDrawdown: number;
  /**
   * Mean by standard deviation (of a sample, n − 1) of the gains from one interval to the next, times the root of the
   * intervals in a year; risk-free rate 0. `undefined` where nothing moved.
   */
  readonly sharpe: number | undefined;
  /** The share of the intervals in which tokens were held, 0 to 1. */
  readonly exposure: number;
}

/** Sharpe, W. F. (1994), The Sharpe Ratio, Journal of Portfolio Management 21(1): of returns, scaled by the root of time. */
export function statisticsOf(curve: EquityCurve, intervalsInYear: number): Statistics {
  const { start, equity, exposed } = curve;
  const end = equity.at(-1) ?? start;
  return {
    end,
    gain: end / start - 1,
    maxDrawdown: drawdownsOf(curve).reduce((deepest, drawdown) => Math.max(deepest, drawdown), 0),
    sharpe: sharpeOf(gainsOf(curve), intervalsInYear),
    exposure: equity.length === 0 ? 0 : exposed / equity.length,
  };
}

/** How far each value is below the highest one so far, the start included, as a share of that. */
export function drawdownsOf({ start, equity }: EquityCurve): number[] {
  let peak = start;
  return equity.map((value) => {
    peak = Math.max(peak, value);
    return 1 - value / peak;
  });
}

const DAY = 86_400_000;
const YEAR = 365 * DAY;
const UNITS = { s: 1_000, min: 60_000, h: 3_600_000, d: DAY, w: 7 * DAY };

/** How many intervals of a timeframe a year of 365 days has: on chain, markets never close. */
export function intervalsInYear(timeframe: string): number {
  if (timeframe === "1M") return 12;
  const [, count, unit] = /^(\d+)(s|min|h|d|w)$/.exec(timeframe) ?? [];
  return YEAR / (Number(count) * UNITS[unit as keyof typeof UNITS]);
}

function gainsOf({ start, equity }: EquityCurve): number[] {
  // What is worth nothing stays so.
  return equity.map((value, at) => {
    const before = equity[at - 1] ?? start;
    return before === 0 ? 0 : value / before - 1;
  });
}

function sharpeOf(gains: readonly number[], perYear: number): number | undefined {
  if (gains.length < 2) return undefined;
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  const squares = gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (gains.length - 1));
  return deviation > 0 ? (mean / deviation) * Math.sqrt(perYear) : undefined;
}
