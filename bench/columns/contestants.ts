import { createRequire } from "node:module";
import { IndicatorsSync } from "@ixjb94/indicators";
import type * as FastTechnicalIndicators from "fast-technical-indicators";
import * as indicatorts from "indicatorts";
import {
  adx,
  atr,
  bollinger,
  type Candle,
  type CandleColumns,
  ema,
  type Indicator,
  indicatorColumns,
  macd,
  rsi,
  sma,
  stochastic,
} from "pairstream";
import * as technical from "technicalindicators";
import * as signals from "trading-signals";
import {
  adxLoop,
  atrLoop,
  bollingerLoop,
  emaLoop,
  type Loop,
  macdLoop,
  rsiLoop,
  smaLoop,
  stochasticLoop,
} from "../indicators/loops.js";
import { type Rows, rowsOf } from "../indicators/rows.js";

/** Its ES module cannot be loaded by Node, because its package is not declared as one. */
const fast: typeof FastTechnicalIndicators = createRequire(import.meta.url)("fast-technical-indicators");

/** A whole series, in the forms that the contestants take. */
export interface WholeSeries {
  rows: Rows;
  columns: CandleColumns;
  /** What the peers' types ask for. */
  high: number[];
  low: number[];
  close: number[];
}

/** One way to compute an indicator over a whole series. */
export interface Contestant {
  run(series: WholeSeries): unknown;
  /**
   * The columns of a result in the loop's order, its first ones or all; they end with the last candle, and may begin
   * later than the first.
   */
  columnsOf(result: unknown): readonly ArrayLike<number>[];
}

export function wholeSeriesOf(candles: readonly Candle[]): WholeSeries {
  const rows = rowsOf(candles);
  const { high, low, close } = rows;
  const column = (field: keyof Candle) => Float64Array.from(candles, (candle) => candle[field]);
  const [timestamp, open, volume] = [column("timestamp"), column("open"), column("volume")];
  return {
    rows,
    columns: { timestamp, open, high, low, close, volume },
    high: [...high],
    low: [...low],
    close: [...close],
  };
}

type Columns = Readonly<Record<string, Float64Array>>;

/** Ours, into new arrays. */
function ours(indicator: Indicator<unknown>, ...fields: string[]): Contestant {
  return {
    run: ({ columns }) => (indicatorColumns({ own: indicator }, columns) as { own: unknown }).own,
    columnsOf: (own) =>
      fields.length === 0 ? [own as Float64Array] : fields.map((field) => (own as Columns)[field]!),
  };
}

/** Ours, into the arrays of the call before. */
function oursInto(indicator: Indicator<unknown>, ...fields: string[]): Contestant {
  const kept = new WeakMap<WholeSeries, { own: never }>();
  return {
    ...ours(indicator, ...fields),
    run: (series) => {
      const into = kept.get(series);
      const all = indicatorColumns({ own: indicator }, series.columns, into === undefined ? {} : { into });
      if (into === undefined) kept.set(series, all as unknown as { own: never });
      return (all as { own: unknown }).own;
    },
  };
}

/** The loop, into the arrays of the call before. */
function loop(of: Loop, width: number): Contestant {
  const kept = new WeakMap<WholeSeries, Float64Array[]>();
  return {
    columnsOf: (result) => result as Float64Array[],
    run: (series) => {
      let out = kept.get(series);
      if (out === undefined) {
        out = Array.from({ length: width }, () => new Float64Array(series.rows.close.length));
        kept.set(series, out);
      }
      of(series.rows, out);
      return out;
    },
  };
}

const one = (result: unknown): number[][] => [result as number[]];
const all = (result: unknown): number[][] => result as number[][];
const fieldsIn = (...names: string[]) => {
  return (result: unknown) => names.map((name) => (result as Record<string, number[]>)[name]!);
};
/** Of a list of objects. */
const keysIn = (...names: string[]) => {
  return (result: unknown) =>
    names.map((name) => (result as Record<string, number>[]).map((each) => each?.[name] ?? Number.NaN));
};

const tulip = new IndicatorsSync();

export const OURS = "pairstream";
export const INTO = "pairstream, with `into`";
export const LOOP = "loop";
export const PEERS = [
  "@ixjb94/indicators",
  "indicatorts",
  "fast-technical-indicators",
  "technicalindicators",
  "trading-signals",
] as const;

