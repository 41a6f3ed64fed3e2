import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { vwma } from "../../src/indicators/averages/vwma.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import { adl } from "../../src/indicators/volume/adl.js";
import { chaikinOscillator } from "../../src/indicators/volume/chaikin-oscillator.js";
import { cmf } from "../../src/indicators/volume/cmf.js";
import { obv } from "../../src/indicators/volume/obv.js";
import { vwap } from "../../src/indicators/volume/vwap.js";
import { describeIndicator, expectLengthChecked, fading, pushAll } from "./contract.js";
import { describeTalib } from "./golden.js";
import { flatMarket, marketOf, randomOf, someSeed } from "./random-candles.js";
import { windowed } from "./reference.js";
import {
  chaikinOscillators,
  moneyFlowShares,
  moneyFlows,
  paidOnAverage,
  runningSums,
  sessionPrices,
  volumeBalances,
} from "./volume-reference.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describeIndicator({
  name: "obv()",
  indicator: obv(),
  warmUp: 0,
  memory: Number.POSITIVE_INFINITY,
  scaling: 0,
  volumeScaling: 1,
  flat: () => 5,
  reference: volumeBalances,
});

describeIndicator({
  name: "adl()",
  indicator: adl(),
  warmUp: 0,
  memory: Number.POSITIVE_INFINITY,
  scaling: 0,
  volumeScaling: 1,
  flat: () => 0,
  reference: (candles) => runningSums(moneyFlows(candles)),
});

for (const [fast, slow] of [
  [3, 10],
  [1, 1],
  [1, 7],
] as const) {
  describeIndicator({
    name: `chaikinOscillator(${fast}, ${slow})`,
    indicator: chaikinOscillator(fast, slow),
    warmUp: slow - 1,
    memory: fading(slow),
    scaling: 0,
    volumeScaling: 1,
    flat: () => 0,
    reference: (candles) => chaikinOscillators(candles, fast, slow),
  });
}

for (const n of [1, 2, 20]) {
  describeIndicator({
    name: `cmf(${n})`,
    indicator: cmf(n),
    warmUp: n - 1,
    memory: n,
    scaling: 0,
    flat: () => 0,
    reference: (candles) => moneyFlowShares(candles, n),
  });
}

for (const [session, length] of [
  ["1min", 1],
  ["10min", 10],
  ["1h", 60],
] as const) {
  describeIndicator({
    name: `vwap({ session: "${session}" })`,
    indicator: vwap({ session }),
    warmUp: 0,
    memory: length,
    scaling: 1,
    flat: (price) => price,
    reference: (candles) => sessionPrices(candles, (timestamp) => Math.floor(timestamp / (length * MINUTE))),
  });
}

for (const n of [1, 20]) {
  describeIndicator({
    name: `vwap({ session: { candles: ${n} } })`,
    indicator: vwap({ session: { candles: n } }),
    warmUp: n - 1,
    memory: n,
    scaling: 1,
    flat: (price) => price,
    reference: (candles) => {
      const places = candles.map((_, at) => at);
      return windowed(places, n, (window) => paidOnAverage(window.map((at) => candles[at]!)));
    },
  });
}

describeTalib("volume", {
  OBV: { indicator: obv() },
  AD: { indicator: adl() },
  ADOSC: { indicator: chaikinOscillator(3, 10) },
});

