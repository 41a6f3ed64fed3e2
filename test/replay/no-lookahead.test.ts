import fc from "fast-check";
import {
  bufferCount,
  delay,
  filter,
  last,
  map,
  merge,
  NEVER,
  type Observable,
  type OperatorFunction,
  of,
  pairwise,
  pipe,
  scan,
  skipLast,
  startWith,
  switchMap,
  take,
  toArray,
  window,
} from "rxjs";
import { describe, expect, it } from "vitest";
import {
  adx,
  assertNoLookahead,
  atr,
  bollinger,
  type Candle,
  type CandleEvent,
  closes,
  crosses,
  ema,
  finals,
  heikinAshi,
  InvalidInputError,
  ichimoku,
  kama,
  latest,
  linearRegression,
  macd,
  PairstreamError,
  psar,
  replayCandles,
  resample,
  rsi,
  type Series,
  sma,
  stochastic,
  supertrend,
  type Timeframe,
  VirtualClock,
  vwap,
  type WeekStart,
  withIndicators,
  withTimeframe,
} from "../../src/index.js";
import { minuteCandle, SERIES } from "../candles/minute-candles.js";
import { marketOf } from "../indicators/random-candles.js";

type Operator = OperatorFunction<CandleEvent, unknown>;

const candles = marketOf(7, 120);
const rising = Array.from({ length: 12 }, (_, at) => minuteCandle(at, at + 1));

const many = withIndicators({
  adx: adx(5),
  atr: atr(5),
  bands: bollinger(8, 2),
  cloud: ichimoku(3, 6, 9),
  fast: ema(3),
  kama: kama(4),
  line: linearRegression(6),
  macd: macd(3, 6, 4),
  sar: psar(),
  slow: sma(7),
  smoothed: ema(4, { source: rsi(5) }),
  stochastic: stochastic(5, 3, 3),
  strength: rsi(5),
  trend: supertrend(4, 2),
  vwap: vwap(),
});
const fastAndSlow = withIndicators({ fast: ema(2), slow: ema(5) });

/** All that this package has; with a running candle where it follows `resample`. */
const OURS: readonly (readonly [name: string, operator: Operator])[] = [
  ["closes", closes()],
  ["finals", finals()],
  ["latest", latest(4)],
  ["resample", resample("5min")],
  ["heikinAshi", heikinAshi()],
  ["withIndicators", many],
  ["withTimeframe", withTimeframe("5min", { trend: ema(2) })],
  ["crosses of closed candles", pipe(fastAndSlow, crosses("fast", "slow"))],
  ["crosses of final candles", pipe(fastAndSlow, crosses("fast", "slow", { on: "final" }))],
  ["crosses of a level", pipe(fastAndSlow, crosses("fast", 100))],
  ["closes of running candles", pipe(resample("5min"), closes())],
  ["finals of running candles", pipe(resample("5min"), finals())],
  ["latest of running candles", pipe(resample("5min"), latest(2))],
  ["heikinAshi of running candles", pipe(resample("5min"), heikinAshi())],
  ["withIndicators of running candles", pipe(resample("5min"), many)],
  ["resample of running candles", pipe(resample("5min"), resample("10min"))],
  ["crosses of running candles", pipe(resample("5min"), heikinAshi(), fastAndSlow, crosses("fast", "slow"))],
];

/** The message of what is thrown; it is of the kind that tells of an operator that cheats. */
function verdict<T>(operator: OperatorFunction<CandleEvent, T>, ...more: unknown[]): string {
  const [given = rising, options = {}] = more as [Candle[]?, object?];
  try {
    assertNoLookahead(operator, given, options);
  } catch (error) {
    expect(error).toBeInstanceOf(PairstreamError);
    expect(error).toMatchObject({ name: "PairstreamError" });
    return (error as Error).message;
  }
  throw new Error("it has passed");
}

const refusal = (call: () => void): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("it has passed");
};

function emits(operator: Operator, market: readonly Candle[]): boolean {
  let count = 0;
  replayCandles(market, SERIES)
    .pipe(operator)
    .subscribe(() => {
      count += 1;
    });
  return count > 0;
}

const closesOf = (events: Observable<CandleEvent>) => events.pipe(map(({ candle }) => candle.close));