/** The eight classics by everyone who has them in a call of their own. */
const BY_COLUMN: Readonly<Record<string, Readonly<Record<string, Contestant>>>> = {
  "SMA(20)": {
    [OURS]: ours(sma(20)),
    [INTO]: oursInto(sma(20)),
    [LOOP]: loop(smaLoop(20), 1),
    "@ixjb94/indicators": { run: ({ close }) => tulip.sma(close, 20), columnsOf: one },
    indicatorts: { run: ({ close }) => indicatorts.sma(close, { period: 20 }), columnsOf: one },
    "fast-technical-indicators": {
      run: ({ close }) => fast.sma({ period: 20, values: close }),
      columnsOf: one,
    },
  },
  "EMA(20)": {
    [OURS]: ours(ema(20)),
    [INTO]: oursInto(ema(20)),
    [LOOP]: loop(emaLoop(20), 1),
    "@ixjb94/indicators": { run: ({ close }) => tulip.ema(close, 20), columnsOf: one },
    indicatorts: { run: ({ close }) => indicatorts.ema(close, { period: 20 }), columnsOf: one },
    "fast-technical-indicators": {
      run: ({ close }) => fast.ema({ period: 20, values: close }),
      columnsOf: one,
    },
  },
  "RSI(14)": {
    [OURS]: ours(rsi(14)),
    [INTO]: oursInto(rsi(14)),
    [LOOP]: loop(rsiLoop(14), 1),
    "@ixjb94/indicators": { run: ({ close }) => tulip.rsi(close, 14), columnsOf: one },
    indicatorts: { run: ({ close }) => indicatorts.rsi(close, { period: 14 }), columnsOf: one },
    "fast-technical-indicators": {
      run: ({ close }) => fast.rsi({ period: 14, values: close }),
      columnsOf: one,
    },
  },
  "MACD(12, 26, 9)": {
    [OURS]: ours(macd(12, 26, 9), "macd", "signal", "histogram"),
    [INTO]: oursInto(macd(12, 26, 9), "macd", "signal", "histogram"),
    [LOOP]: loop(macdLoop(12, 26, 9), 3),
    "@ixjb94/indicators": { run: ({ close }) => tulip.macd(close, 12, 26, 9), columnsOf: all },
    indicatorts: {
      run: ({ close }) => indicatorts.macd(close, { fast: 12, slow: 26, signal: 9 }),
      columnsOf: fieldsIn("macdLine", "signalLine"),
    },
    "fast-technical-indicators": {
      run: ({ close }) =>
        fast.macd({
          fastPeriod: 12,
          slowPeriod: 26,
          signalPeriod: 9,
          SimpleMAOscillator: false,
          SimpleMASignal: false,
          values: close,
        }),
      columnsOf: keysIn("MACD", "signal", "histogram"),
    },
  },
  "Bollinger(20, 2)": {
    [OURS]: ours(bollinger(20, 2), "upper", "middle", "lower", "percentB", "width"),
    [INTO]: oursInto(bollinger(20, 2), "upper", "middle", "lower", "percentB", "width"),
    [LOOP]: loop(bollingerLoop(20, 2), 5),
    "@ixjb94/indicators": {
      run: ({ close }) => tulip.bbands(close, 20, 2),
      columnsOf: (result) => all(result).slice().reverse(),
    },
    indicatorts: {
      run: ({ close }) => indicatorts.bb(close, { period: 20 }),
      columnsOf: fieldsIn("upper", "middle", "lower"),
    },
    "fast-technical-indicators": {
      run: ({ close }) => fast.bollingerbands({ period: 20, stdDev: 2, values: close }),
      columnsOf: keysIn("upper", "middle", "lower", "pb"),
    },
  },
  "ATR(14)": {
    [OURS]: ours(atr(14)),
    [INTO]: oursInto(atr(14)),
    [LOOP]: loop(atrLoop(14), 1),
    "@ixjb94/indicators": { run: ({ high, low, close }) => tulip.atr(high, low, close, 14), columnsOf: one },
    indicatorts: {
      run: ({ high, low, close }) => indicatorts.atr(high, low, close, { period: 14 }),
      columnsOf: fieldsIn("atrLine"),
    },
    "fast-technical-indicators": {
      run: ({ high, low, close }) => fast.atr({ period: 14, high, low, close }),
      columnsOf: one,
    },
  },
  "stochastic(14, 3, 3)": {
    [OURS]: ours(stochastic(14, 3, 3), "k", "d"),
    [INTO]: oursInto(stochastic(14, 3, 3), "k", "d"),
    [LOOP]: loop(stochasticLoop(14), 2),
    "@ixjb94/indicators": {
      run: ({ high, low, close }) => tulip.stoch(high, low, close, 14, 3, 3),
      columnsOf: all,
    },
    // Those two smooth once; the second time is an average of their own.
    indicatorts: {
      run: ({ high, low, close }) => {
        const { d } = indicatorts.stoch(high, low, close, { kPeriod: 14, dPeriod: 3 });
        return [d, indicatorts.sma(d, { period: 3 })];
      },
      columnsOf: all,
    },
    "fast-technical-indicators": {
      run: ({ high, low, close }) => {
        const once = fast.stochastic({ period: 14, signalPeriod: 3, high, low, close });
        const k = once.map(({ d }) => d ?? Number.NaN).filter((each) => !Number.isNaN(each));
        return [k, fast.sma({ period: 3, values: k })];
      },
      columnsOf: all,
    },
  },
  "ADX(14)": {
    [OURS]: ours(adx(14), "adx", "plusDi", "minusDi"),
    [INTO]: oursInto(adx(14), "adx", "plusDi", "minusDi"),
    [LOOP]: loop(adxLoop(14), 3),
    "@ixjb94/indicators": {
      run: ({ high, low, close }) => [tulip.adx(high, low, 14), ...tulip.di(high, low, close, 14)],
      columnsOf: all,
    },
    "fast-technical-indicators": {
      run: ({ high, low, close }) => fast.adx({ period: 14, high, low, close }),
      columnsOf: keysIn("adx", "pdi", "mdi"),
    },
  },
};

