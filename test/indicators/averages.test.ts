import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { dema } from "../../src/indicators/averages/dema.js";
import { ema } from "../../src/indicators/averages/ema.js";
import { hma } from "../../src/indicators/averages/hma.js";
import { kama } from "../../src/indicators/averages/kama.js";
import { linearRegression } from "../../src/indicators/averages/linear-regression.js";
import { rma } from "../../src/indicators/averages/rma.js";
import { sma } from "../../src/indicators/averages/sma.js";
import { tema } from "../../src/indicators/averages/tema.js";
import { vwma } from "../../src/indicators/averages/vwma.js";
import { wma } from "../../src/indicators/averages/wma.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import type { SourceOptions } from "../../src/indicators/source.js";
import { describeIndicator, expectLengthChecked, fading, type IndicatorCase, pushAll } from "./contract.js";
import { describeTalib } from "./golden.js";
import { flatMarket, marketOf } from "./random-candles.js";
import {
  closesOf,
  combined,
  exponential,
  meanOf,
  type Numbers,
  sumOf,
  weightedMeanOf,
  wilder,
  windowed,
} from "./reference.js";

/** An average: in the unit of the price, and the price where that stands still. */
function describeAverage(
  given: Pick<IndicatorCase<number>, "name" | "indicator" | "warmUp" | "memory" | "reference">,
) {
  describeIndicator({ ...given, scaling: 1, flat: (price) => price });
}

for (const n of [1, 2, 3, 10, 200]) {
  describeAverage({
    name: `sma(${n})`,
    indicator: sma(n),
    warmUp: n - 1,
    memory: n,
    reference: (candles) => windowed(closesOf(candles), n, meanOf),
  });
}

for (const n of [1, 2, 3, 20]) {
  describeAverage({
    name: `wma(${n})`,
    indicator: wma(n),
    warmUp: n - 1,
    memory: n,
    reference: (candles) => windowed(closesOf(candles), n, weightedMeanOf),
  });
}

for (const n of [1, 2, 21]) {
  describeAverage({
    name: `ema(${n})`,
    indicator: ema(n),
    warmUp: n - 1,
    memory: fading(n),
    reference: (candles) => exponential(closesOf(candles), n),
  });
}

for (const n of [1, 14]) {
  describeAverage({
    name: `rma(${n})`,
    indicator: rma(n),
    warmUp: n - 1,
    memory: fading(n, { weight: 1 / n }),
    reference: (candles) => wilder(closesOf(candles), n),
  });
}

for (const n of [1, 10]) {
  describeAverage({
    name: `dema(${n})`,
    indicator: dema(n),
    warmUp: 2 * n - 2,
    memory: fading(n, { stages: 2 }),
    reference: (candles) => {
      const once = exponential(closesOf(candles), n);
      return combined([once, exponential(once, n)], (a, b) => 2 * a - b);
    },
  });
  describeAverage({
    name: `tema(${n})`,
    indicator: tema(n),
    warmUp: 3 * n - 3,
    memory: fading(n, { stages: 3 }),
    reference: (candles) => {
      const once = exponential(closesOf(candles), n);
      const twice = exponential(once, n);
      return combined([once, twice, exponential(twice, n)], (a, b, c) => 3 * a - 3 * b + c);
    },
  });
}

for (const [n, half, root] of [
  [1, 1, 1],
  [9, 4, 3],
  [8, 4, 2],
  [15, 7, 3],
] as const) {
  describeAverage({
    name: `hma(${n})`,
    indicator: hma(n),
    warmUp: n + root - 2,
    memory: n + root - 1,
    reference: (candles) => {
      const closes = closesOf(candles);
      const averages = [windowed(closes, half, weightedMeanOf), windowed(closes, n, weightedMeanOf)];
      return windowed(
        combined(averages, (short, long) => 2 * short - long),
        root,
        weightedMeanOf,
      );
    },
  });
}

for (const n of [1, 20]) {
  describeAverage({
    name: `vwma(${n})`,
    indicator: vwma(n),
    warmUp: n - 1,
    memory: n,
    reference: (candles) => {
      const amounts = candles.map(({ close, volume }) => close * volume);
      const volumes = candles.map(({ volume }) => volume);
      return combined([windowed(amounts, n, sumOf), windowed(volumes, n, sumOf)], (a, v) => a / v);
    },
  });
}

for (const [n, fast, slow] of [
  [1, 2, 30],
  [10, 2, 30],
  [10, 5, 5],
] as const) {
  describeAverage({
    name: `kama(${n}, ${fast}, ${slow})`,
    indicator: kama(n, fast, slow),
    warmUp: n,
    memory: fading(n, { weight: (2 / (slow + 1)) ** 2 }),
    reference: (candles) => kamas(closesOf(candles), n, fast, slow),
  });
}

function kamas(closes: readonly number[], n: number, fast: number, slow: number): Numbers {
  let average: number | undefined;
  return closes.map((close, at) => {
    if (at < n) return undefined;
    const moves = closes.slice(at - n, at).map((each, step) => Math.abs(closes[at - n + step + 1]! - each));
    const efficiency = sumOf(moves) === 0 ? 1 : Math.abs(close - closes[at - n]!) / sumOf(moves);
    const weight = (efficiency * (2 / (fast + 1)) + (1 - efficiency) * (2 / (slow + 1))) ** 2;
    average = (1 - weight) * (average ?? closes[at - 1]!) + weight * close;
    return average;
  });
}

