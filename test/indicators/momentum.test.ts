import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import type { Indicator } from "../../src/indicators/kernel.js";
import { awesomeOscillator } from "../../src/indicators/momentum/awesome-oscillator.js";
import { cci } from "../../src/indicators/momentum/cci.js";
import { cmo } from "../../src/indicators/momentum/cmo.js";
import { macd } from "../../src/indicators/momentum/macd.js";
import { mfi } from "../../src/indicators/momentum/mfi.js";
import { momentum } from "../../src/indicators/momentum/momentum.js";
import { ppo } from "../../src/indicators/momentum/ppo.js";
import { roc } from "../../src/indicators/momentum/roc.js";
import { rsi } from "../../src/indicators/momentum/rsi.js";
import { stochRsi } from "../../src/indicators/momentum/stoch-rsi.js";
import { stochastic } from "../../src/indicators/momentum/stochastic.js";
import { trix } from "../../src/indicators/momentum/trix.js";
import { ultimateOscillator } from "../../src/indicators/momentum/ultimate-oscillator.js";
import { williamsR } from "../../src/indicators/momentum/williams-r.js";
import type { SourceOptions } from "../../src/indicators/source.js";
import { describeIndicator, expectLengthChecked, fading, pushAll } from "./contract.js";
import { describeTalib } from "./golden.js";
import {
  balances,
  channelIndices,
  closePositions,
  convergences,
  middleDistances,
  moneyFlowIndices,
  movesSince,
  ownPositions,
  smoothedTwice,
  strengths,
  tripleSlopes,
  ultimates,
} from "./momentum-reference.js";
import { flatMarket, marketOf, scaled, someSeed } from "./random-candles.js";
import { closesOf, combined } from "./reference.js";
import { numbersOf } from "./values.js";

for (const n of [1, 2, 14]) {
  const given = { warmUp: n, memory: 1 + fading(n, { weight: 1 / n }), scaling: 0 };
  describeIndicator({
    ...given,
    name: `rsi(${n})`,
    indicator: rsi(n),
    flat: () => 50,
    reference: (candles) => strengths(closesOf(candles), n),
  });
  describeIndicator({
    ...given,
    name: `cmo(${n})`,
    indicator: cmo(n),
    flat: () => 0,
    reference: (candles) => balances(closesOf(candles), n),
  });
}

for (const lengths of [
  [12, 26, 9],
  [1, 1, 1],
  [3, 10, 1],
] as const) {
  const [, slow, signal] = lengths;
  const given = { warmUp: slow + signal - 2, memory: signal + fading(slow, { stages: 2 }) };
  describeIndicator({
    ...given,
    name: `macd(${lengths.join(", ")})`,
    indicator: macd(...lengths),
    scaling: 1,
    flat: () => ({ macd: 0, signal: 0, histogram: 0 }),
    reference: (candles) => convergences("macd", closesOf(candles), lengths),
  });
  describeIndicator({
    ...given,
    name: `ppo(${lengths.join(", ")})`,
    indicator: ppo(...lengths),
    scaling: 0,
    flat: () => ({ ppo: 0, signal: 0, histogram: 0 }),
    reference: (candles) => convergences("ppo", closesOf(candles), lengths),
  });
}

for (const [k, smooth, d] of [
  [14, 3, 3],
  [1, 1, 1],
  [5, 1, 4],
] as const) {
  describeIndicator({
    name: `stochastic(${k}, ${smooth}, ${d})`,
    indicator: stochastic(k, smooth, d),
    warmUp: k + smooth + d - 3,
    memory: k + smooth + d - 2,
    scaling: 0,
    flat: () => ({ k: 50, d: 50 }),
    reference: (candles) => smoothedTwice(closePositions(candles, k), smooth, d),
  });
}

