import { type Candle, clientSource, InvalidInputError, type PairSource, VirtualClock } from "pairstream";
import { gatewaySource } from "pairstream/sse";
import {
  type Bar,
  createDatafeed,
  type DatafeedConfiguration,
  type DatafeedOptions,
  type LibrarySymbolInfo,
  type PeriodParams,
  type SearchSymbolResultItem,
} from "pairstream/tradingview";
import { config, NEVER } from "rxjs";
import { afterEach, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { answered, at, PAIR, time, World } from "../../world.js";
import { ADDRESS, Stage } from "../sse/gateway/stage.js";
import type { BasicDataFeed } from "./documented.js";
import { NEW_FINAL, TestSource } from "./test-source.js";

const MINUTE = 60_000;
const START = at("12:00:10");
const BORN = at("06:00:00");
const SYMBOL = { name: "ONE", network: "mainnet", pairAddress: PAIR, currency: "usd" } as const;
const ONE = { name: "ONE" };

const MARKETS = {
  "a client": (world: World) => clientSource(world.client),
  "a gateway": (world: World) => {
    const stage = new Stage({ allow: () => true }, world);
    return gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: world.clock });
  },
};

/** The first request to a gateway waits for a module to load, which takes no virtual time. */
beforeAll(async () => {
  const stage = new Stage();
  const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
  const { name, ...pair } = SYMBOL;
  const subscription = source.candles({ ...pair, timeframe: "1min" }).subscribe();
  while (stage.addresses.length === 0) await stage.clock.advanceBy(0);
  subscription.unsubscribe();
});

/** A swap a minute, but none in every seventh minute. */
function market(): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true });
  for (let timestamp = BORN, price = 100; timestamp < START; timestamp += MINUTE, price += 1) {
    if ((timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, price);
  }
  return world;
}

/** What a chart is told of one symbol. */
class Chart {
  readonly answers: { bars: Bar[]; noData: boolean }[] = [];
  readonly reasons: string[] = [];
  readonly ticks: Bar[] = [];
  resets = 0;
  readonly datafeed;

  constructor(
    source: PairSource,
    readonly clock: VirtualClock,
    options: Partial<DatafeedOptions> = {},
  ) {
    this.datafeed = createDatafeed(source, { symbols: [SYMBOL], scheduler: clock, ...options });
  }

  async bars(
    { to = this.clock.now() / 1_000, ...more }: Partial<PeriodParams> = {},
    resolution = "1",
  ): Promise<Bar[] | undefined> {
    const told = () => this.answers.length + this.reasons.length;
    const before = told();
    this.ask({ from: to, to, countBack: 10, firstDataRequest: true, ...more }, resolution);
    // What a gateway sends is waited for without time, but not for ever.
    for (let turns = 0; told() === before && turns < 2_000; turns += 1) {
      await this.clock.advanceBy(turns < 100 ? 0 : 20);
    }
    if (told() === before) return undefined;
    return this.answers.at(-1)?.bars;
  }

  ask(period: PeriodParams, resolution = "1"): void {
    this.datafeed.getBars(
      ONE,
      resolution,
      period,
      (bars, { noData }) => this.answers.push({ bars, noData }),
      (reason) => this.reasons.push(reason),
    );
  }

  follow(guid = "guid", resolution = "1"): void {
    this.datafeed.subscribeBars(
      ONE,
      resolution,
      (bar) => this.ticks.push(bar),
      guid,
      () => {
        this.resets += 1;
      },
    );
  }

  /** Lets time pass, and what a gateway does without it. */
  async pass(ms: number): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await this.clock.advanceBy(0);
    await this.clock.advanceBy(ms);
    for (let turns = 0; turns < 20; turns += 1) await this.clock.advanceBy(0);
  }
}

