import { clientSource, InvalidInputError, type PairSource, VirtualClock } from "pairstream";
import {
  createDatafeed,
  type DatafeedConfiguration,
  type LibrarySymbolInfo,
  type SearchSymbolResultItem,
} from "pairstream/tradingview";
import { NEVER } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { PAIR, time, World } from "../../world.js";
import { BORN, brief, Chart, MINUTE, market, ONE, PERIOD, START, SYMBOL } from "./chart.js";
import type { BasicDataFeed } from "./documented.js";
import { NEW_FINAL, TestSource } from "./test-source.js";

it("is what the documents of the library ask for", () => {
  const datafeed = createDatafeed(new TestSource(new VirtualClock()).source, { symbols: [SYMBOL] });
  expectTypeOf(datafeed).toExtend<BasicDataFeed>();
  const documented: BasicDataFeed = datafeed;
  expect(Object.keys(documented).sort()).toEqual([
    "getBars",
    "getServerTime",
    "onReady",
    "resolveSymbol",
    "searchSymbols",
    "subscribeBars",
    "unsubscribeBars",
  ]);
});

describe("what it refuses at the call", () => {
  const { source } = new TestSource(new VirtualClock());
  it.each<[string, parameter: string, () => unknown]>([
    ["no source", "source", () => createDatafeed({} as never, { symbols: [SYMBOL] })],
    ["no options", "options", () => createDatafeed(source, undefined as never)],
    ["a misspelt option", "symbol", () => createDatafeed(source, { symbol: [SYMBOL] } as never)],
    ["no symbols", "symbols", () => createDatafeed(source, {} as never)],
    ["an empty list", "symbols", () => createDatafeed(source, { symbols: [] })],
    [
      "a name twice",
      "symbols.name",
      () => createDatafeed(source, { symbols: [SYMBOL, { ...SYMBOL, name: "one" }] }),
    ],
    ["an empty name", "symbols.name", () => createDatafeed(source, { symbols: [{ ...SYMBOL, name: " " }] })],
    [
      "no network",
      "network",
      () => createDatafeed(source, { symbols: [{ ...SYMBOL, network: "x" as never }] }),
    ],
    [
      "a symbol's misspelt field",
      "symbols.title",
      () => createDatafeed(source, { symbols: [{ ...SYMBOL, title: "x" } as never] }),
    ],
    [
      "a week start",
      "weekStart",
      () => createDatafeed(source, { symbols: [SYMBOL], weekStart: "friday" as never }),
    ],
    ["a scheduler", "scheduler", () => createDatafeed(source, { symbols: [SYMBOL], scheduler: {} as never })],
  ])("%s", (_, parameter, call) => {
    expect(call).toThrow(InvalidInputError);
    expect(call).toThrow(expect.objectContaining({ parameter }));
  });

  it("a subscription to what it does not have", () => {
    const datafeed = createDatafeed(source, { symbols: [SYMBOL] });
    const nothing = () => {};
    expect(() => datafeed.subscribeBars({ name: "TWO" }, "1", nothing, "guid", nothing)).toThrow(/^symbol /);
    expect(() => datafeed.subscribeBars(ONE, "7", nothing, "guid", nothing)).toThrow(/^resolution .*1S, 5S/);
  });
});

