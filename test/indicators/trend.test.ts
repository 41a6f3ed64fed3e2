import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { adx } from "../../src/indicators/trend/adx.js";
import { aroon } from "../../src/indicators/trend/aroon.js";
import { ichimoku } from "../../src/indicators/trend/ichimoku.js";
import { psar } from "../../src/indicators/trend/psar.js";
import { supertrend } from "../../src/indicators/trend/supertrend.js";
import { describeIndicator, expectLengthChecked, fading, pushAll } from "./contract.js";
import { describeTalib } from "./golden.js";
import { flatMarket, marketOf, scaled, someSeed } from "./random-candles.js";
import {
  aroons,
  directionalMovements,
  ichimokuLines,
  parabolicStops,
  supertrends,
} from "./trend-reference.js";

for (const n of [1, 2, 14]) {
  describeIndicator({
    name: `adx(${n})`,
    indicator: adx(n),
    warmUp: 2 * n - 1,
    memory: fading(n, { weight: 1 / n, stages: 2 }),
    scaling: 0,
    flat: () => ({ adx: 0, plusDi: 0, minusDi: 0 }),
    reference: (candles) => directionalMovements(candles, n),
  });
}

for (const n of [1, 2, 14, 25]) {
  describeIndicator({
    name: `aroon(${n})`,
    indicator: aroon(n),
    warmUp: n,
    memory: n + 1,
    scaling: 0,
    flat: () => ({ up: 100, down: 100, oscillator: 0 }),
    reference: (candles) => aroons(candles, n),
  });
}

for (const [step, max] of [
  [0.02, 0.2],
  [0.1, 0.1],
  [0, 0],
  [0.7, 1],
] as const) {
  describeIndicator({
    name: `psar(${step}, ${max})`,
    indicator: psar(step, max),
    warmUp: 1,
    // What it remembers ends with a trend that both pasts agree on; a stop that stands still may never be touched.
    memory: step === 0 ? Number.POSITIVE_INFINITY : 3_000,
    scaling: 1,
    flat: (price) => price,
    reference: (candles) => parabolicStops(candles, step, max),
  });
}

for (const [n, factor] of [
  // Shorter ones have bands that meet where the walk rests, where TradingView's formula turns for no reason.
  [3, 2.2],
  [10, 3],
  [14, 1.5],
] as const) {
  describeIndicator({
    name: `supertrend(${n}, ${factor})`,
    indicator: supertrend(n, factor),
    warmUp: n,
    // Its bands are of one past once the range has faded and either band has been left by a close.
    memory: fading(n, { weight: 1 / n }) + 1_000,
    scaling: { value: 1, direction: 0 },
    flat: (price) => ({ value: price, direction: -1 as const }),
    reference: (candles) => supertrends(candles, n, factor),
  });
}

for (const lengths of [
  [9, 26, 52],
  [1, 1, 1],
  [20, 3, 7],
] as const) {
  describeIndicator({
    name: `ichimoku(${lengths.join(", ")})`,
    indicator: ichimoku(...lengths),
    warmUp: Math.max(...lengths) - 1,
    memory: Math.max(...lengths),
    scaling: 1,
    flat: (price) => ({ conversion: price, base: price, spanA: price, spanB: price }),
    reference: (candles) => ichimokuLines(candles, lengths),
  });
}

describeTalib("trend", {
  "ADX, PLUS_DI, MINUS_DI": { indicator: adx(14) },
  "AROON, AROONOSC": { indicator: aroon(25) },
  SAR: { indicator: psar(0.02, 0.2) },
});

/** A candle from `low` to `high` that closes at `close`. */
function candleBetween(low: number, high: number, close: number): Candle {
  return { timestamp: 0, open: close, high, low, close, volume: 1, swaps: 1 };
}

/** The same market upside down: the price `200 − x` for `x`. */
function mirrored(candles: readonly Candle[]): Candle[] {
  return candles.map(({ high, low, close }) => candleBetween(200 - high, 200 - low, 200 - close));
}