for (const [n, range, k, d] of [
  [14, 14, 3, 3],
  [5, 8, 1, 2],
] as const) {
  describeIndicator({
    name: `stochRsi(${n}, ${range}, ${k}, ${d})`,
    indicator: stochRsi(n, range, k, d),
    warmUp: n + range + k + d - 3,
    memory: range + k + d + fading(n, { weight: 1 / n, stages: 2 }),
    scaling: 0,
    flat: () => ({ k: 50, d: 50 }),
    reference: (candles) => smoothedTwice(ownPositions(strengths(closesOf(candles), n), range), k, d),
  });
}

for (const n of [1, 2, 20]) {
  describeIndicator({
    name: `cci(${n})`,
    indicator: cci(n),
    warmUp: n - 1,
    memory: n,
    scaling: 0,
    flat: () => 0,
    reference: (candles) => channelIndices(candles, n),
  });
}

for (const n of [1, 14]) {
  describeIndicator({
    name: `mfi(${n})`,
    indicator: mfi(n),
    warmUp: n,
    memory: n + 1,
    scaling: 0,
    flat: () => 50,
    reference: (candles) => moneyFlowIndices(candles, n),
  });
  describeIndicator({
    name: `williamsR(${n})`,
    indicator: williamsR(n),
    warmUp: n - 1,
    memory: n,
    scaling: 0,
    flat: () => -50,
    reference: (candles) => combined([closePositions(candles, n)], (position) => position - 100),
  });
}

for (const n of [1, 10]) {
  describeIndicator({
    name: `momentum(${n})`,
    indicator: momentum(n),
    warmUp: n,
    memory: n + 1,
    scaling: 1,
    flat: () => 0,
    reference: (candles) => movesSince(closesOf(candles), n),
  });
  describeIndicator({
    name: `roc(${n})`,
    indicator: roc(n),
    warmUp: n,
    memory: n + 1,
    scaling: 0,
    flat: () => 0,
    reference: (candles) =>
      movesSince(closesOf(candles), n).map((move, at) => move && (100 * move) / candles[at - n]!.close),
  });
}

for (const n of [1, 15]) {
  describeIndicator({
    name: `trix(${n})`,
    indicator: trix(n),
    warmUp: 3 * n - 2,
    memory: 1 + fading(n, { stages: 3 }),
    scaling: 0,
    flat: () => 0,
    reference: (candles) => tripleSlopes(closesOf(candles), n),
  });
}

for (const lengths of [
  [7, 14, 28],
  [1, 1, 3],
] as const) {
  describeIndicator({
    name: `ultimateOscillator(${lengths.join(", ")})`,
    indicator: ultimateOscillator(...lengths),
    warmUp: lengths[2],
    memory: lengths[2] + 1,
    scaling: 0,
    flat: () => 50,
    reference: (candles) => ultimates(candles, lengths),
  });
}

for (const [fast, slow] of [
  [5, 34],
  [1, 2],
] as const) {
  describeIndicator({
    name: `awesomeOscillator(${fast}, ${slow})`,
    indicator: awesomeOscillator(fast, slow),
    warmUp: slow - 1,
    memory: slow,
    scaling: 1,
    flat: () => 0,
    reference: (candles) => middleDistances(candles, fast, slow),
  });
}

describeTalib("momentum", {
  RSI: { indicator: rsi(14) },
  // TA-Lib begins both averages with the slow one; by then the difference has faded.
  MACD: { indicator: macd(12, 26, 9), from: 150 },
  STOCH: { indicator: stochastic(14, 3, 3) },
  CCI: { indicator: cci(20) },
  MFI: { indicator: mfi(14) },
  WILLR: { indicator: williamsR(14) },
  ROC: { indicator: roc(10) },
  MOM: { indicator: momentum(10) },
  CMO: { indicator: cmo(14) },
  TRIX: { indicator: trix(15) },
  ULTOSC: { indicator: ultimateOscillator(7, 14, 28) },
});

type Make = (...numbers: (number | SourceOptions)[]) => Indicator<unknown>;

