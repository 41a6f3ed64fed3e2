import { createRequire } from "node:module";
import * as debut from "@debut/indicators";
import type * as FastTechnicalIndicators from "fast-technical-indicators";
import type { Candle, Indicator } from "pairstream";
import * as technical from "technicalindicators";
import * as signals from "trading-signals";
import type { Loop } from "./loops.js";
import type { Rows } from "./rows.js";

/** Its ES module cannot be loaded by Node, because its package is not declared as one. */
const fast: typeof FastTechnicalIndicators = createRequire(import.meta.url)("fast-technical-indicators");

/** One way to compute an indicator. */
export interface Contestant {
  /**
   * Computes all rows from a fresh start, and keeps what it gives at `at & (kept.length − 1)`: a few places where only
   * the time counts, one for every row where the results do.
   */
  run(rows: Rows, kept: unknown[]): void;
  /** The numbers of one result, in the order of the loop's columns, the first ones or all. */
  numbersOf(result: unknown): readonly number[];
  /** Whether it can try a running candle before it is committed. */
  canReplace: boolean;
}

type Read = (result: unknown) => readonly number[];
const number: Read = (result) => [result as number];
const keys = (...names: string[]): Read => {
  return (result) => names.map((name) => (result as Record<string, number>)[name]!);
};

/*
 * The drivers: one for each contestant and kind of input, through which all of its indicators run, so that none of
 * them is compiled into a loop of its own that no program would have.
 */

export function ours(indicator: Indicator<unknown>, ...names: string[]): Contestant {
  return {
    canReplace: true,
    numbersOf: names.length === 0 ? number : keys(...names),
    run: ({ candles, step }, kept) => {
      const kernel = indicator();
      const mask = kept.length - 1;
      for (let start = 0; start < candles.length; start += step) {
        const last = start + step - 1;
        for (let at = start; at < last; at += 1) kept[at & mask] = kernel.peek(candles[at]!);
        kept[last & mask] = kernel.push(candles[last]!);
      }
    },
  };
}

interface Updated<Input> {
  update(input: Input, replace: boolean): unknown;
}

function signalsOverPrices(make: () => Updated<number>, read = number): Contestant {
  return {
    canReplace: true,
    numbersOf: read,
    run: ({ candles, step }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let start = 0; start < candles.length; start += step) {
        for (let at = start; at < start + step; at += 1) {
          kept[at & mask] = indicator.update(candles[at]!.close, at > start);
        }
      }
    },
  };
}

function signalsOverCandles(make: () => Updated<Candle>, read = number): Contestant {
  return {
    canReplace: true,
    numbersOf: read,
    run: ({ candles, step }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let start = 0; start < candles.length; start += step) {
        for (let at = start; at < start + step; at += 1) {
          kept[at & mask] = indicator.update(candles[at]!, at > start);
        }
      }
    },
  };
}

interface MomentaryOverPrices {
  nextValue(price: number): unknown;
  momentValue(price: number): unknown;
}

function debutOverPrices(make: () => MomentaryOverPrices, read = number): Contestant {
  return {
    canReplace: true,
    numbersOf: read,
    run: ({ candles, step }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let start = 0; start < candles.length; start += step) {
        const last = start + step - 1;
        for (let at = start; at < last; at += 1) {
          kept[at & mask] = indicator.momentValue(candles[at]!.close);
        }
        kept[last & mask] = indicator.nextValue(candles[last]!.close);
      }
    },
  };
}

interface MomentaryOverCandles {
  nextValue(high: number, low: number, close: number): unknown;
  momentValue(high: number, low: number, close: number): unknown;
}

function debutOverCandles(make: () => MomentaryOverCandles, read = number): Contestant {
  return {
    canReplace: true,
    numbersOf: read,
    run: ({ candles, step }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let start = 0; start < candles.length; start += step) {
        const last = start + step - 1;
        for (let at = start; at < last; at += 1) {
          const { high, low, close } = candles[at]!;
          kept[at & mask] = indicator.momentValue(high, low, close);
        }
        const { high, low, close } = candles[last]!;
        kept[last & mask] = indicator.nextValue(high, low, close);
      }
    },
  };
}