for (const n of [1, 2, 14, 100]) {
  describeIndicator({
    name: `linearRegression(${n})`,
    indicator: linearRegression(n),
    warmUp: n - 1,
    memory: n,
    scaling: { value: 1, slope: 1, rSquared: 0 },
    flat: (value) => ({ value, slope: 0, rSquared: 0 }),
    reference: (candles) =>
      candles.map((_, at) =>
        at < n - 1 ? undefined : lineThrough(closesOf(candles.slice(at - n + 1, at + 1))),
      ),
  });
}

function lineThrough(closes: readonly number[]) {
  const middle = (closes.length - 1) / 2;
  const mean = meanOf(closes);
  const sumOver = (of: (step: number, rise: number) => number) =>
    sumOf(closes.map((close, at) => of(at - middle, close - mean)));
  const [covariance, steps, rises] = [
    sumOver((step, rise) => step * rise),
    sumOver((step) => step * step),
    sumOver((_, rise) => rise * rise),
  ];
  const slope = steps === 0 ? 0 : covariance / steps;
  const isFlat = new Set(closes).size === 1;
  return { value: mean + slope * middle, slope, rSquared: isFlat ? 0 : (covariance * slope) / rises };
}

describeTalib("averages", {
  "SMA(10)": { indicator: sma(10) },
  "SMA(20)": { indicator: sma(20) },
  "EMA(10)": { indicator: ema(10) },
  "EMA(20)": { indicator: ema(20) },
  "WMA(10)": { indicator: wma(10) },
  "WMA(20)": { indicator: wma(20) },
  "DEMA(10)": { indicator: dema(10) },
  "DEMA(20)": { indicator: dema(20) },
  "TEMA(10)": { indicator: tema(10) },
  "TEMA(20)": { indicator: tema(20) },
  KAMA: { indicator: kama(10) },
  "LINEARREG, LINEARREG_SLOPE": { indicator: linearRegression(14) },
});

describe("the averages", () => {
  type Make = (n?: number, options?: SourceOptions) => Indicator<unknown>;
  const makers: Record<string, Make> = {
    sma,
    ema,
    wma,
    rma,
    dema,
    tema,
    hma,
    vwma,
    kama: (n, options) => kama(n, 2, 30, options),
    linearRegression,
  };

  it.each(Object.entries(makers))("%s has a usual length, and takes any source", (_, make) => {
    const candles = marketOf(1, 100);
    expect(pushAll(make()(), candles).at(-1)).toBeDefined();
    const opens = candles.map((candle) => ({ ...candle, close: candle.open }));
    expect(pushAll(make(10, { source: "open" })(), candles)).toEqual(pushAll(make(10)(), opens));
  });

  it.each(Object.entries(makers))("%s refuses a length that is none", (_, make) => {
    expectLengthChecked(make);
  });
});

describe("kama", () => {
  it("refuses a fast average that is slower than the slow one", () => {
    expect(() => kama(10, 31, 30)).toThrow("fast is 31; allowed: a whole number from 1 to 30");
    expect(() => kama(10, 2, 0)).toThrow("slow is 0");
  });

  it("is as fast as it can be on a straight way, and catches up with a price that has come to rest", () => {
    const way = Array.from({ length: 300 }, (_, at) => ({
      ...flatMarket(1, 1)[0]!,
      close: Math.min(at, 100),
    }));
    const values = pushAll(kama(10, 1, 30)(), way);
    expect(values[50]).toBe(50);
    expect(values[299]).toBe(100);
  });
});

describe("vwma", () => {
  it("has no value where there is no volume, and one again at the first swap", () => {
    const market: Candle[] = [...flatMarket(3, 10), ...flatMarket(3, 10, 0), ...flatMarket(1, 20)];
    const values = pushAll(vwma(3)(), market);
    expect(values).toEqual([undefined, undefined, 10, 10, 10, undefined, 20]);
  });
});

describe("linearRegression", () => {
  it("fits a straight line wholly, and what has no trend not at all", () => {
    const lineOf = (closes: number[]) =>
      pushAll(
        linearRegression(4)(),
        closes.map((close) => ({ ...flatMarket(1, 1)[0]!, close })),
      ).at(-1);
    expect(lineOf([9, 1, 3, 5, 7])).toEqual({ value: 7, slope: 2, rSquared: 1 });
    expect(lineOf([9, 5, 3, 3, 5])).toEqual({ value: 4, slope: 0, rSquared: 0 });
    expect(lineOf([9, 4, 4, 4, 4])).toEqual({ value: 4, slope: 0, rSquared: 0 });
  });

  it("never explains more than all, nor less than nothing", () => {
    for (const value of pushAll(linearRegression(2)(), marketOf(3, 5_000, 1e-7)).slice(1)) {
      expect(value!.rSquared).toBeGreaterThanOrEqual(0);
      expect(value!.rSquared).toBeLessThanOrEqual(1);
    }
  });
});
