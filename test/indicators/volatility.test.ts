import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import type { SourceOptions } from "../../src/indicators/source.js";
import { atr } from "../../src/indicators/volatility/atr.js";
import { bollinger } from "../../src/indicators/volatility/bollinger.js";
import { donchian } from "../../src/indicators/volatility/donchian.js";
import { highest } from "../../src/indicators/volatility/highest.js";
import { keltner } from "../../src/indicators/volatility/keltner.js";
import { lowest } from "../../src/indicators/volatility/lowest.js";
import { natr } from "../../src/indicators/volatility/natr.js";
import { stdDev } from "../../src/indicators/volatility/std-dev.js";
import { trueRange } from "../../src/indicators/volatility/true-range.js";
import { describeIndicator, expectLengthChecked, fading, pushAll } from "./contract.js";
import { describeTalib, talibCandles } from "./golden.js";
import { flatMarket, marketOf, scaled } from "./random-candles.js";
import {
  closesOf,
  combined,
  exponential,
  meanOf,
  type Numbers,
  varianceOf,
  wilder,
  windowed,
} from "./reference.js";

/** The three distances of which Wilder takes the largest; none for the first candle. */
function trueRanges(candles: readonly Candle[]): Numbers {
  return candles.map(({ high, low }, at) => {
    if (at === 0) return undefined;
    const { close } = candles[at - 1]!;
    return Math.max(high - low, Math.abs(high - close), Math.abs(low - close));
  });
}

const highsOf = (candles: readonly Candle[]) => candles.map(({ high }) => high);
const lowsOf = (candles: readonly Candle[]) => candles.map(({ low }) => low);
const maximumOf = (numbers: number[]) => Math.max(...numbers);
const minimumOf = (numbers: number[]) => Math.min(...numbers);

describeIndicator({
  name: "trueRange()",
  indicator: trueRange(),
  warmUp: 1,
  memory: 2,
  scaling: 1,
  flat: () => 0,
  reference: trueRanges,
});

for (const n of [1, 2, 14]) {
  const memory = 1 + fading(n, { weight: 1 / n });
  describeIndicator({
    name: `atr(${n})`,
    indicator: atr(n),
    warmUp: n,
    memory,
    scaling: 1,
    flat: () => 0,
    reference: (candles) => wilder(trueRanges(candles), n),
  });
  describeIndicator({
    name: `natr(${n})`,
    indicator: natr(n),
    warmUp: n,
    memory,
    scaling: 0,
    flat: () => 0,
    reference: (candles) =>
      combined([wilder(trueRanges(candles), n), closesOf(candles)], (range, close) => (100 * range) / close),
  });
}

for (const n of [1, 2, 20, 200]) {
  describeIndicator({
    name: `stdDev(${n})`,
    indicator: stdDev(n),
    warmUp: n - 1,
    memory: n,
    scaling: 1,
    flat: () => 0,
    reference: (candles) => windowed(closesOf(candles), n, (window) => Math.sqrt(varianceOf(window))),
  });
}

for (const [n, k] of [
  [1, 2],
  [3, 2.5],
  [20, 2],
  [20, 0],
  [200, 1],
] as const) {
  describeIndicator({
    name: `bollinger(${n}, ${k})`,
    indicator: bollinger(n, k),
    warmUp: n - 1,
    memory: n,
    scaling: { upper: 1, middle: 1, lower: 1, percentB: 0, width: 0 },
    flat: (price) => ({ upper: price, middle: price, lower: price, percentB: 0.5, width: 0 }),
    // Each middle is off by at most n + 2 roundings of a number about its size: n of the sum and the mean, one of the band,
    // one of the distance to it. `percentB` holds that against the distance of the bands, which is `width` middles.
    rounding: ({ width }) => ({ percentB: width === 0 ? 0 : ((n + 2) * Number.EPSILON) / width }),
    reference: (candles) => {
      const closes = closesOf(candles);
      const means = windowed(closes, n, meanOf);
      const variances = windowed(closes, n, varianceOf);
      return combined([closes, means, variances], (close, middle, variance) => {
        const reach = k * Math.sqrt(variance);
        const [upper, lower] = [middle + reach, middle - reach];
        const hasWidth = n > 1 && reach > 0;
        return {
          upper,
          middle,
          lower,
          percentB: hasWidth ? (close - lower) / (upper - lower) : 0.5,
          width: (upper - lower) / middle,
        };
      });
    },
  });
}

for (const [n, factor, range] of [
  [1, 1, 1],
  [20, 2, 10],
  [5, 0.5, 14],
] as const) {
  describeIndicator({
    name: `keltner(${n}, ${factor}, ${range})`,
    indicator: keltner(n, factor, range),
    warmUp: Math.max(n - 1, range),
    memory: 1 + Math.max(fading(n), fading(range, { weight: 1 / range })),
    scaling: 1,
    flat: (price) => ({ upper: price, middle: price, lower: price }),
    reference: (candles) =>
      combined([exponential(closesOf(candles), n), wilder(trueRanges(candles), range)], (middle, mean) => ({
        upper: middle + factor * mean,
        middle,
        lower: middle - factor * mean,
      })),
  });
}

