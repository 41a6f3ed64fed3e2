import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import * as pairstream from "../../src/index.js";
import { ema } from "../../src/indicators/averages/ema.js";
import { linearRegression } from "../../src/indicators/averages/linear-regression.js";
import { sma } from "../../src/indicators/averages/sma.js";
import { type Indicator, indicator, isIndicator, type Kernel } from "../../src/indicators/kernel.js";
import type { Source } from "../../src/indicators/source.js";
import { pushAll } from "./contract.js";
import { flatMarket, marketOf } from "./random-candles.js";

/** The names under which the root door has them. */
const INDICATORS = new RegExp(
  `^(?:${[
    "[a-z]+ma|linearRegression|rsi|macd|stochastic|stochRsi|cci|mfi|williamsR|roc|momentum|cmo|trix",
    "ultimateOscillator|awesomeOscillator|ppo|adx|aroon|psar|supertrend|ichimoku|trueRange|n?atr|stdDev",
    "bollinger|keltner|donchian|highest|lowest|obv|vwap|adl|chaikinOscillator|cmf",
  ].join("|")})$`,
);

const candle: Candle = { timestamp: 0, open: 1, high: 16, low: 2, close: 9, volume: 50, swaps: 3 };

describe("a source", () => {
  it.each<[Source, number]>([
    ["open", 1],
    ["high", 16],
    ["low", 2],
    ["close", 9],
    ["volume", 50],
    ["swaps", 3],
    ["hl2", 9],
    ["hlc3", 9],
    ["ohlc4", 7],
    [({ volume }) => volume, 50],
    [sma(1, { source: "low" }), 2],
  ])("%s is read", (source, expected) => {
    const kernel = sma(1, { source })();
    expect([kernel.peek(candle), kernel.push(candle), kernel.fork().peek(candle)]).toEqual([
      expected,
      expected,
      expected,
    ]);
  });

  it("is the close where none is named", () => {
    for (const options of [undefined, {}, { source: undefined as never }]) {
      expect(sma(1, options)().push(candle)).toBe(9);
    }
  });

  it.each(["median", "Close", "", 7, null, {}, Symbol("close"), ["close"]])(
    "%s is refused at the call",
    (source) => {
      const make = () => sma(1, { source: source as Source });
      if (source === null) expect(make()().push(candle)).toBe(9);
      else expect(make).toThrow(InvalidInputError);
    },
  );

  it.each([null, "hl2", 3])("refuses %s for options", (options) => {
    expect(() => sma(1, options as never)).toThrow("options is");
  });

  it("names what is allowed", () => {
    expect(() => sma(1, { source: "typical" as Source })).toThrow(
      'source is "typical"; allowed: close, open, high, low, hl2, hlc3, ohlc4, volume, swaps, a function of a candle, or an indicator',
    );
  });
});

describe("an indicator as the source of another", () => {
  const candles = marketOf(1, 60);

  it("composes: the outer one is fed from the inner one's first value on", () => {
    const inner = pushAll(ema(5)(), candles);
    const outer = sma(3)();
    const expected = inner.map((close, at) =>
      close === undefined ? undefined : outer.push({ ...candles[at]!, close }),
    );
    const kernel = sma(3, { source: ema(5) })();
    const values = candles.map((each) => {
      kernel.peek({ ...each, close: 1 });
      const peeked = kernel.peek(each);
      const pushed = kernel.push(each);
      expect(peeked).toBe(pushed);
      return pushed;
    });
    expect(values.map((value) => value?.toFixed(9))).toEqual(expected.map((value) => value?.toFixed(9)));
    expect(values.findIndex((value) => value !== undefined)).toBe(6);
  });

  it("forks with its source, and shares no source between two kernels", () => {
    const nested = ema(2, { source: sma(3, { source: sma(2, { source: "hl2" }) }) });
    const kernel = nested();
    pushAll(kernel, candles.slice(0, 30));
    const fork = kernel.fork();
    const ahead = pushAll(kernel, candles.slice(30, 45));
    pushAll(nested(), candles);
    expect(pushAll(fork, candles.slice(30, 45))).toEqual(ahead);
  });

  it("is told from a function by a mark that other copies of the package know", () => {
    const foreign = Object.defineProperty(() => sma(1)(), Symbol.for("pairstream.indicator"), {
      value: true,
    });
    expect(sma(2, { source: foreign as never })().push(candle)).toBeUndefined();
    expect([isIndicator(sma(1)), isIndicator(foreign), isIndicator(() => sma(1)())]).toEqual([
      true,
      true,
      false,
    ]);
    expect([isIndicator(undefined), isIndicator({}), isIndicator("sma")]).toEqual([false, false, false]);
    expect(Object.keys(sma(1))).toEqual([]);
  });
});