/** Its stochastic smooths once; the second time is a `SMA` of its own. */
class SlowStochastic implements MomentaryOverCandles {
  private readonly fast = new debut.Stochastic(14, 3);
  private readonly average = new debut.SMA(3);

  nextValue(high: number, low: number, close: number): unknown {
    const k = this.fast.nextValue(high, low, close)?.d;
    return k === undefined ? undefined : { k, d: this.average.nextValue(k) };
  }

  momentValue(high: number, low: number, close: number): unknown {
    const k = this.fast.momentValue(high, low, close)?.d;
    return k === undefined ? undefined : { k, d: this.average.momentValue(k) };
  }
}

interface Generated<Input> {
  nextValue(input: Input): unknown;
}

function technicalOverPrices(make: () => Generated<number>, read = number): Contestant {
  return {
    canReplace: false,
    numbersOf: read,
    run: ({ candles }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let at = 0; at < candles.length; at += 1) {
        kept[at & mask] = indicator.nextValue(candles[at]!.close);
      }
    },
  };
}

function technicalOverCandles(make: () => Generated<Candle>, read = number): Contestant {
  return {
    canReplace: false,
    numbersOf: read,
    run: ({ candles }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let at = 0; at < candles.length; at += 1) kept[at & mask] = indicator.nextValue(candles[at]!);
    },
  };
}

/** Its stochastic smooths once, too. */
class TechnicalSlowStochastic implements Generated<Candle> {
  private readonly fast: Generated<Candle>;
  private readonly average = new technical.SMA({ period: 3, values: [] });

  constructor() {
    // Its types ask for arrays where it takes a candle.
    const fast = new technical.Stochastic({ period: 14, signalPeriod: 3, high: [], low: [], close: [] });
    this.fast = fast as unknown as Generated<Candle>;
  }

  nextValue(candle: Candle): unknown {
    const k = (this.fast.nextValue(candle) as { d?: number } | undefined)?.d;
    return k === undefined ? undefined : { k, d: this.average.nextValue(k) };
  }
}

export function loop(of: Loop, columns: number): Contestant {
  let out: Float64Array[] = [];
  return {
    canReplace: true,
    numbersOf: (result) => result as number[],
    run: (rows, kept) => {
      const { length } = rows.candles;
      if (out[0]?.length !== length) out = Array.from({ length: columns }, () => new Float64Array(length));
      of(rows, out);
      // Only where every row is asked for are there so many places.
      if (kept.length < length) kept[0] = out;
      else for (let at = 0; at < length; at += 1) kept[at] = out.map((column) => column[at]!);
    },
  };
}

/** It tries no candle either. */
function fastOverCandles(
  make: () => { nextValue(high: number, low: number, close: number): unknown },
  read = number,
): Contestant {
  return {
    canReplace: false,
    numbersOf: read,
    run: ({ candles }, kept) => {
      const indicator = make();
      const mask = kept.length - 1;
      for (let at = 0; at < candles.length; at += 1) {
        const { high, low, close } = candles[at]!;
        kept[at & mask] = indicator.nextValue(high, low, close);
      }
    },
  };
}

/** Its stochastic smooths once, too. */
class FastSlowStochastic {
  private readonly once = new fast.Stochastic({ period: 14, signalPeriod: 3, ...noCandles });
  private readonly average = new fast.SMA({ period: 3, values: [] });

  nextValue(high: number, low: number, close: number): unknown {
    const k = this.once.nextValue(high, low, close)?.d;
    return k === undefined ? undefined : { k, d: this.average.nextValue(k) };
  }
}

/** As the others have it, over averages that are exponential. */
const EXPONENTIAL_MACD = {
  fastPeriod: 12,
  slowPeriod: 26,
  signalPeriod: 9,
  SimpleMAOscillator: false,
  SimpleMASignal: false,
};
const noCandles = { high: [], low: [], close: [] };
const bands = ["upper", "middle", "lower"];

