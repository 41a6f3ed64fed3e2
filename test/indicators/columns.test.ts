import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import {
  adx,
  atr,
  bollinger,
  cmo,
  ema,
  type Indicator,
  indicator,
  indicatorColumns,
  type Kernel,
  keltner,
  macd,
  obv,
  roc,
  rsi,
  sma,
  stochastic,
  vwap,
  vwma,
} from "../../src/index.js";
import { columnsOf, expectColumnsAsStreamed } from "./by-column.js";
import { extremesOf, flatMarket, marketOf, someSeed } from "./random-candles.js";

/** Gives a value only now and then, and counts candles. */
const everyThird = indicator(() => countingFrom(0));
function countingFrom(seen: number): Kernel<number> {
  let count = seen;
  const valueAt = (at: number, { close }: Candle) => (at % 3 === 0 ? undefined : close / at);
  return {
    push: (candle) => {
      count += 1;
      return valueAt(count, candle);
    },
    peek: (candle) => valueAt(count + 1, candle),
    fork: () => countingFrom(count),
  };
}

const edgesOf = (): Kernel<{ top: number; bottom: number }> => {
  const edges = ({ high, low, volume }: Candle) => (volume > 500 ? undefined : { top: high, bottom: low });
  return { push: edges, peek: edges, fork: edgesOf };
};
const edges = indicator(edgesOf, { fields: ["top", "bottom"] });

const DERIVED: Readonly<Record<string, Indicator<unknown>>> = {
  "sma(5, { source: hl2 })": sma(5, { source: "hl2" }),
  "ema(5, { source: hlc3 })": ema(5, { source: "hlc3" }),
  "rsi(5, { source: ohlc4 })": rsi(5, { source: "ohlc4" }),
  "bollinger(5, 2, { source: open })": bollinger(5, 2, { source: "open" }),
  "macd over highs": macd(3, 5, 2, { source: "high" }),
  "cmo over lows": cmo(5, { source: "low" }),
  "ema over volumes": ema(5, { source: "volume" }),
  "sma over swaps": sma(5, { source: "swaps" }),
  "sma over a function": sma(5, { source: ({ high, low }) => high - low }),
  "ema over rsi": ema(9, { source: rsi(14) }),
  "ema over ema over rsi over hl2": ema(3, { source: ema(4, { source: rsi(5, { source: "hl2" }) }) }),
  "sma over atr": sma(5, { source: atr(5) }),
  "macd over obv": macd(3, 5, 2, { source: obv() }),
  "sma over what waits without volume": sma(3, { source: vwma(2) }),
  "bollinger over what waits without volume": bollinger(3, 2, { source: vwma(2) }),
  "keltner over what waits without volume": keltner(3, 2, 4, { source: vwma(2) }),
  "vwap over what waits without volume": vwap({ session: "1h", source: vwma(2) }),
  "vwap over closes": vwap({ session: "1h", source: "close" }),
  "vwap over weeks": vwap({ session: "1w", weekStart: "thursday" }),
  "an own indicator": everyThird,
  "ema over an own indicator": ema(5, { source: everyThird }),
  "sma over ema over an own indicator": sma(5, { source: ema(5, { source: everyThird }) }),
  "an own indicator of objects": edges,
};

describe.each(Object.entries(DERIVED))("%s", (name, derived) => {
  it("has columns that equal its values candle by candle, bit for bit", () => {
    fc.assert(
      fc.property(someSeed, fc.nat(300), (seed, length) => {
        expectColumnsAsStreamed(name, derived, marketOf(seed, length));
        expectColumnsAsStreamed(name, derived, dryOf(marketOf(seed, length)));
      }),
      { numRuns: 25 },
    );
    expectColumnsAsStreamed(name, derived, dryOf(marketOf(1, 5_000)));
    expectColumnsAsStreamed(name, derived, flatMarket(100, 0.1, 0));
  });
});

/** The same, with stretches without volume. */
function dryOf(candles: readonly Candle[]): Candle[] {
  return candles.map((candle, at) => ({ ...candle, volume: at % 11 < 4 ? 0 : candle.volume }));
}

/** Reads every field. */
function fieldsSum(): Kernel<number> {
  const sum = ({ open, high, low, close, volume, swaps }: Candle) =>
    open + high + low + close + volume + swaps;
  return { push: sum, peek: sum, fork: fieldsSum };
}