describe("the answers about symbols", () => {
  const TWO = { ...SYMBOL, name: "Two/SOL", description: "The second", currency: "native" } as const;

  it("come once, in another macrotask", async () => {
    const clock = new VirtualClock(START);
    const datafeed = createDatafeed(new TestSource(clock).source, {
      symbols: [SYMBOL, TWO],
      scheduler: clock,
    });
    const said: string[] = [];
    datafeed.onReady(() => said.push("ready"));
    datafeed.searchSymbols("", "", "", () => said.push("found"));
    datafeed.resolveSymbol(
      "two/sol",
      () => said.push("resolved"),
      () => said.push("failed"),
    );
    datafeed.resolveSymbol(
      "three",
      () => said.push("resolved"),
      (reason) => said.push(reason),
    );
    datafeed.getServerTime((seconds) => said.push(time(seconds * 1_000)));
    datafeed.getBars(
      { name: "three" },
      "1",
      PERIOD,
      () => said.push("bars"),
      (reason) => said.push(reason),
    );
    datafeed.getBars(
      ONE,
      "7",
      PERIOD,
      () => said.push("bars"),
      (reason) => said.push(reason),
    );
    expect(said).toEqual([]);
    await clock.advanceBy(5_000);
    const unknown = 'symbol is "three"; allowed: one of the symbols of this datafeed';
    const resolutions =
      "1S, 5S, 10S, 15S, 30S, 1, 3, 5, 10, 15, 30, 45, 60, 120, 180, 240, 360, 480, 720, 1D, 3D, 1W, 1M, 3M, 6M";
    const unsupported = `resolution is "7"; allowed: ${resolutions}`;
    expect(said.sort()).toEqual(
      ["12:00:10", "found", "ready", "resolved", unsupported, unknown, unknown].sort(),
    );
  });

  it("say what there is", async () => {
    const clock = new VirtualClock(START);
    const datafeed = createDatafeed(new TestSource(clock).source, {
      symbols: [SYMBOL, TWO],
      scheduler: clock,
    });
    let configuration: DatafeedConfiguration | undefined;
    datafeed.onReady((told) => {
      configuration = told;
    });
    const found: SearchSymbolResultItem[][] = [];
    for (const input of ["", "ONE", "second", PAIR.slice(3, 9), "nothing"]) {
      datafeed.searchSymbols(input, "any", "any", (items) => found.push(items));
    }
    await clock.advanceBy(0);
    expect(configuration).toEqual({
      supported_resolutions:
        "1S, 5S, 10S, 15S, 30S, 1, 3, 5, 10, 15, 30, 45, 60, 120, 180, 240, 360, 480, 720, 1D, 3D, 1W, 1M, 3M, 6M".split(
          ", ",
        ),
      supports_time: true,
      supports_marks: false,
      supports_timescale_marks: false,
    });
    expect(found.map((items) => items.map(({ ticker }) => ticker))).toEqual([
      ["ONE", "Two/SOL"],
      ["ONE"],
      ["Two/SOL"],
      ["ONE", "Two/SOL"],
      [],
    ]);
    expect(found[2]).toEqual([
      {
        symbol: "Two/SOL",
        full_name: "Two/SOL",
        ticker: "Two/SOL",
        description: "The second",
        exchange: "",
        type: "crypto",
      },
    ]);
  });

  it.each([
    [68_123.4, 10],
    [100, 3],
    [1, 5],
    [0.003706, 8],
    [0.0000008501, 12],
    [1.234e-14, 19],
    [1e-30, 22],
    [undefined, 8],
  ])("fit the price %d with %d decimals", async (price, decimals) => {
    const clock = new VirtualClock(START);
    const source = new TestSource(clock);
    if (price !== undefined) {
      source.emit({ ...NEW_FINAL, candle: minuteCandle(3, price) });
    }
    const datafeed = createDatafeed(source.source, { symbols: [SYMBOL], scheduler: clock });
    let info: LibrarySymbolInfo | undefined;
    datafeed.resolveSymbol(
      "ONE",
      (told) => {
        info = told;
      },
      expect.unreachable,
    );
    await clock.advanceBy(100);
    expect(info).toMatchObject({
      name: "ONE",
      ticker: "ONE",
      description: PAIR,
      session: "24x7",
      timezone: "Etc/UTC",
      minmov: 1,
      has_seconds: true,
      seconds_multipliers: ["1", "5", "10", "15", "30"],
      intraday_multipliers: "1 3 5 10 15 30 45 60 120 180 240 360 480 720".split(" "),
      has_weekly_and_monthly: true,
    });
    expect(info?.pricescale).toBe(Number(`1e${price === 68_123.4 ? 2 : decimals}`));
  });
});