/** The others, indicator by indicator. */
export const PEERS: Readonly<Record<string, Readonly<Record<string, Contestant>>>> = {
  "trading-signals": {
    "SMA(20)": signalsOverPrices(() => new signals.SMA(20)),
    "EMA(20)": signalsOverPrices(() => new signals.EMA(20)),
    "RSI(14)": signalsOverPrices(() => new signals.RSI(14)),
    "MACD(12, 26, 9)": signalsOverPrices(
      () => new signals.MACD(new signals.EMA(12), new signals.EMA(26), new signals.EMA(9)),
      keys("macd", "signal", "histogram"),
    ),
    "Bollinger(20, 2)": signalsOverPrices(() => new signals.BollingerBands(20, 2), keys(...bands)),
    "ATR(14)": signalsOverCandles(() => new signals.ATR(14)),
    "stochastic(14, 3, 3)": signalsOverCandles(
      () => new signals.StochasticOscillator({ kPeriod: 14, kSlowingPeriod: 3, dPeriod: 3 }),
      keys("stochK", "stochD"),
    ),
    "ADX(14)": signalsOverCandles(() => new signals.ADX(14)),
  },
  "@debut/indicators": {
    "SMA(20)": debutOverPrices(() => new debut.SMA(20)),
    "EMA(20)": debutOverPrices(() => new debut.EMA(20)),
    "RSI(14)": debutOverPrices(() => new debut.RSI(14)),
    "MACD(12, 26, 9)": debutOverPrices(() => new debut.MACD(12, 26, 9), keys("macd", "signal", "histogram")),
    "Bollinger(20, 2)": debutOverPrices(() => new debut.BollingerBands(20, 2), keys(...bands)),
    "ATR(14)": debutOverCandles(() => new debut.ATR(14)),
    "stochastic(14, 3, 3)": debutOverCandles(() => new SlowStochastic(), keys("k", "d")),
    "ADX(14)": debutOverCandles(() => new debut.ADX(14), keys("adx", "pdi", "mdi")),
  },
  technicalindicators: {
    "SMA(20)": technicalOverPrices(() => new technical.SMA({ period: 20, values: [] })),
    "EMA(20)": technicalOverPrices(() => new technical.EMA({ period: 20, values: [] })),
    "RSI(14)": technicalOverPrices(() => new technical.RSI({ period: 14, values: [] })),
    "MACD(12, 26, 9)": technicalOverPrices(
      () => new technical.MACD({ ...EXPONENTIAL_MACD, values: [] }),
      keys("MACD", "signal", "histogram"),
    ),
    "Bollinger(20, 2)": technicalOverPrices(
      () => new technical.BollingerBands({ period: 20, stdDev: 2, values: [] }),
      keys(...bands, "pb"),
    ),
    "ATR(14)": technicalOverCandles(
      () => new technical.ATR({ period: 14, ...noCandles }) as unknown as Generated<Candle>,
    ),
    "stochastic(14, 3, 3)": technicalOverCandles(() => new TechnicalSlowStochastic(), keys("k", "d")),
    "ADX(14)": technicalOverCandles(
      () => new technical.ADX({ period: 14, ...noCandles }) as unknown as Generated<Candle>,
      keys("adx", "pdi", "mdi"),
    ),
  },
  "fast-technical-indicators": {
    "SMA(20)": technicalOverPrices(() => new fast.SMA({ period: 20, values: [] })),
    "EMA(20)": technicalOverPrices(() => new fast.EMA({ period: 20, values: [] })),
    "RSI(14)": technicalOverPrices(() => new fast.RSI({ period: 14, values: [] })),
    "MACD(12, 26, 9)": technicalOverPrices(
      () => new fast.MACD({ ...EXPONENTIAL_MACD, values: [] }),
      keys("MACD", "signal", "histogram"),
    ),
    "Bollinger(20, 2)": technicalOverPrices(
      () => new fast.BollingerBands({ period: 20, stdDev: 2, values: [] }),
      keys(...bands, "pb"),
    ),
    "ATR(14)": fastOverCandles(() => new fast.ATR({ period: 14, ...noCandles })),
    "stochastic(14, 3, 3)": fastOverCandles(() => new FastSlowStochastic(), keys("k", "d")),
    "ADX(14)": fastOverCandles(() => new fast.ADX({ period: 14, ...noCandles }), keys("adx", "pdi", "mdi")),
  },
};