const SET = { fast: ema(3), bands: bollinger(4, 2), trend: adx(3), place: stochastic(4, 2, 2) };

describe("indicatorColumns", () => {
  const candles = marketOf(1, 50);
  const columns = columnsOf(candles);

  it("gives every indicator under its name, as if it were alone", () => {
    const all = indicatorColumns(SET, columns);
    expect(Object.keys(all)).toEqual(Object.keys(SET));
    for (const [name, each] of Object.entries(SET)) {
      expect(all[name as keyof typeof SET]).toStrictEqual(indicatorColumns({ each }, columns).each);
    }
    expect(indicatorColumns({}, columns)).toEqual({});
  });

  it("is typed by what the indicators give", () => {
    const all = indicatorColumns({ ...SET, edges }, candles);
    expectTypeOf(all.fast).toEqualTypeOf<Float64Array>();
    expectTypeOf(all.bands.upper).toEqualTypeOf<Float64Array>();
    expectTypeOf(all.edges.top).toEqualTypeOf<Float64Array>();
    // @ts-expect-error: not one of its fields.
    expect(all.bands.above).toBeUndefined();
    // @ts-expect-error: not a field of the values.
    indicator(edgesOf, { fields: ["left"] });
  });

  it("gives empty columns for no candles", () => {
    for (const none of [[], columnsOf([])]) {
      const { fast, bands } = indicatorColumns(SET, none);
      expect([fast.length, bands.upper.length]).toEqual([0, 0]);
    }
  });

  it("leaves the columns and candles as they are, and freezes what it gives", () => {
    const before = structuredClone(columns);
    const all = indicatorColumns({ ...SET, range: sma(3, { source: ({ high }) => high }) }, columns);
    expect(columns).toStrictEqual(before);
    expect([Object.isFrozen(all), Object.isFrozen(all.bands)]).toEqual([true, true]);
  });

  it("does not keep state from one call to the next", () => {
    expect(indicatorColumns(SET, columns)).toStrictEqual(indicatorColumns(SET, columns));
    expect(indicatorColumns({ everyThird }, columns)).toStrictEqual(
      indicatorColumns({ everyThird }, columns),
    );
  });

  it("needs swaps only where an indicator reads them", () => {
    const { swaps: _, ...others } = columns;
    expect(indicatorColumns(SET, others)).toStrictEqual(indicatorColumns(SET, columns));
    const overSwaps = { overSwaps: sma(3, { source: "swaps" }) };
    expect(() => indicatorColumns(overSwaps, others)).toThrow(/swaps.*Float64Array/);
    const overFunction = { overFunction: sma(3, { source: ({ swaps }) => swaps }) };
    expect(() => indicatorColumns(overFunction, others)).toThrow(InvalidInputError);
  });

  it("gives own indicators the candles themselves, where it has them", () => {
    const seen: Candle[] = [];
    const seeing = (): Kernel<number> => ({ push: (each) => seen.push(each), peek: () => 0, fork: seeing });
    indicatorColumns({ seeing: indicator(seeing) }, candles);
    expect(seen.every((candle, at) => candle === candles[at])).toBe(true);
    indicatorColumns({ seeing: indicator(seeing) }, columns);
    expect(seen.slice(candles.length)).toEqual(candles);
  });

  it("gives what an own kernel gives, also numbers that are not finite", () => {
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, -0, undefined, 5];
    const oddOf = (): Kernel<number> => {
      let at = 0;
      return { push: () => odd[at++ % odd.length], peek: () => 0, fork: oddOf };
    };
    const given = indicatorColumns({ odd: indicator(oddOf) }, candles.slice(0, 5));
    expect([...given.odd]).toEqual([Number.NaN, Number.POSITIVE_INFINITY, -0, Number.NaN, 5]);
  });

  it("takes memory that is shared between workers", () => {
    const shared = new Float64Array(new SharedArrayBuffer(8 * candles.length));
    const into = { fast: shared };
    expect(indicatorColumns({ fast: ema(3) }, columns, { into }).fast).toBe(shared);
    expect([...shared]).toEqual([...indicatorColumns({ fast: ema(3) }, columns).fast]);
  });
});