const overPrices = (calculate: (values: number[]) => unknown, columnsOf = one): Contestant => ({
  run: ({ close }) => calculate(close),
  columnsOf,
});
const overCandles = (
  calculate: (columns: { high: number[]; low: number[]; close: number[] }) => unknown,
  columnsOf = one,
): Contestant => ({ run: ({ high, low, close }) => calculate({ high, low, close }), columnsOf });

const technicalByColumn: Readonly<Record<string, Contestant>> = {
  "SMA(20)": overPrices((values) => technical.SMA.calculate({ period: 20, values })),
  "EMA(20)": overPrices((values) => technical.EMA.calculate({ period: 20, values })),
  "RSI(14)": overPrices((values) => technical.RSI.calculate({ period: 14, values })),
  "MACD(12, 26, 9)": overPrices(
    (values) =>
      technical.MACD.calculate({
        fastPeriod: 12,
        slowPeriod: 26,
        signalPeriod: 9,
        SimpleMAOscillator: false,
        SimpleMASignal: false,
        values,
      }),
    keysIn("MACD", "signal", "histogram"),
  ),
  "Bollinger(20, 2)": overPrices(
    (values) => technical.BollingerBands.calculate({ period: 20, stdDev: 2, values }),
    keysIn("upper", "middle", "lower", "pb"),
  ),
  "ATR(14)": overCandles((columns) => technical.ATR.calculate({ period: 14, ...columns })),
  // It smooths once, too.
  "stochastic(14, 3, 3)": overCandles((columns) => {
    const once = technical.Stochastic.calculate({ period: 14, signalPeriod: 3, ...columns });
    const k = once.map(({ d }) => d).filter((each) => each !== undefined);
    return [k, technical.SMA.calculate({ period: 3, values: k })];
  }, all),
  "ADX(14)": overCandles(
    (columns) => technical.ADX.calculate({ period: 14, ...columns }),
    keysIn("adx", "pdi", "mdi"),
  ),
};

/** `updates`, its own way to take a list. */
function updated<Input>(
  make: () => { updates(inputs: readonly Input[]): readonly unknown[] },
  inputsOf: (series: WholeSeries) => readonly Input[],
  ...names: string[]
): Contestant {
  return {
    run: (series) => make().updates(inputsOf(series)),
    columnsOf: (results) => {
      if (names.length > 0) return keysIn(...names)(results);
      return [(results as (number | null)[]).map((each) => each ?? Number.NaN)];
    },
  };
}
const closes = ({ close }: WholeSeries) => close;
const candles = ({ rows }: WholeSeries) => rows.candles;

const signalsByColumn: Readonly<Record<string, Contestant>> = {
  "SMA(20)": updated(() => new signals.SMA(20), closes),
  "EMA(20)": updated(() => new signals.EMA(20), closes),
  "RSI(14)": updated(() => new signals.RSI(14), closes),
  "MACD(12, 26, 9)": updated(
    () => new signals.MACD(new signals.EMA(12), new signals.EMA(26), new signals.EMA(9)),
    closes,
    ...["macd", "signal", "histogram"],
  ),
  "Bollinger(20, 2)": updated(() => new signals.BollingerBands(20, 2), closes, "upper", "middle", "lower"),
  "ATR(14)": updated(() => new signals.ATR(14), candles),
  "stochastic(14, 3, 3)": updated(
    () => new signals.StochasticOscillator({ kPeriod: 14, kSlowingPeriod: 3, dPeriod: 3 }),
    candles,
    ...["stochK", "stochD"],
  ),
  "ADX(14)": updated(() => new signals.ADX(14), candles),
};

/** The eight classics by everyone who has them. */
export const CLASSICS: Readonly<Record<string, Readonly<Record<string, Contestant>>>> = Object.fromEntries(
  Object.entries(BY_COLUMN).map(([name, contestants]) => [
    name,
    {
      ...contestants,
      technicalindicators: technicalByColumn[name]!,
      "trading-signals": signalsByColumn[name]!,
    },
  ]),
);