const brief = (bars: readonly Bar[] | undefined) => bars?.map((bar) => `${time(bar.time)} ${bar.close}`);

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
    expect(() => datafeed.subscribeBars(ONE, "2", nothing, "guid", nothing)).toThrow(/^resolution .*1S, 10S/);
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
      "15",
      PERIOD,
      () => said.push("bars"),
      (reason) => said.push(reason),
    );
    expect(said).toEqual([]);
    await clock.advanceBy(5_000);
    const unknown = 'symbol is "three"; allowed: one of the symbols of this datafeed';
    const resolutions = "1S, 10S, 30S, 1, 5, 10, 30, 60, 240, 720, 1D, 1W, 1M";
    const unsupported = `resolution is "15"; allowed: ${resolutions}`;
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
      supported_resolutions: ["1S", "10S", "30S", "1", "5", "10", "30", "60", "240", "720", "1D", "1W", "1M"],
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
      seconds_multipliers: ["1", "10", "30"],
      intraday_multipliers: ["1", "5", "10", "30", "60", "240", "720"],
      has_weekly_and_monthly: true,
    });
    expect(info?.pricescale).toBe(Number(`1e${price === 68_123.4 ? 2 : decimals}`));
  });
});

const PERIOD = { from: 0, to: START / 1_000, countBack: 10, firstDataRequest: true };
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

describe.each(Object.entries(MARKETS))("bars of %s", (_, sourceOf) => {
  it("come with the running one, and follow the market from there", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    world.swap(START - 5_000, 500);
    const bars = await chart.bars({ countBack: 4 });
    expect(brief(bars)).toEqual(["11:57:00 457", "11:58:00 458", "11:59:00 459", "12:00:00 500"]);
    expect(chart.answers).toHaveLength(1);
    chart.follow();
    await chart.pass(100);
    expect(chart.ticks).toEqual([]);
    world.swap(at("12:00:50"), 501);
    world.swap(at("12:01:05"), 502);
    await chart.pass(2 * MINUTE);
    expect(brief(chart.ticks)).toEqual(["12:00:00 501", "12:01:00 502"]);
    expect(chart.resets).toBe(0);
  });

  it("go back to the beginning, and then say that there is nothing", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    await chart.bars({ countBack: 20 });
    const held = [...chart.answers[0]!.bars];
    while (!chart.answers.at(-1)!.noData) {
      const to = held[0]!.time / 1_000;
      held.unshift(...(await chart.bars({ to, from: to - 3_600, countBack: 100, firstDataRequest: false }))!);
    }
    const { bars, noData } = chart.answers.at(-1)!;
    expect([bars, noData]).toEqual([[], true]);
    expect(chart.answers.slice(0, -1).some((answer) => answer.noData)).toBe(false);
    expect(held.map((bar) => bar.close)).toEqual(world.swaps.map(({ usdAmount }) => usdAmount));
    expect(chart.reasons).toEqual([]);
  });

  it("ask the page to begin anew where an older one has changed, come late or gone", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    await chart.bars();
    chart.follow();
    await chart.pass(1_000);
    expect(chart.resets).toBe(0);
    world.swap(at("11:59:40"), 700);
    await chart.pass(MINUTE);
    expect([chart.ticks, chart.resets]).toEqual([[], 1]);
    expect(brief(await chart.bars({ countBack: 2 }))).toEqual(["11:59:00 700", "12:00:00 460"]);
    const swap = world.swap(at("12:01:30"), 601);
    await chart.pass(MINUTE);
    expect(brief(chart.ticks)).toEqual(["12:01:00 601"]);
    world.swaps.splice(world.swaps.indexOf(swap), 1);
    await chart.pass(2 * MINUTE);
    expect([chart.ticks.length, chart.resets]).toEqual([1, 2]);
    expect(brief(await chart.bars({ countBack: 1 }))).toEqual(["12:00:00 460"]);
  });

  it("end with the last subscription: nothing is called, nothing polls", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    await chart.bars();
    chart.follow("first");
    chart.follow("second");
    chart.datafeed.unsubscribeBars("first");
    world.swap(at("12:01:05"), 600);
    await chart.pass(2 * MINUTE);
    expect(chart.ticks).toHaveLength(1);
    world.swap(at("12:02:05"), 601);
    chart.datafeed.unsubscribeBars("second");
    chart.datafeed.unsubscribeBars("unknown");
    // A gateway keeps a stream for a while.
    await chart.pass(MINUTE);
    const { length } = world.asked;
    await chart.pass(10 * MINUTE);
    expect(world.asked).toHaveLength(length);
    expect([chart.ticks.length, chart.resets]).toEqual([1, 0]);
  });

  it("of a symbol that nobody follows end by themselves", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    await chart.bars();
    await chart.pass(MINUTE);
    const { length } = world.asked;
    await chart.pass(10 * MINUTE);
    expect(world.asked).toHaveLength(length);
  });

  it("tell who comes back with the bars that it had what it has missed", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    world.swap(START - 5_000, 500);
    await chart.bars({ countBack: 3 });
    chart.follow("first");
    await chart.pass(1_000);
    chart.datafeed.unsubscribeBars("first");
    await chart.pass(1_000);
    world.swap(at("12:00:55"), 501);
    world.swap(at("12:01:05"), 502);
    await chart.pass(2 * MINUTE);
    expect(chart.ticks).toEqual([]);
    chart.follow("second");
    await chart.pass(30_000);
    expect(brief(chart.ticks)).toEqual(["12:00:00 501", "12:01:00 502"]);
    expect(chart.resets).toBe(0);
  });

  it("wait while the service is down", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    world.interfere = () => answered(503, "down");
    expect(await chart.bars()).toBeUndefined();
    await chart.pass(2 * MINUTE);
    world.interfere = () => undefined;
    await chart.pass(2 * MINUTE);
    expect(chart.answers).toHaveLength(1);
    expect(chart.answers[0]!.bars).toHaveLength(10);
    expect(chart.reasons).toEqual([]);
  });
});

