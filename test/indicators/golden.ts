import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import { numbersOf } from "./values.js";

/** Figures of one output of TA-Lib: none before the candle `from`, then one for every candle. */
interface Figures {
  from: number;
  figures: number[];
}

interface Golden {
  start: number;
  step: number;
  candles: Record<"open" | "high" | "low" | "close" | "volume" | "swaps", number[]>;
  vectors: Record<string, Record<string, Figures>>;
}

const golden: Golden = JSON.parse(readFileSync(new URL("talib.json", import.meta.url), "utf8"));

/** The candles that TA-Lib was given. */
export const talibCandles: readonly Candle[] = golden.candles.open.map((open, at) => ({
  timestamp: golden.start + at * golden.step,
  open,
  high: golden.candles.high[at]!,
  low: golden.candles.low[at]!,
  close: golden.candles.close[at]!,
  volume: golden.candles.volume[at]!,
  swaps: golden.candles.swaps[at]!,
}));

/** What TA-Lib made of the candles, by its name for it. */
export const talibFigures: Readonly<Record<string, Readonly<Record<string, Figures>>>> = golden.vectors;

/** Which family compares itself with which figures. */
export const TALIB_NAMES = {
  averages: [
    "SMA(10)",
    "SMA(20)",
    "EMA(10)",
    "EMA(20)",
    "WMA(10)",
    "WMA(20)",
    "DEMA(10)",
    "DEMA(20)",
    "TEMA(10)",
    "TEMA(20)",
    "KAMA",
    "LINEARREG, LINEARREG_SLOPE",
  ],
  momentum: ["RSI", "MACD", "STOCH", "CCI", "MFI", "WILLR", "ROC", "MOM", "CMO", "TRIX", "ULTOSC"],
  trend: ["ADX, PLUS_DI, MINUS_DI", "AROON, AROONOSC", "SAR"],
  volatility: ["TRANGE", "ATR", "NATR", "BBANDS", "STDDEV", "MAX(high)", "MIN(low)"],
  volume: ["OBV", "AD", "ADOSC"],
} as const;

/** How an indicator is compared with TA-Lib's figures. */
export interface TalibCase {
  indicator: Indicator<unknown>;
  /** The first candle to compare, where TA-Lib begins otherwise; what comes before is then not looked at. */
  from?: number;
  /** Compares how far the values are from the one at `from`, for running totals that start elsewhere. */
  fromFirst?: boolean;
}

type NameOf<Family extends keyof typeof TALIB_NAMES> = (typeof TALIB_NAMES)[Family][number];

/** Compares a family with all of its figures; none can be left out. */
export function describeTalib<Family extends keyof typeof TALIB_NAMES>(
  family: Family,
  cases: Record<NameOf<Family>, TalibCase>,
): void {
  describe(`${family}: TA-Lib`, () => {
    it.each<[string, TalibCase]>(Object.entries(cases))("%s", (name, { indicator, ...options }) => {
      expectTalib(indicator, name, options);
    });
  });
}

/**
 * Expects TA-Lib's figures to 1e-9 of their size (they are rounded to 15 digits) wherever it gives all of them, and
 * no value where it does not.
 */
export function expectTalib(
  indicator: Indicator<unknown>,
  name: string,
  { from, fromFirst = false }: Omit<TalibCase, "indicator"> = {},
): void {
  const kernel = indicator();
  const values = talibCandles.map((candle) => numbersOf(kernel.push(candle)));
  const outputs = Object.entries(talibFigures[name]!);
  const start = Math.max(...outputs.map(([, figures]) => figures.from));
  if (from === undefined) expect(values.slice(0, start)).toEqual(new Array(start).fill(undefined));
  const first = from ?? start;
  for (const [key, { from: offset, figures }] of outputs) {
    const valueAt = (at: number) => values[at]?.[key] ?? Number.NaN;
    const [base, figureBase] = fromFirst ? [valueAt(first), figures[first - offset]!] : [0, 0];
    for (let at = first; at < values.length; at += 1) {
      const value = valueAt(at) - base;
      const figure = figures[at - offset]! - figureBase;
      const allowed = 1e-9 * Math.max(1, Math.abs(figure));
      if (Math.abs(value - figure) <= allowed) continue;
      expect.fail(`${name}, ${key} of candle ${at}: ${value}, and by TA-Lib ${figure}`);
    }
  }
}