/** Each with its usual lengths. */
const USUAL: Record<string, [Make, number[]]> = {
  rsi: [rsi as Make, [14]],
  macd: [macd as Make, [12, 26, 9]],
  stochastic: [stochastic as Make, [14, 3, 3]],
  stochRsi: [stochRsi as Make, [14, 14, 3, 3]],
  cci: [cci as Make, [20]],
  mfi: [mfi as Make, [14]],
  williamsR: [williamsR as Make, [14]],
  roc: [roc as Make, [10]],
  momentum: [momentum as Make, [10]],
  cmo: [cmo as Make, [14]],
  trix: [trix as Make, [15]],
  ultimateOscillator: [ultimateOscillator as Make, [7, 14, 28]],
  awesomeOscillator: [awesomeOscillator as Make, [5, 34]],
  ppo: [ppo as Make, [12, 26, 9]],
};

const OVER_CANDLES = ["stochastic", "mfi", "williamsR", "ultimateOscillator", "awesomeOscillator"];

describe("the momentum indicators", () => {
  const candles = marketOf(1, 150);

  it.each(Object.entries(USUAL))("%s has the usual lengths", (_, [make, usual]) => {
    const values = pushAll(make()(), candles);
    expect(values.at(-1)).toBeDefined();
    expect(values).toEqual(pushAll(make(...usual)(), candles));
  });

  it.each(Object.entries(USUAL))("%s refuses a length that is none, whichever it is", (_, [make, usual]) => {
    for (const at of usual.keys()) expectLengthChecked((length) => make(...usual.with(at, length)));
  });

  const overSeries = Object.entries(USUAL).filter(([name]) => !OVER_CANDLES.includes(name));

  it.each(overSeries)("%s takes any source, and refuses what is none", (_, [make, usual]) => {
    const opens = candles.map(({ open, ...rest }) => ({ ...rest, open, high: open, low: open, close: open }));
    const values = pushAll(make(...usual, { source: "open" })(), candles);
    const expected = pushAll(make(...usual, { source: "close" })(), opens);
    expect(values).toEqual(expected);
    expect(() => make(...usual, { source: "typical" as never })).toThrow("source is");
  });

  it.each([
    ["macd", () => macd(27, 26, 9), "fast is 27; allowed: a whole number from 1 to 26"],
    ["ppo", () => ppo(27, 26, 9), "fast is 27"],
    ["awesomeOscillator", () => awesomeOscillator(35, 34), "fast is 35"],
    ["ultimateOscillator", () => ultimateOscillator(7, 29, 28), "medium is 29"],
    ["ultimateOscillator", () => ultimateOscillator(15, 14, 28), "short is 15"],
  ])("%s refuses lengths in the wrong order", (_, make, message) => {
    expect(make).toThrow(message);
  });
});

/** A candle that stands still at each of these prices. */
function still(...closes: number[]): Candle[] {
  return closes.map((price) => flatMarket(1, price)[0]!);
}