describe("a source that gives what is no finite number, or too large a one", () => {
  const wrong = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1.1e110,
    -1e308,
    "1" as never,
    undefined as never,
    1n as never,
  ];
  const candles = marketOf(2, 10);

  it.each(wrong)("%s from a function is refused, and changes nothing", (value) => {
    let isWrong = false;
    const read = vi.fn((each: Candle) => (isWrong ? value : each.close));
    const [tried, untried] = [ema(3, { source: sma(2, { source: read }) })(), ema(3, { source: sma(2) })()];
    for (const each of candles) {
      isWrong = true;
      expect(() => tried.peek(each)).toThrow("source gave");
      expect(() => tried.push(each)).toThrow(InvalidInputError);
      isWrong = false;
      expect(tried.push(each)).toBe(untried.push(each));
    }
  });

  it.each([Number.NaN, Number.NEGATIVE_INFINITY, 1.1e110, "1" as never, null as never])(
    "%s from a user's kernel is refused, and changes neither kernel",
    (value) => {
      let isWrong = false;
      let pushes = 0;
      const kernelOf = (): Kernel<number> => ({
        push: ({ close }) => {
          pushes += 1;
          return isWrong ? value : close;
        },
        peek: ({ close }) => (isWrong ? value : close),
        fork: kernelOf,
      });
      const [tried, untried] = [sma(3, { source: indicator(kernelOf) })(), sma(3)()];
      for (const each of candles) {
        isWrong = true;
        expect(() => tried.peek(each)).toThrow("source gave");
        expect(() => tried.push(each)).toThrow(InvalidInputError);
        isWrong = false;
        expect(tried.push(each)).toBe(untried.push(each));
      }
      expect(pushes).toBe(candles.length);
    },
  );

  it("is also an indicator of objects", () => {
    const kernel = sma(2, { source: linearRegression(2) as never })();
    kernel.push(candle);
    expect(() => kernel.push(candle)).toThrow("source gave an object");
  });

  it("leaves what a function throws as it is", () => {
    const failure = new Error("mine");
    const source = () => {
      throw failure;
    };
    expect(() => sma(2, { source })().push(candle)).toThrow(failure);
  });
});

describe("a candle", () => {
  it.each(["open", "high", "low", "close", "volume"])("without a finite %s is refused, by name", (field) => {
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY, undefined, "12"]) {
      const wrong = { ...candle, [field]: value };
      expect(() => sma(1)().push(wrong)).toThrow(`candle.${field} is`);
      expect(() => linearRegression(1)().peek(wrong)).toThrow(InvalidInputError);
    }
  });

  it.each(["open", "high", "low", "close", "volume"])("with too large a %s is refused, by name", (field) => {
    const largest = 1e110;
    for (const sign of [1, -1]) {
      const kernel = sma(1)();
      expect(() => kernel.push({ ...candle, [field]: sign * largest })).not.toThrow();
      for (const value of [1.01 * largest, 1e308]) {
        const wrong = { ...candle, [field]: sign * value };
        expect(() => kernel.push(wrong)).toThrow(`candle.${field} is ${sign * value}`);
        expect(() => linearRegression(1)().peek(wrong)).toThrow(InvalidInputError);
      }
    }
    expect(() => sma(1, { source: "hl2" })().push(flatMarket(1, 1e308)[0]!)).toThrow(InvalidInputError);
  });

  it("as large as may be leaves every value of every indicator finite", () => {
    const makers = Object.entries(pairstream).filter(([name]) => INDICATORS.test(name));
    expect(makers).toHaveLength(43);
    const prices = fc.tuple(...new Array(5).fill(fc.constantFrom(0, 1, 9e109, 1e110)));
    fc.assert(
      fc.property(fc.array(prices, { minLength: 60, maxLength: 120, size: "max" }), (rows) => {
        for (const [name, make] of makers) {
          const kernel = (make as () => Indicator<unknown>)()();
          rows.forEach(([volume, ...corners], at) => {
            const [low, open, close, high] = (corners as number[]).sort((a, b) => a - b);
            const value = kernel.push({
              ...candle,
              timestamp: at * 60_000,
              open,
              high,
              low,
              close,
              volume,
            } as Candle);
            const numbers = Object.values(typeof value === "object" ? { ...value } : { value });
            const areFinite = numbers.every((each) => each === undefined || Number.isFinite(each));
            if (!areFinite) throw new Error(`${name} gives ${numbers.join(", ")}`);
          });
        }
      }),
      { numRuns: 10 },
    );
  });
});

describe("indicator", () => {
  it("makes a fresh kernel each time, from nothing but a function", () => {
    const make = vi.fn(() => sma(1)());
    const own = indicator(make);
    expect(own()).not.toBe(own());
    expect(make).toHaveBeenCalledTimes(2);
    for (const value of [undefined, {}, sma(1)()]) {
      expect(() => indicator(value as never)).toThrow("make is");
    }
  });
});
