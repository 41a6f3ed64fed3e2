import { type GatewayFetch, gatewaySource } from "pairstream/sse";
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, answered, at } from "../../world.js";
import { ADDRESS, Stage } from "../sse/gateway/stage.js";
import { brief, Chart, MARKETS, MINUTE, market, START, SYMBOL } from "./chart.js";

/** The first request to a gateway waits for a module to load, which takes no virtual time. */
beforeAll(async () => {
  const stage = new Stage();
  const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
  const { name, ...pair } = SYMBOL;
  const subscription = source.candles({ ...pair, timeframe: "1min" }).subscribe();
  while (stage.addresses.length === 0) await stage.clock.advanceBy(0);
  subscription.unsubscribe();
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

  it.each<[string, () => Answer | Promise<Answer>]>([
    ["is down", () => answered(503, "down")],
    ["allows no more requests", () => answered(429, "slow down", { "retry-after": "1" })],
    ["cannot be reached", () => Promise.reject(new TypeError("fetch failed"))],
  ])("wait while the service %s, and so does a symbol", async (_, interference) => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    world.interfere = interference;
    chart.resolve();
    await chart.pass(MINUTE);
    expect(await chart.bars()).toBeUndefined();
    chart.resolve();
    await chart.pass(2 * MINUTE);
    expect([chart.scales, chart.reasons]).toEqual([[], []]);
    world.interfere = () => undefined;
    await chart.pass(2 * MINUTE);
    expect(chart.answers).toHaveLength(1);
    expect(chart.answers[0]!.bars).toHaveLength(10);
    // The newest closed minute has a price of three digits.
    expect(chart.scales).toEqual([1_000, 1_000]);
    // Nobody follows what has come.
    const { length } = world.asked;
    await chart.pass(2 * MINUTE);
    expect(world.asked).toHaveLength(length);
    expect(chart.reasons).toEqual([]);
  });

  it.each([
    ["a key that is refused", 401, 5_000],
    ["a pair that nobody knows for a minute", 404, 2 * MINUTE],
  ])("do not wait for %s, and nor does a symbol", async (_, status, patience) => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    world.interfere = () => answered(status, { message: "no" });
    chart.resolve();
    await chart.pass(patience);
    expect(chart.reasons).toEqual([expect.stringContaining(`${status}`)]);
    expect(chart.scales).toEqual([]);
    await chart.bars();
    await chart.pass(patience);
    expect(chart.reasons).toHaveLength(2);
  });
});

it("waits for a gateway that cannot be reached, of which its source warns, and does not take it for a pair without candles", async () => {
  const world = market();
  const stage = new Stage({ allow: () => true }, world);
  let isDown = true;
  const fetch: GatewayFetch = async (url, init) => {
    if (isDown) throw new TypeError("fetch failed");
    return stage.fetch(url, init);
  };
  const warned: string[] = [];
  const warn = (message: string) => warned.push(message);
  const chart = new Chart(gatewaySource(ADDRESS, { fetch, scheduler: world.clock, warn }), world.clock);
  expect(await chart.bars()).toBeUndefined();
  await chart.pass(MINUTE);
  expect(warned).toEqual([expect.stringContaining("/candles could not be reached: fetch failed")]);
  isDown = false;
  await chart.pass(MINUTE);
  expect(chart.answers).toHaveLength(1);
  expect(chart.answers[0]!.bars).toHaveLength(10);
  expect(chart.reasons).toEqual([]);
});