describe("failures", () => {
  const reported: unknown[] = [];
  afterEach(() => {
    config.onUnhandledError = null;
    reported.length = 0;
  });
  const listen = () => {
    config.onUnhandledError = (error) => reported.push(error);
  };

  it("of a stream are the reason of the request, once; the next request begins anew", async () => {
    const world = market();
    const chart = new Chart(clientSource(world.client), world.clock);
    world.interfere = () => answered(401, { message: "no such key" });
    await chart.bars();
    expect(chart.reasons).toEqual([expect.stringContaining("401")]);
    expect(chart.answers).toEqual([]);
    world.interfere = () => undefined;
    expect(await chart.bars()).toHaveLength(10);
  });

  it("of a history are the reason of the request, and leave the stream alone", async () => {
    const clock = new VirtualClock(START);
    const test = new TestSource(clock);
    test.emit({ ...NEW_FINAL, candle: minuteCandle(3, 5) });
    const history = () => Promise.reject(new Error("no history"));
    const chart = new Chart({ ...test.source, history }, clock);
    await chart.bars();
    await chart.bars({ countBack: 1 });
    await chart.bars({ to: 100, firstDataRequest: false });
    expect(chart.reasons).toEqual(["no history", "no history"]);
    expect(chart.answers).toHaveLength(1);
  });

  it("of a stream, while older candles are read, leave no hole", async () => {
    const clock = new VirtualClock(START);
    const test = new TestSource(clock, () => 100);
    for (let minute = 1; minute <= 600; minute += 1)
      test.emit({ ...NEW_FINAL, candle: minuteCandle(minute) });
    const chart = new Chart(test.source, clock);
    await chart.bars();
    chart.ask({ from: 0, to: START / 1_000, countBack: 550, firstDataRequest: true });
    await clock.advanceBy(50);
    test.fail(new Error("for good"));
    await chart.pass(5_000);
    expect(chart.reasons).toEqual(["for good"]);
    expect(chart.answers).toHaveLength(1);
  });

  it("of a subscription are reported as what nobody handles", async () => {
    listen();
    const clock = new VirtualClock(START);
    const source = new TestSource(clock);
    const chart = new Chart(source.source, clock);
    await chart.bars();
    chart.follow();
    const error = new Error("for good");
    source.fail(error);
    await chart.pass(1_000);
    await new Promise((resolve) => setTimeout(resolve));
    expect(reported).toEqual([error]);
    expect(source.running).toBe(0);
    chart.datafeed.unsubscribeBars("guid");
    await chart.pass(0);
    expect(clock.pending).toBe(0);
  });

  it("of a chart's own callbacks stop nobody else", async () => {
    listen();
    const clock = new VirtualClock(START);
    const source = new TestSource(clock);
    const chart = new Chart(source.source, clock);
    await chart.bars();
    const error = new Error("of the chart");
    const fail = () => {
      throw error;
    };
    chart.datafeed.subscribeBars(ONE, "1", fail, "failing", fail);
    chart.follow();
    source.emit({ ...NEW_FINAL, candle: minuteCandle(3, 5) });
    await chart.pass(1_000);
    source.emit({ ...NEW_FINAL, candle: minuteCandle(2, 5) });
    await chart.pass(1_000);
    await new Promise((resolve) => setTimeout(resolve));
    expect([chart.ticks.length, chart.resets]).toEqual([1, 1]);
    expect(reported).toEqual([error, error]);
  });
});