describe("obv and adl", () => {
  const totals: [string, Indicator<number>, (candle: Candle, before: Candle | undefined) => bigint][] = [
    ["obv", obv(), (candle, before) => unitsOf(candle) * (candle.close > (before?.close ?? 0) ? 1n : -1n)],
    ["adl", adl(), (candle) => unitsOf(candle) * (candle.close === candle.high ? 1n : -1n)],
  ];
  /** Volumes are whole numbers of this unit, so that a sum of them can be had without rounding. */
  const UNIT = 2 ** -32;
  const unitsOf = ({ volume }: Candle) => BigInt(volume / UNIT);

  it.each(totals)("%s does not drift in a million candles", (_, indicator, exactOf) => {
    const random = randomOf(1);
    const kernel = indicator();
    let exact = 0n;
    let before: Candle | undefined;
    let worst = 0;
    for (let at = 0; at < 1_000_000; at += 1) {
      const isUp = random() < 0.5;
      const level = before?.close ?? 100;
      const close = isUp ? level + 1 : level - 1;
      const volume = Math.floor(random() * 2 ** (20 + 32 * random())) * UNIT;
      const edges = isUp ? { high: close, low: level } : { high: level, low: close };
      const candle = { timestamp: at, open: level, ...edges, close, volume, swaps: 1 };
      exact += exactOf(candle, before);
      before = candle;
      const expected = Number(exact) * UNIT;
      worst = Math.max(worst, Math.abs(kernel.push(candle)! - expected) / Math.max(1, Math.abs(expected)));
    }
    expect(worst).toBeLessThan(2 ** -51);
  });

  it("gets back every digit of a small volume that a large one has hidden", () => {
    const candles = [1, 2, 3, 2].map((close, at) => ({
      ...flatMarket(1, close, [0.1, 0.2, 1e17, 1e17][at])[0]!,
    }));
    expect(pushAll(obv()(), candles).at(-1)).toBeCloseTo(0.3, 15);
  });
});

describe("obv", () => {
  it("counts a volume by the way of the close, and not at all where that has not moved", () => {
    const candles = [10, 11, 11, 9, 10].map((close, at) => flatMarket(1, close, 2 ** at)[0]!);
    expect(pushAll(obv()(), candles)).toEqual([1, 3, 3, -5, 11]);
  });
});

describe("chaikinOscillator", () => {
  it("does not lose its digits where the line has grown large", () => {
    const kernel = chaikinOscillator()();
    const [before, recent] = [marketOf(1, 1_000), marketOf(2, 400)];
    for (let round = 0; round < 100; round += 1) {
      for (const candle of before) kernel.push({ ...candle, close: candle.high, volume: 1e12 });
    }
    const fresh = pushAll(chaikinOscillator()(), recent).at(-1)!;
    expect(pushAll(kernel, recent).at(-1)).toBeCloseTo(fresh, 9);
  });

  it("refuses a fast average that is slower than the slow one", () => {
    expect(() => chaikinOscillator(11)).toThrow("fast is 11; allowed: a whole number from 1 to 10");
    expect(() => chaikinOscillator(3, 0)).toThrow("slow is 0");
  });
});

describe("cmf", () => {
  it("is never beyond ±1, and there where every candle closes at one end", () => {
    fc.assert(
      fc.property(someSeed, fc.integer({ min: 1, max: 30 }), (seed, n) => {
        const candles = marketOf(seed, 100).filter(({ high, low }) => high > low);
        for (const value of pushAll(cmf(n)(), candles)) expect(Math.abs(value ?? 0)).toBeLessThanOrEqual(1);
        const highs = candles.map((candle) => ({ ...candle, close: candle.high }));
        expect(new Set(pushAll(cmf(n)(), highs).slice(n - 1))).toEqual(new Set([1]));
        const lows = candles.map((candle) => ({ ...candle, close: candle.low }));
        expect(new Set(pushAll(cmf(n)(), lows).slice(n - 1))).toEqual(new Set([-1]));
      }),
    );
  });

  it("is 0 without volume", () => {
    const candles = marketOf(1, 50).map((candle) => ({ ...candle, volume: 0 }));
    expect(new Set(pushAll(cmf(20)(), candles).slice(19))).toEqual(new Set([0]));
  });
});

