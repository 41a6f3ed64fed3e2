import { NEVER, of } from "rxjs";
import { describe, expect, it } from "vitest";
import { tradeOnPaper } from "../../src/backtest/index.js";
import {
  type CandleEvent,
  closes,
  crosses,
  ema,
  finals,
  heikinAshi,
  latest,
  resample,
  withIndicators,
  withTimeframe,
} from "../../src/index.js";
import { minuteCandle, SERIES } from "../candles/minute-candles.js";
import { eventOf } from "./events.js";
import { failure } from "./manners.js";

const WRONG: [name: string, value: unknown, said: string][] = [
  ["nothing", undefined, "hold undefined"],
  ["null", null, "hold null"],
  ["numbers", 3, "hold 3"],
  ["texts", "candle", 'hold "candle"'],
  [
    "candles of fetchCandles",
    minuteCandle(1),
    "hold an object with timestamp, open, high, low, close, volume, swaps",
  ],
  ["lists of latest", [eventOf("new", 1)], "hold a list"],
  [
    "events of watchSnipers",
    { type: "wallet-removed", pairAddress: "a", initial: false, observedAt: 0, previous: {} },
    "hold an object with type, pairAddress, initial, observedAt, previous",
  ],
  ["events without a series", { candle: minuteCandle(1), series: undefined }, "object with candle, series"],
  ["events without a candle", { series: { ...SERIES } }, "hold an object with series"],
  ["events of a known series without a candle", { series: SERIES }, "hold an object with series"],
  [
    "events whose candle is none",
    { series: SERIES, type: "new", candle: 5 },
    "hold an object with series, type, candle",
  ],
  ["empty objects", {}, "hold an object;"],
];

const OPERATORS = {
  closes: closes(),
  finals: finals(),
  latest: latest(2),
  resample: resample("5min"),
  heikinAshi: heikinAshi(),
  withIndicators: withIndicators({ fast: ema(2) }),
  "withTimeframe of its own": withTimeframe("5min", { fast: ema(2) }),
  "withTimeframe of a stream": withTimeframe(NEVER, { fast: ema(2) }),
  crosses: crosses("candle.close", 2),
  tradeOnPaper: tradeOnPaper({ series: [SERIES], strategy: () => NEVER }),
};

describe.each(Object.entries(OPERATORS))("%s", (_, operator) => {
  it.each(WRONG)("says what it was given where its stream holds %s", (_name, value, said) => {
    for (const before of [[], [eventOf("new", 1)]]) {
      const error = failure(operator, [...before, value as CandleEvent]);
      const allowed = expect.stringContaining("watchCandles");
      expect(error).toMatchObject({ name: "InvalidInputError", parameter: "events", allowed });
      expect((error as Error).message).toContain(said);
    }
  });
});

it.each(WRONG)(
  "withTimeframe says so of a stream of the longer timeframe that holds %s",
  (_, value, said) => {
    const operator = withTimeframe(of(value as CandleEvent), { fast: ema(2) });
    expect((failure(operator, []) as Error).message).toContain(said);
  },
);