describe("indicatorColumns refuses", () => {
  const candles = marketOf(2, 3_000);
  const columns = columnsOf(candles);
  const set = { fast: ema(3) };
  const changed = (field: keyof Candle, at: number, value: number) => {
    const own = columnsOf(candles);
    own[field][at] = value;
    return own;
  };

  it.each([
    ["null", null],
    ["an array", [ema(3)]],
    ["a plain function", { fast: () => 1 }],
    ["a kernel", { fast: ema(3)() }],
  ])("%s as indicators", (_, wrong) => {
    expect(() => indicatorColumns(wrong as never, columns)).toThrow(/indicators/);
  });

  it.each([
    ["nothing", undefined],
    ["a string", "candles"],
    ["a Float64Array", new Float64Array(3)],
    ["an unknown column", { ...columns, trades: columns.swaps }],
    ["a missing column", { ...columns, high: undefined }],
    ["a plain array", { ...columns, close: [...columns.close] }],
    ["a Float32Array", { ...columns, close: Float32Array.from(columns.close) }],
    ["a shorter column", { ...columns, volume: columns.volume.subarray(1) }],
    ["a longer column", { ...columns, timestamp: columns.timestamp.subarray(1) }],
    ["shorter swaps", { ...columns, swaps: columns.swaps.subarray(1) }],
    ["null for a candle", [null]],
    ["a candle of text", [{ ...candles[0]!, close: "1" }]],
    ["a candle without swaps", [{ ...candles[0]!, swaps: undefined }]],
  ])("%s as candles", (_, wrong) => {
    expect(() => indicatorColumns(set, wrong as never)).toThrow(InvalidInputError);
  });

  const everyField = {
    all: indicator(() => fieldsSum()),
    close: ema(3),
    typical: sma(3, { source: "ohlc4" }),
    volume: obv(),
    swaps: sma(3, { source: "swaps" }),
  };
  const somewhere = fc.constantFrom(0, 1, 3, 2_047, 2_048, 2_050, 2_999);
  const wrongNumber = fc.constantFrom(
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    1e111,
    -1e200,
  );

  it("a number that is not finite, or too large, wherever an indicator reads it, and says where", () => {
    const field = fc.constantFrom("open", "high", "low", "close", "volume", "swaps" as const);
    fc.assert(
      fc.property(field, somewhere, wrongNumber, (name, at, value) => {
        expect(() => indicatorColumns(everyField, changed(name, at, value))).toThrow(`${name}[${at}]`);
      }),
    );
  });

  it("such a number of a candle, read or not, as candle by candle", () => {
    const field = fc.constantFrom("open", "high", "low", "close", "volume", "timestamp" as const);
    fc.assert(
      fc.property(field, somewhere, wrongNumber, (name, at, value) => {
        const own = candles.map((candle, index) => (index === at ? { ...candle, [name]: value } : candle));
        expect(() => indicatorColumns(set, own)).toThrow(name);
      }),
      { numRuns: 30 },
    );
  });

  it("does not look at a column that no indicator reads", () => {
    const own = { ...columns, volume: new Float64Array(candles.length).fill(Number.NaN) };
    const { fast, range } = indicatorColumns({ ...set, range: atr(3) }, own);
    expect(fast).toStrictEqual(indicatorColumns(set, columns).fast);
    expect(range).toStrictEqual(indicatorColumns({ range: atr(3) }, columns).range);
    expect(() => indicatorColumns({ ...set, flow: obv() }, own)).toThrow("volume[0]");
  });

  it("two numbers that are wrong and cancel out", () => {
    const own = changed("close", 5, 1e200);
    own.close[6] = -1e200;
    expect(() => indicatorColumns(set, own)).toThrow("close[5]");
  });

  it("takes numbers up to the largest that a candle may have", () => {
    const own = changed("close", 5, 1e110);
    own.close[6] = -1e110;
    expect(indicatorColumns(set, own).fast.length).toBe(3_000);
    expect(() => indicatorColumns(set, extremesOf(1, 3_000))).not.toThrow();
  });

  it.each([0, 1, 2_046, 2_047, 2_048, 2_998])("timestamps out of order after %i", (at) => {
    const [same, infinite] = [columns.timestamp[at]!, Number.POSITIVE_INFINITY];
    for (const next of [same, same - 1, Number.NaN, infinite, 9e15]) {
      expect(() => indicatorColumns(set, changed("timestamp", at + 1, next))).toThrow(/timestamp/);
      const own = candles.map((candle, index) =>
        index === at + 1 ? { ...candle, timestamp: next } : candle,
      );
      expect(() => indicatorColumns(set, own)).toThrow(/timestamp/);
    }
  });

  const good = () => ({
    fast: new Float64Array(candles.length),
    edges: { top: new Float64Array(candles.length), bottom: new Float64Array(candles.length) },
  });
  const twice = new Float64Array(candles.length);
  const buffer = new ArrayBuffer(8 * candles.length + 8);
  it.each([
    ["null", null],
    ["a name too few", { fast: good().fast }],
    ["a name too many", { ...good(), slow: good().fast }],
    ["another name", { quick: good().fast, edges: good().edges }],
    ["an array for an object", { ...good(), edges: good().fast }],
    ["an object for an array", { ...good(), fast: good().edges }],
    ["a field too few", { ...good(), edges: { top: good().fast } }],
    ["a field too many", { ...good(), edges: { ...good().edges, middle: good().fast } }],
    ["a shorter array", { ...good(), fast: new Float64Array(7) }],
    ["a longer array", { ...good(), fast: new Float64Array(candles.length + 1) }],
    ["a plain array", { ...good(), fast: [...good().fast] }],
    ["an array of the columns", { ...good(), fast: columns.high }],
    ["the same array twice", { ...good(), edges: { top: twice, bottom: twice } }],
    [
      "arrays that overlap",
      {
        fast: new Float64Array(buffer, 0, candles.length),
        edges: { ...good().edges, top: new Float64Array(buffer, 8, candles.length) },
      },
    ],
  ])("%s as into", (_, into) => {
    const own = { fast: ema(3), edges };
    expect(() => indicatorColumns(own, columns, { into: into as never })).toThrow(/into/);
  });

  it("an unknown option", () => {
    expect(() => indicatorColumns(set, columns, { onto: {} } as never)).toThrow(/into/);
    expect(() => indicatorColumns(set, columns, null as never)).toThrow(InvalidInputError);
  });

  it("an own indicator of objects that does not name its fields, and one that gives something else", () => {
    const unnamed = indicator(edgesOf);
    expect(() => indicatorColumns({ unnamed }, columns)).toThrow(/indicators\.unnamed.*fields/);
    const text = indicator(() => ({ ...edgesOf(), push: () => "7" }) as unknown as Kernel<number>);
    expect(() => indicatorColumns({ text }, columns)).toThrow(/indicators\.text/);
    for (const wrong of [7, null, {}, { top: 1, bottom: "2" }]) {
      const make = () =>
        ({ ...edgesOf(), push: () => wrong }) as unknown as Kernel<{ top: number; bottom: number }>;
      const own = indicator(make, { fields: ["top", "bottom"] });
      expect(() => indicatorColumns({ own }, columns)).toThrow(/indicators\.own.*top, bottom/);
    }
  });

  it("what a source may not give, as candle by candle", () => {
    const sources = [() => Number.NaN, () => 1e111, () => "7" as never, bollinger(3, 2) as never];
    for (const source of sources) {
      expect(() => indicatorColumns({ own: sma(3, { source }) }, columns)).toThrow(/source/);
    }
    const steep = [
      ...marketOf(1, 1),
      { ...marketOf(1, 2)[1]!, close: 5e-324 },
      { ...marketOf(1, 3)[2]!, close: 1e100 },
    ];
    const own = sma(1, { source: roc(1) });
    const kernel = own();
    expect(() => steep.map((candle) => kernel.push(candle))).toThrow(InvalidInputError);
    expect(() => indicatorColumns({ own }, columnsOf(steep))).toThrow(InvalidInputError);
  });
});

describe("indicator", () => {
  it("refuses fields that are no list of different names", () => {
    for (const fields of [[], "top", ["top", "top"], [7], ["__proto__"], null, {}]) {
      expect(() => indicator(edgesOf, { fields: fields as never })).toThrow(/fields/);
    }
    expect(() => indicator(edgesOf, { names: ["top"] } as never)).toThrow(/fields/);
    expect(() => indicator(edgesOf, null as never)).toThrow(InvalidInputError);
  });
});