describe("vwap", () => {
  /** A candle a day, with twice the volume from day to day. */
  const daysFrom = (start: number, prices: number[]) =>
    prices.map((price, at) => ({ ...flatMarket(1, price, 2 ** at)[0]!, timestamp: start + at * DAY }));

  it("begins anew with each day, UTC", () => {
    const halfDays = [10, 20, 30, 40].map((price, at) => ({
      ...flatMarket(1, price, 1)[0]!,
      timestamp: 20_000 * DAY + at * (DAY / 2),
    }));
    expect(pushAll(vwap()(), halfDays)).toEqual([10, 15, 30, 35]);
    expect(pushAll(vwap({})(), halfDays)).toEqual([10, 15, 30, 35]);
    expect(pushAll(vwap({ session: "1d" })(), halfDays)).toEqual([10, 15, 30, 35]);
  });

  it("begins a week where it is told to, by default on Monday", () => {
    // 1 January 2025 was a Wednesday.
    const days = daysFrom(Date.UTC(2025, 0, 1), [3, 6, 9, 9, 9, 30]);
    const monday = pushAll(vwap({ session: "1w" })(), days);
    expect(monday).toEqual(pushAll(vwap({ session: "1w", weekStart: "monday" })(), days));
    expect(monday[1]).toBe(5);
    expect(monday[5]).toBe(30);
    const thursday = pushAll(vwap({ session: "1w", weekStart: "thursday" })(), days);
    expect(thursday[1]).toBe(6);
    expect(thursday[5]).toBeCloseTo((6 * 2 + 9 * 28 + 30 * 32) / 62, 12);
  });

  it("follows the calendar with months", () => {
    const days = daysFrom(Date.UTC(2024, 1, 28), [3, 6, 40]);
    expect(pushAll(vwap({ session: "1M" })(), days)).toEqual([3, 5, 40]);
  });

  it("has no value in a session until there is volume, and one again at the first swap", () => {
    const volumes = [0, 3, 0, 0, 0, 1];
    const halfDays = [10, 20, 90, 90, 50, 60].map((price, at) => ({
      ...flatMarket(1, price, volumes[at])[0]!,
      timestamp: 20_000 * DAY + at * (DAY / 3),
    }));
    const kernel = vwap()();
    const values = halfDays.map((candle) => [kernel.peek(candle), kernel.push(candle)]);
    const expected = [undefined, 20, 20, undefined, undefined, 60];
    expect(values).toEqual(expected.map((value) => [value, value]));
  });

  it("is the rolling average by volume where the session is a number of candles", () => {
    const candles = marketOf(5, 60);
    const rolling = pushAll(vwap({ session: { candles: 7 } })(), candles);
    expect(rolling).toEqual(pushAll(vwma(7, { source: "hlc3" })(), candles));
  });

  it("takes another source", () => {
    const candles = marketOf(6, 60);
    const closes = candles.map((candle) => ({ ...candle, high: candle.close, low: candle.close }));
    for (const session of ["10min", { candles: 5 }] as const) {
      const values = pushAll(vwap({ session, source: (candle) => candle.close })(), candles);
      pushAll(vwap({ session })(), closes).forEach((value, at) => {
        if (value === undefined) expect(values[at]).toBeUndefined();
        else expect(values[at]).toBeCloseTo(value, 9);
      });
    }
  });

  it("refuses what is no session", () => {
    const wrong: unknown[] = [
      { session: "7h" },
      { session: 5 },
      { session: {} },
      { session: { candles: 0 } },
      { session: { candles: 1.5 } },
      { session: { candles: "5" } },
      { session: "1w", weekStart: "sunday" },
      { source: "typical" },
      "1d",
      null,
    ];
    for (const options of wrong) expect(() => vwap(options as never)).toThrow(InvalidInputError);
    expect(() => vwap({ session: { candles: 0 } })).toThrow("session.candles is 0");
  });
});

describe("the volume indicators", () => {
  it("have the usual arguments", () => {
    const candles = marketOf(1, 100);
    expect(pushAll(chaikinOscillator()(), candles)).toEqual(pushAll(chaikinOscillator(3, 10)(), candles));
    expect(pushAll(cmf()(), candles)).toEqual(pushAll(cmf(20)(), candles));
  });

  it.each<[string, (n: number) => unknown]>([
    ["cmf", cmf],
    ["chaikinOscillator's slow average", (n) => chaikinOscillator(1, n)],
    ["chaikinOscillator's fast average", (n) => chaikinOscillator(n)],
  ])("%s refuses a length that is none", (_, make) => {
    expectLengthChecked(make);
  });
});