for (const n of [1, 2, 20]) {
  describeIndicator({
    name: `donchian(${n})`,
    indicator: donchian(n),
    warmUp: n - 1,
    memory: n,
    scaling: 1,
    flat: (price) => ({ upper: price, middle: price, lower: price }),
    reference: (candles) =>
      combined(
        [windowed(highsOf(candles), n, maximumOf), windowed(lowsOf(candles), n, minimumOf)],
        (upper, lower) => ({ upper, middle: lower + (upper - lower) / 2, lower }),
      ),
  });
  for (const [name, indicator, numbersOf, extremeOf] of [
    ["highest", highest(n), highsOf, maximumOf],
    ["lowest", lowest(n), lowsOf, minimumOf],
  ] as const) {
    describeIndicator({
      name: `${name}(${n})`,
      indicator,
      warmUp: n - 1,
      memory: n,
      scaling: 1,
      flat: (price) => price,
      reference: (candles) => windowed(numbersOf(candles), n, extremeOf),
    });
  }
}

describeTalib("volatility", {
  TRANGE: { indicator: trueRange() },
  ATR: { indicator: atr(14) },
  NATR: { indicator: natr(14) },
  BBANDS: { indicator: bollinger(20, 2) },
  STDDEV: { indicator: stdDev(20) },
  "MAX(high)": { indicator: highest(20) },
  "MIN(low)": { indicator: lowest(20) },
});

describe("the volatility family", () => {
  const makers: Record<string, (n?: number) => Indicator<unknown>> = {
    atr,
    natr,
    stdDev,
    bollinger,
    keltner,
    "keltner's range": (n) => keltner(20, 2, n),
    donchian,
    highest,
    lowest,
  };

  it.each(Object.entries(makers))("%s has a usual length, and refuses one that is none", (_, make) => {
    expect(pushAll(make()(), marketOf(1, 30)).at(-1)).toBeDefined();
    expectLengthChecked(make);
  });

  it("has the usual defaults", () => {
    const pairs: [Indicator<unknown>, Indicator<unknown>][] = [
      [atr(), atr(14)],
      [natr(), natr(14)],
      [stdDev(), stdDev(20)],
      [bollinger(), bollinger(20, 2)],
      [keltner(), keltner(20, 2, 10)],
      [donchian(), donchian(20)],
      [highest(), highest(20)],
      [lowest(), lowest(20)],
    ];
    for (const [byDefault, written] of pairs) {
      expect(pushAll(byDefault(), talibCandles)).toEqual(pushAll(written(), talibCandles));
    }
  });

  it.each<[string, (options?: SourceOptions) => Indicator<unknown>]>([
    ["stdDev", (options) => stdDev(10, options)],
    ["bollinger", (options) => bollinger(10, 2, options)],
    ["highest", (options) => highest(10, options ?? { source: "close" })],
    ["lowest", (options) => lowest(10, options ?? { source: "close" })],
  ])("%s takes any source", (_, make) => {
    const candles = marketOf(1, 100);
    const opens = candles.map((candle) => ({ ...candle, close: candle.open }));
    expect(pushAll(make({ source: "open" })(), candles)).toEqual(pushAll(make()(), opens));
    expect(() => make({ source: "typical" as never })).toThrow("source is");
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "2" as never, null as never])(
    "refuses %s for a factor",
    (factor) => {
      expect(() => bollinger(20, factor)).toThrow("k is");
      expect(() => keltner(20, factor)).toThrow("factor is");
    },
  );
});

describe("the prices of a young token", () => {
  const young = scaled(talibCandles, 1e-10);

  it("have bands, although their variance is below what TA-Lib takes for none", () => {
    const values = pushAll(bollinger(20, 2)(), young).slice(19);
    for (const bands of values) expect(bands!.upper).toBeGreaterThan(bands!.lower);
    const percents = pushAll(bollinger(20, 2)(), talibCandles).slice(19);
    values.forEach((bands, at) => {
      expect(bands!.percentB).toBeCloseTo(percents[at]!.percentB, 9);
    });
  });
});

describe("a price of nothing", () => {
  it("has no range and no width, rather than an endless one", () => {
    const candles = [...flatMarket(3, 4), ...flatMarket(5, 0)];
    expect(pushAll(natr(3)(), candles)).toEqual([undefined, undefined, undefined, 0, 0, 0, 0, 0]);
    const bands = pushAll(bollinger(3)(), candles).at(-1);
    expect(bands).toEqual({ upper: 0, middle: 0, lower: 0, percentB: 0.5, width: 0 });
  });
});

describe("bollinger", () => {
  it("says where the price stands in its bands", () => {
    const closes = [1, 3].map((close) => ({ ...flatMarket(1, 1)[0]!, close }));
    expect(pushAll(bollinger(2, 2)(), closes).at(-1)).toEqual({
      upper: 4,
      middle: 2,
      lower: 0,
      percentB: 0.75,
      width: 2,
    });
  });
});

describe("keltner", () => {
  it("takes its middle from the source, and its width from the candles", () => {
    const candles = marketOf(1, 100);
    const opens = candles.map((candle) => ({ ...candle, close: candle.open }));
    const channels = pushAll(keltner(20, 2, 10, { source: "open" })(), candles);
    const byOpen = pushAll(keltner(20, 2, 10)(), opens);
    const ranges = pushAll(atr(10)(), candles);
    for (const [at, channel] of channels.entries()) {
      expect(channel?.middle).toBe(byOpen[at]?.middle);
      if (channel !== undefined) expect(channel.upper - channel.lower).toBeCloseTo(4 * ranges[at]!, 9);
    }
    expect(() => keltner(20, 2, 10, { source: "typical" as never })).toThrow("source is");
  });
});