it("gives every bar as an object of its own", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  source.emit({ ...NEW_FINAL, candle: Object.freeze(minuteCandle(3, 5)) });
  const chart = new Chart(source.source, clock);
  const [first] = (await chart.bars())!;
  first!.close = 77;
  const [second] = (await chart.bars())!;
  expect(second!.close).toBe(5);
  chart.follow("a");
  chart.follow("b");
  source.emit({ ...NEW_FINAL, candle: Object.freeze(minuteCandle(4, 6)) });
  await chart.pass(10);
  const [a, b] = chart.ticks;
  expect(a).toEqual(b);
  expect(a).not.toBe(b);
});

it("follows a symbol with one id at a time", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  await chart.bars();
  await chart.bars({}, "5");
  chart.follow("guid", "1");
  chart.follow("guid", "5");
  await chart.pass(10);
  expect(source.running).toBe(1);
  chart.datafeed.unsubscribeBars("guid");
  await chart.pass(10);
  expect(source.running).toBe(0);
});

it("tells a subscription what has come since the answer, though nothing more happens", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  source.emit({ ...NEW_FINAL, candle: minuteCandle(3) });
  await chart.bars();
  source.emit({ ...NEW_FINAL, candle: minuteCandle(4) });
  await chart.pass(100);
  chart.follow();
  expect(chart.ticks).toEqual([]);
  await chart.pass(0);
  expect(chart.ticks.map((bar) => bar.time / MINUTE)).toEqual([4]);
});

it("calls nobody who has left in a call before", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  source.emit({ ...NEW_FINAL, candle: minuteCandle(3) });
  await chart.bars();
  const leave = () => {
    chart.ticks.length += 1;
    for (const guid of ["first", "second"]) chart.datafeed.unsubscribeBars(guid);
  };
  const fail = () => expect.unreachable();
  chart.datafeed.subscribeBars(ONE, "1", leave, "first", fail);
  chart.datafeed.subscribeBars(ONE, "1", leave, "second", fail);
  for (const minute of [2, 4, 5]) source.emit({ ...NEW_FINAL, candle: minuteCandle(minute) });
  await chart.pass(10);
  expect(chart.ticks.length).toBe(1);
});