describe("what has bounds", () => {
  const bounded: [string, Indicator<unknown>, number, number][] = [
    ["rsi", rsi(5), 0, 100],
    ["cmo", cmo(5), -100, 100],
    ["mfi", mfi(5), 0, 100],
    ["stochastic", stochastic(5, 3, 3), 0, 100],
    ["stochRsi", stochRsi(5, 5, 3, 3), 0, 100],
    ["williamsR", williamsR(5), -100, 0],
    ["ultimateOscillator", ultimateOscillator(2, 3, 5), 0, 100],
  ];

  it.each(bounded)("%s keeps to them, whatever the prices", (_, indicator, least, most) => {
    const somePrice = fc.oneof(
      fc.constantFrom(1, 1 + 2 ** -52, 3, 1e9, 1e-9),
      fc.double({ min: 1e-12, max: 1e12, noNaN: true }),
    );
    const someCandles = fc.array(fc.tuple(somePrice, somePrice, somePrice, fc.nat(9)), { maxLength: 60 });
    fc.assert(
      fc.property(someCandles, (rows) => {
        const candles = rows.map(([a, b, c, volume]) => {
          const [low, close, high] = [a, b, c].sort((x, y) => x - y) as [number, number, number];
          return { timestamp: 0, open: close, high, low, close, volume, swaps: 1 };
        });
        for (const value of pushAll(indicator(), candles)) {
          for (const number of Object.values(numbersOf(value) ?? {})) {
            expect(number).toBeGreaterThanOrEqual(least);
            expect(number).toBeLessThanOrEqual(most);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each(bounded)("%s reaches them, exactly, where all goes one way", (name, indicator, least, most) => {
    const rising = still(...Array.from({ length: 30 }, (_, at) => 0.1 + at * 0.7));
    const ends = [rising, rising.toReversed()].map((candles) => {
      return Object.values(numbersOf(pushAll(indicator(), candles).at(-1))!);
    });
    const expected = name === "stochRsi" ? [50, 50] : [most, least];
    expect(ends.map((end) => [...new Set(end)])).toEqual(expected.map((bound) => [bound]));
  });
});

describe("rsi", () => {
  it("stays as it was, to the last bit, while the price stands still", () => {
    fc.assert(
      fc.property(someSeed, fc.integer({ min: 2, max: 20 }), (seed, n) => {
        const candles = marketOf(seed, 60);
        const kernel = rsi(n)();
        const last = pushAll(kernel, candles).at(-1);
        const flat = flatMarket(200, candles.at(-1)!.close);
        const after = [...pushAll(kernel.fork(), flat), ...pushAll(kernel, flat)];
        expect(new Set(after)).toEqual(new Set([last]));
      }),
    );
  });

  it("counts moves that are far smaller than the smallest price of a coin", () => {
    const candles = scaled(marketOf(9, 80), 1e-18);
    const [small, plain] = [candles, marketOf(9, 80)].map((each) => pushAll(rsi(14)(), each).at(-1)!);
    expect(small).toBeCloseTo(plain!, 9);
  });

  it("of one candle says only which way it went", () => {
    expect(pushAll(rsi(1)(), still(5, 6, 6, 2))).toEqual([undefined, 100, 50, 0]);
  });
});

it("stochRsi is neutral once the price has stood still after a walk", () => {
  const candles = marketOf(4, 100);
  const after = pushAll(stochRsi()(), [...candles, ...flatMarket(40, candles.at(-1)!.close)]);
  expect(after.slice(-20)).toEqual(new Array(20).fill({ k: 50, d: 50 }));
});

describe("mfi", () => {
  const candle = still(1)[0]!;

  it("is neutral without volume, and for as long as no other price has been paid", () => {
    const silent = marketOf(3, 40).map((each) => ({ ...each, volume: 0 }));
    expect(new Set(pushAll(mfi(14)(), silent).slice(14))).toEqual(new Set([50]));
  });

  it("takes one typical price for the same, whatever it was added up from", () => {
    const wide = { ...candle, high: 10.2, low: 10, close: 10.1 };
    const narrow = { ...candle, high: 10.15, low: 10.05, close: 10.1 };
    expect(10.2 + 10 + 10.1).not.toBe(10.15 + 10.05 + 10.1);
    expect(pushAll(mfi(1)(), [wide, narrow, wide, narrow]).slice(1)).toEqual([50, 50, 50]);
    expect(pushAll(mfi(1)(), [wide, { ...narrow, close: 10.1001 }])).toEqual([undefined, 100]);
  });
});

it("roc, trix and ppo take no percentage of nothing", () => {
  const source = ({ close }: Candle) => close - 5;
  expect(pushAll(roc(1, { source })(), still(5, 7, 9))).toEqual([undefined, 0, 100]);
  expect(pushAll(trix(1, { source })(), still(5, 7, 9))).toEqual([undefined, 0, 100]);
  const neutral = { ppo: 0, signal: 0, histogram: 0 };
  expect(pushAll(ppo(1, 2, 1, { source })(), still(4, 6)).at(-1)).toEqual(neutral);
});

it("ultimateOscillator counts a length without a range as one half, and the others as they are", () => {
  const value = pushAll(ultimateOscillator(1, 1, 2)(), still(4, 5, 5)).at(-1);
  expect(value).toBeCloseTo((100 * (4 / 2 + 2 / 2 + 1)) / 7, 9);
});