it("does not wait for the minutes of a source that does not take them, for a symbol", async () => {
  const clock = new VirtualClock(START);
  const history = () => Promise.reject(new InvalidInputError("from", "what is there", "is older"));
  const source = { ...new TestSource(clock).source, history, candles: () => NEVER, status: () => NEVER };
  const chart = new Chart(source, clock);
  chart.resolve();
  await chart.pass(100);
  expect(chart.reasons).toEqual(["from is older; allowed: what is there"]);
});

it("takes no bar of a chart for given that only a symbol was resolved by", async () => {
  const clock = new VirtualClock(START);
  const test = new TestSource(clock);
  test.emit({ ...NEW_FINAL, candle: minuteCandle(1, 5) });
  const chart = new Chart({ ...test.source, history: () => Promise.reject(new Error("down")) }, clock);
  await chart.bars({ countBack: 1 });
  chart.follow();
  test.emit({ ...NEW_FINAL, candle: minuteCandle(2, 123) });
  test.emit({ ...NEW_FINAL, status: "open", candle: minuteCandle(3, 7) });
  chart.resolve();
  await chart.pass(2_000);
  expect(chart.scales).toEqual([100_000]);
  expect(brief(chart.ticks)).toEqual(["00:02:00 123", "00:03:00 7"]);
});

describe("resolutions", () => {
  it.each([
    ["1S", "1s"],
    ["10S", "10s"],
    ["30S", "30s"],
    ["1", "1min"],
    ["5", "5min"],
    ["10", "10min"],
    ["30", "30min"],
    ["60", "1h"],
    ["240", "4h"],
    ["720", "12h"],
    ["1D", "1d"],
    ["D", "1d"],
    ["1W", "1w"],
    ["W", "1w"],
    ["1M", "1M"],
    ["M", "1M"],
    ["15", "15min"],
    ["120", "2h"],
    ["1440", "1d"],
    ["15S", "15s"],
    ["3D", "3d"],
    ["2W", "2w"],
    ["6M", "6M"],
  ])("%s is %s", async (resolution, timeframe) => {
    const clock = new VirtualClock(START);
    const asked: object[] = [];
    const source: PairSource = {
      ...new TestSource(clock).source,
      candles: (options) => {
        asked.push(options);
        return NEVER;
      },
    };
    const chart = new Chart(source, clock, { weekStart: "thursday" });
    await chart.bars({}, resolution);
    const { name, ...pair } = SYMBOL;
    expect(asked).toEqual([{ ...pair, timeframe, weekStart: "thursday", since: { candles: 500 } }]);
  });

  it.each(["monday", "thursday"] as const)(
    "a week that begins on %s has its running bar at once",
    async (weekStart) => {
      const world = new World({ start: START, createdAt: BORN, hasDate: true, weekStart });
      world.swap(BORN, 100);
      const chart = new Chart(clientSource(world.client), world.clock, { weekStart });
      const bars = await chart.bars({}, "1W");
      const monday = Date.UTC(2024, 0, 1);
      const start = weekStart === "monday" ? monday : monday + 3 * 24 * 60 * MINUTE;
      expect(bars).toEqual([{ time: start, open: 100, high: 100, low: 100, close: 100, volume: 100 }]);
      const months = await chart.bars({}, "1M");
      expect(months?.map(({ time }) => time)).toEqual([monday]);
    },
  );
});

it("tells the service's time, in whole seconds", async () => {
  const world = market();
  world.offset = 3_600_000;
  const chart = new Chart(clientSource(world.client), world.clock);
  await chart.bars();
  const told: number[] = [];
  chart.datafeed.getServerTime((seconds) => told.push(seconds));
  await chart.pass(0);
  expect(Math.abs(told[0]! - (world.clock.now() + world.offset) / 1_000)).toBeLessThan(90);
  expect(Number.isInteger(told[0])).toBe(true);
});