it("follows the last bar that it gave after a reset, though that is older than the one before", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  for (const minute of [10, 12]) source.emit({ ...NEW_FINAL, candle: minuteCandle(minute) });
  await chart.bars();
  chart.follow();
  source.emit({ ...NEW_FINAL, type: "removed", candle: minuteCandle(12) });
  await chart.pass(10);
  expect([chart.ticks.length, chart.resets]).toEqual([0, 1]);
  // No bar after the one that is gone, as long as the chart has that one.
  source.emit({ ...NEW_FINAL, candle: minuteCandle(11) });
  await chart.pass(10);
  expect([chart.ticks.length, chart.resets]).toEqual([0, 2]);
  source.emit({ ...NEW_FINAL, type: "removed", candle: minuteCandle(11) });
  await chart.pass(10);
  expect((await chart.bars())!.map((bar) => bar.time / MINUTE)).toEqual([10]);
  source.emit({ ...NEW_FINAL, candle: minuteCandle(11) });
  await chart.pass(10);
  expect([chart.ticks.length, chart.resets]).toEqual([1, 3]);
});

it("asks the page to begin anew where too much has come while nobody followed", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  for (let minute = 1; minute <= 20; minute += 1) source.emit({ ...NEW_FINAL, candle: minuteCandle(minute) });
  await chart.bars();
  chart.follow();
  chart.datafeed.unsubscribeBars("guid");
  await chart.pass(0);
  for (let minute = 21; minute <= 600; minute += 1)
    source.emit({ ...NEW_FINAL, candle: minuteCandle(minute) });
  chart.follow();
  await chart.pass(5_000);
  expect(chart.resets).toBe(1);
});

it("has a candle once that comes late while older ones are read", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock, () => 1_000);
  const chart = new Chart(source.source, clock);
  source.emit({ ...NEW_FINAL, candle: minuteCandle(10) });
  await chart.bars({ countBack: 1 });
  chart.ask({ from: 0, to: 3_600, countBack: 5, firstDataRequest: true });
  await chart.pass(500);
  source.emit({ ...NEW_FINAL, candle: minuteCandle(5) });
  await chart.pass(5_000);
  expect(chart.answers.at(-1)!.bars.map((bar) => bar.time / MINUTE)).toEqual([5, 10]);
});

it("reads what the fold of a long stream has forgotten from the history", async () => {
  const clock = new VirtualClock(START);
  const source = new TestSource(clock);
  const chart = new Chart(source.source, clock);
  const candle = (minute: number): Candle => minuteCandle(minute, 1 + (minute % 9));
  source.emit({ ...NEW_FINAL, candle: candle(1) });
  await chart.bars();
  chart.follow();
  for (let minute = 2; minute <= 12_000; minute += 1) source.emit({ ...NEW_FINAL, candle: candle(minute) });
  await chart.pass(1_000);
  const bars = (await chart.bars({ countBack: 11_500 }))!;
  expect(bars.map((bar) => bar.time / MINUTE)).toEqual(Array.from({ length: 11_500 }, (_, at) => 501 + at));
  expect(source.asked.map(({ to, count }) => [to / MINUTE, count])).toEqual([
    [1, 9],
    [2_000 + 1 / MINUTE, 1_000],
    [1_001, 500],
  ]);
  expect(chart.resets).toBe(0);
  chart.ask({ from: START / 1_000, to: START / 1_000, countBack: 10_500, firstDataRequest: true });
  await clock.advanceBy(5);
  for (let minute = 12_001; minute <= 12_020; minute += 1)
    source.emit({ ...NEW_FINAL, candle: candle(minute) });
  await chart.pass(1_000);
  const { bars: again } = chart.answers.at(-1)!;
  expect(again.map((bar) => bar.time / MINUTE)).toEqual(
    Array.from({ length: 10_500 }, (_, at) => 1_521 + at),
  );
  source.emit({ ...NEW_FINAL, candle: candle(12_021) });
  await chart.pass(10);
  expect([chart.ticks.at(-1)!.time / MINUTE, chart.resets]).toEqual([12_021, 0]);
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