describe("the trend indicators", () => {
  it("have the usual arguments", () => {
    const candles = marketOf(1, 200);
    const pairs = [
      [adx(), adx(14)],
      [aroon(), aroon(14)],
      [psar(), psar(0.02, 0.2)],
      [supertrend(), supertrend(10, 3)],
      [ichimoku(), ichimoku(9, 26, 52)],
    ] as const;
    for (const [usual, written] of pairs) {
      expect(pushAll<unknown>(usual(), candles)).toEqual(pushAll<unknown>(written(), candles));
    }
  });

  it.each<[string, (n: number) => unknown]>([
    ["adx", adx],
    ["aroon", aroon],
    ["supertrend", supertrend],
    ["ichimoku's conversion", (n) => ichimoku(n)],
    ["ichimoku's base", (n) => ichimoku(9, n)],
    ["ichimoku's span", (n) => ichimoku(9, 26, n)],
  ])("%s refuses a length that is none", (_, make) => {
    expectLengthChecked(make);
  });

  it("refuse factors and steps that are none", () => {
    expect(() => supertrend(10, -1)).toThrow("factor is -1");
    expect(() => supertrend(10, Number.POSITIVE_INFINITY)).toThrow("factor is Infinity");
    expect(() => psar(0.3)).toThrow("step is 0.3; allowed: a number from 0 to 0.2");
    expect(() => psar(-0.01)).toThrow("step is -0.01");
    expect(() => psar(0.02, 1.5)).toThrow("max is 1.5; allowed: a number from 0 to 1");
    expect(() => psar(0.02, Number.NaN)).toThrow("max is NaN");
  });
});

describe("adx", () => {
  it("stays between 0 and 100", () => {
    fc.assert(
      fc.property(someSeed, fc.integer({ min: 1, max: 20 }), (seed, n) => {
        const numbers = pushAll(adx(n)(), marketOf(seed, 200)).flatMap((value) => Object.values(value ?? {}));
        expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...numbers)).toBeLessThanOrEqual(100 * (1 + 1e-12));
      }),
    );
  });

  it("takes a straight way for the strongest trend", () => {
    const rising = Array.from({ length: 60 }, (_, at) => candleBetween(at, at + 1, at + 1));
    const last = pushAll(adx(14)(), rising).at(-1)!;
    expect(last.adx).toBeCloseTo(100, 9);
    expect(last.minusDi).toBe(0);
    // Of the first candle nothing is left, so each range is the 1 that the high has risen by.
    expect(last.plusDi).toBeCloseTo(100, 9);
  });

  it("gives no direction to a candle that moves both ends alike, or lies within the one before", () => {
    const still = Array.from({ length: 40 }, (_, at) => candleBetween(50 - at, 50 + at, 50));
    const within = [...still].reverse();
    for (const candles of [still, within]) {
      expect(pushAll(adx(5)(), candles).at(-1)).toEqual({ adx: 0, plusDi: 0, minusDi: 0 });
    }
  });

  it("comes to rest at 0 once nothing has moved for so long that only rounding is left", () => {
    const kernel = adx(14)();
    pushAll(kernel, marketOf(1, 100));
    const [soon, late] = [1_000, 10_000].map((length) => pushAll(kernel, flatMarket(length, 100)).at(-1)!);
    expect(soon!.plusDi).toBeGreaterThan(1);
    expect(late!.plusDi).toBe(0);
    expect(late!.minusDi).toBe(0);
  });
});

describe("aroon", () => {
  it("counts the most recent of equal extremes", () => {
    const candles = [5, 9, 9, 7, 3, 3, 6].map((price) => candleBetween(price, price, price));
    // Of the last 7: the highest high 4 candles ago, the lowest low 1 ago.
    expect(pushAll(aroon(6)(), candles).at(-1)).toEqual({
      up: (100 * 2) / 6,
      down: (100 * 5) / 6,
      oscillator: (100 * -3) / 6,
    });
  });
});

