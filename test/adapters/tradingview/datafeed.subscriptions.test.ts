import { type Candle, clientSource, VirtualClock } from "pairstream";
import { config } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { answered } from "../../world.js";
import { Chart, MINUTE, market, ONE, START } from "./chart.js";
import { NEW_FINAL, TestSource } from "./test-source.js";

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