describe("assertNoLookahead", () => {
  it.each(OURS)("passes %s, with gaps and without", (_, operator) => {
    assertNoLookahead(operator, candles);
    assertNoLookahead(
      operator,
      candles.filter((_, at) => at % 7 !== 4 && at % 5 !== 0),
      { timeframe: "1min" },
    );
  });

  it("passes all that is ours over random markets", () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(...OURS), (seed, [, operator]) => {
        const market = marketOf(seed, 150);
        // Not every market crosses a level.
        fc.pre(emits(operator, market));
        assertNoLookahead(operator, market, { prefixes: 12 });
      }),
      { numRuns: 40, examples: [[1_879_048_187, OURS.find(([name]) => name === "crosses of a level")!]] },
    );
  });

  it.each<[string, Operator]>([
    ["keeps what it has seen", scan((sum: number, { candle }: CandleEvent) => sum + candle.close, 0)],
    ["ends early", take(3)],
    ["begins on its own", pipe(closesOf, startWith(0))],
    [
      "emits one candle late, and claims nothing",
      pipe(
        closes(),
        map(({ candle }) => candle),
        skipLast(1),
      ),
    ],
    [
      "subscribes to its source several times",
      (events) => merge(events.pipe(closes()), events.pipe(heikinAshi())),
    ],
    ["emits functions", map(() => () => 1)],
    ["emits what is no number", map(() => Number.NaN)],
    ["emits maps and dates", map(({ observedAt }) => new Map([["at", new Date(observedAt)]]))],
    ["emits what holds itself", map(() => selfish())],
  ])("passes what %s", (_, operator) => {
    assertNoLookahead(operator, rising);
  });

  it.each<[string, Operator, string]>([
    [
      "waits for the end",
      toArray(),
      "output 0 1 is missing, then an object, once with the candles up to 1970-01-01T00:00:00.000Z, " +
        "once with those up to 1970-01-01T00:11:00.000Z",
    ],
    [
      "scales by the highest price of all",
      pipe(
        toArray(),
        switchMap((events) => {
          const highest = Math.max(...events.map(({ candle }) => candle.high));
          return events.map(({ candle }) => ({ scaled: candle.close / highest }));
        }),
      ),
      "output 0 scaled is 1, then 0.08333333333333333, once with",
    ],
    [
      "reads its source to the end, and then again",
      (events) =>
        events.pipe(
          last(),
          switchMap(({ candle }) => events.pipe(map((event) => event.candle.close / candle.close))),
        ),
      "output 0 is 1, then 0.08333333333333333, once with",
    ],
    [
      "averages over both neighbours, with one at the end",
      pipe(
        closesOf,
        bufferCount(3, 1),
        map((near) => near.reduce((sum, close) => sum + close, 0) / near.length),
      ),
      "output 0 is 1, then 2, once with",
    ],
    [
      "averages over both neighbours, as of the one in the middle",
      pipe(
        bufferCount<CandleEvent>(3, 1),
        filter((near) => near.length === 3),
        map(([a, b, c]) => ({ ...b!, average: (a!.candle.close + b!.candle.close + c!.candle.close) / 3 })),
      ),
      "claims to have been known at 1970-01-01T00:02:00.000Z, but came only with the candle of " +
        "1970-01-01T00:02:00.000Z, at 1970-01-01T00:03:00.000Z",
    ],
    [
      "takes back what it has said",
      pipe(
        toArray(),
        switchMap((events) => events.slice(0, 5 - Math.min(4, events.length)).map(() => "buy")),
      ),
      "output 1 is not emitted any more, once with",
    ],
    [
      "alters what it has emitted",
      scan(keepsList, []),
      "Output 0 of the operator was altered after it was emitted: 1 is missing, then 2",
    ],
    [
      "emits numbers of its own",
      countsSubscriptions(),
      "Output 0 of the operator differs for the same candles: is 2, then 1",
    ],
    ["emits less for a second subscriber", emitsOnce(), "is not emitted a second time"],
  ])("finds what %s", (_, operator, message) => {
    expect(verdict(operator)).toContain(message);
  });

  it("finds what is hidden in a multiple of candles, although it tries few beginnings", () => {
    const tens = pipe(closesOf, bufferCount(10));
    const many = Array.from({ length: 1_001 }, (_, at) => minuteCandle(at, at));
    expect(verdict(tens, many, { prefixes: 20 })).toContain("looks ahead");
    expect(verdict(tens, many.slice(0, 1_000), { prefixes: 1 })).toContain("looks ahead");
  });

  it.each([
    [undefined, 12],
    [3, 4],
    [1, 2],
    [500, 12],
  ])("with prefixes %s tries so many beginnings, each once, and the whole twice", (prefixes, runs) => {
    const lengths: number[] = [];
    const operator: Operator = (events) => {
      let length = 0;
      lengths.push(0);
      const run = lengths.length - 1;
      return events.pipe(
        map(() => {
          length += 1;
          lengths[run] = length;
          return length;
        }),
      );
    };
    assertNoLookahead(operator, rising, prefixes === undefined ? {} : { prefixes });
    expect(lengths).toHaveLength(runs + 1);
    expect(lengths.slice(0, 2)).toEqual([12, 12]);
    const shorter = lengths.slice(2);
    expect(new Set(shorter).size).toBe(shorter.length);
    expect(shorter).toEqual([...shorter].sort((a, b) => a - b));
    expect(shorter.at(-1)).toBe(11);
  });

  it("asks a user's own knownAt", () => {
    const next = pipe(
      pairwise<CandleEvent>(),
      map(([{ candle }, after]) => ({ decidedAt: candle.timestamp + 60_000, price: after.candle.open })),
    );
    assertNoLookahead(next, rising);
    const knownAt = ({ decidedAt }: { decidedAt: number }) => decidedAt;
    expect(verdict(next, rising, { knownAt })).toContain("claims to have been known");
    expect(verdict(next, rising, { knownAt: () => Number.NEGATIVE_INFINITY })).toContain("at -Infinity");
    assertNoLookahead(next, rising, { knownAt: () => undefined });
  });

  it.each<[string, Partial<Series> & { weekStart?: WeekStart }, Timeframe]>([
    ["1970-01-01 1970-01-02 1970-01-04", {}, "1d"],
    ["2024-01-01 2024-02-01 2024-03-01", {}, "1M"],
    ["2024-01-01 2024-01-08", {}, "1w"],
    ["2024-01-04 2024-01-11", { weekStart: "thursday" }, "1w"],
    ["2024-01-04 2024-01-11", {}, "1d"],
    ["2024-01-01 2024-02-01", { timeframe: "1h" }, "1h"],
    ["2024-01-01T00:00:00Z 2024-01-01T00:01:00Z", {}, "1min"],
    ["2024-01-01T00:00:20Z 2024-01-01T00:01:00Z", {}, "10s"],
  ])("takes %s with %j for %s", (dates, options, timeframe) => {
    const given = dates.split(" ").map((date) => ({ ...minuteCandle(0), timestamp: Date.parse(date) }));
    const seen = new Set<string>();
    const note = map((event: CandleEvent) => seen.add(JSON.stringify(event.series)).size);
    assertNoLookahead(note, given, options);
    expect([...seen].map((text) => JSON.parse(text))).toEqual([
      { network: "mainnet", pairAddress: "pair", currency: "usd", timeframe },
    ]);
  });

  it("throws what the operator fails with", () => {
    const error = new Error("its own");
    const failing = map(() => {
      throw error;
    });
    expect(refusal(() => assertNoLookahead(failing, rising))).toBe(error);
  });

  it.each<[string, () => void, string]>([
    ["no operator", () => assertNoLookahead(undefined as unknown as Operator, rising), "operator"],
    ["no candles", () => assertNoLookahead(closes(), []), "candles"],
    ["what is no list of candles", () => assertNoLookahead(closes(), 5 as unknown as Candle[]), "candles"],
    [
      "candles that bring nothing",
      () =>
        assertNoLookahead(
          filter(() => false),
          rising,
        ),
      "candles",
    ],
    [
      "candles out of order",
      () => assertNoLookahead(closes(), [...rising].reverse()),
      "timestamp of source[1]",
    ],
    ["a candle that is none", () => assertNoLookahead(closes(), [null as unknown as Candle]), "source[0]"],
    ["prefixes of none", () => assertNoLookahead(closes(), rising, { prefixes: 0 }), "prefixes"],
    ["a knownAt that is none", () => assertNoLookahead(closes(), rising, { knownAt: 1 as never }), "knownAt"],
    [
      "a wrong timeframe",
      () => assertNoLookahead(closes(), rising, { timeframe: "7min" as Timeframe }),
      "timeframe",
    ],
    [
      "an operator with time of its own",
      () => assertNoLookahead(delay(1, new VirtualClock()), rising),
      "operator",
    ],
    ["an endless one", () => assertNoLookahead((events) => merge(events, NEVER), rising), "operator"],
    ["one that emits Observables", () => assertNoLookahead(window(of(1)), rising), "operator"],
  ])("refuses %s", (_, call, parameter) => {
    const error = refusal(call);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ parameter });
  });
});

function keepsList(list: number[], { candle }: CandleEvent): number[] {
  list.push(candle.close);
  return list;
}

function selfish(): object {
  const object: { self?: object } = {};
  object.self = object;
  return object;
}

function countsSubscriptions(): Operator {
  let subscriptions = 0;
  return (events) => {
    subscriptions += 1;
    const number = subscriptions;
    return events.pipe(map(() => number));
  };
}

function emitsOnce(): Operator {
  let isFirst = true;
  return (events) => {
    const isShown = isFirst;
    isFirst = false;
    return events.pipe(filter(() => isShown));
  };
}