describe("psar", () => {
  it("lies beyond the candle before, and never within it", () => {
    fc.assert(
      fc.property(someSeed, (seed) => {
        const candles = marketOf(seed, 300);
        const values = pushAll(psar()(), candles);
        for (let at = 2; at < candles.length; at += 1) {
          const { low, high } = candles[at - 1]!;
          expect(values[at]! <= low || values[at]! >= high).toBe(true);
        }
      }),
    );
  });

  it("treats rising and falling alike", () => {
    fc.assert(
      fc.property(someSeed, (seed) => {
        // The second candle falls, so that there is a direction to turn around.
        const candles = [candleBetween(90, 110, 100), candleBetween(80, 105, 100), ...marketOf(seed, 200)];
        const values = pushAll(psar()(), candles);
        const others = pushAll(psar()(), mirrored(candles));
        values.slice(1).forEach((value, at) => {
          expect(others[at + 1]).toBeCloseTo(200 - value!, 9);
        });
      }),
      { numRuns: 25 },
    );
  });

  it("turns where the low touches the stop, at the highest high", () => {
    const candles = [
      candleBetween(10, 11, 11),
      candleBetween(11, 12, 12),
      candleBetween(12, 13, 13),
      candleBetween(10, 12, 11),
      candleBetween(9, 11, 9),
      candleBetween(8, 10, 8),
    ];
    // The first low; 2 % of the way from there to 12; the turn, at 13. The way from there to 10 is held up by the 13
    // of the candle before the turn, and then, of 4 % as there is a new low, by nothing.
    expect(pushAll(psar()(), candles)).toEqual([undefined, 10, 10 + 0.02 * 2, 13, 13, 13 - 0.04 * 4]);
  });
});

describe("supertrend", () => {
  const rise = Array.from({ length: 40 }, (_, at) => candleBetween(100 + at, 102 + at, 101 + at));

  it("turns with a close beyond the band, not with a wick", () => {
    const kernel = supertrend(5, 2)();
    const { value, direction } = pushAll(kernel, rise).at(-1)!;
    expect(direction).toBe(1);
    expect(kernel.peek(candleBetween(value / 2, 140, value))!.direction).toBe(1);
    expect(kernel.peek(candleBetween(value / 2, 140, value * 0.999))!.direction).toBe(-1);
  });

  it("keeps its side of the candles' middle while the trend lasts, and never steps back", () => {
    fc.assert(
      fc.property(someSeed, (seed) => {
        const values = pushAll(supertrend(5, 2)(), marketOf(seed, 300));
        // The first one is down whatever its candle does, which may close above the band.
        values.slice(7).forEach((value, at) => {
          const before = values[at + 6]!;
          if (value!.direction !== before.direction) return;
          expect(value!.direction * (value!.value - before.value)).toBeGreaterThanOrEqual(0);
        });
      }),
      { examples: [[-882_002_581]] },
    );
  });

  it("holds its direction where the market stands still until both bands meet", () => {
    const kernel = supertrend(3, 2)();
    pushAll(kernel, rise);
    const rest = pushAll(kernel, flatMarket(1_000, 140));
    expect(rest.at(-1)).toEqual({ value: 140, direction: 1 });
    expect(new Set(rest.map((value) => value!.direction))).toEqual(new Set([1]));
    expect(kernel.peek(candleBetween(139, 140, 139))!.direction).toBe(-1);
  });

  it("has no lower band below 0, as in TradingView", () => {
    // Once a close is above the upper band, the lower one lies far below 0 by the range alone.
    const wide = [
      candleBetween(1, 1, 1),
      candleBetween(1, 100, 100),
      candleBetween(1, 100, 1),
      candleBetween(150, 1_000, 1_000),
    ];
    const values = pushAll(supertrend(1, 3)(), wide);
    expect(values[1]).toEqual({ value: 50.5 + 3 * 99, direction: -1 });
    expect(values.at(-1)).toEqual({ value: 0, direction: 1 });
  });
});

describe("ichimoku", () => {
  it("does not displace its spans", () => {
    const candles = scaled(marketOf(8, 60), 1);
    const last = pushAll(ichimoku(2, 3, 4)(), candles).at(-1)!;
    const of = (n: number) => {
      const recent = candles.slice(-n);
      const [high, low] = [
        Math.max(...recent.map((each) => each.high)),
        Math.min(...recent.map((each) => each.low)),
      ];
      return (high + low) / 2;
    };
    expect(last).toEqual({ conversion: of(2), base: of(3), spanA: (of(2) + of(3)) / 2, spanB: of(4) });
  });
});
