import fc from "fast-check";
import { lastValueFrom, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type AnyTimeframe,
  type Candle,
  type CandleEvent,
  clientSource,
  estimateCost,
  type FeedStatus,
  fetchCandles,
  intervalOf,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import type { Swap } from "../../src/service/index.js";
import { at, MINUTES, World } from "../world.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = at("12:07:10");

/** The candles of some swaps by the plainest code, those that had closed `settle` before an instant. */
function batch(swaps: readonly Swap[], timeframe: AnyTimeframe, from: number, until: number): Candle[] {
  const candles = new Map<number, Candle>();
  for (const { timestamp: time, usdAmount: price } of [...swaps].sort((a, b) => a.timestamp - b.timestamp)) {
    const { start: timestamp } = intervalOf(timeframe, time);
    if (timestamp < from || time >= until) continue;
    const known = candles.get(timestamp);
    candles.set(timestamp, {
      timestamp,
      open: known?.open ?? price,
      high: Math.max(known?.high ?? price, price),
      low: Math.min(known?.low ?? price, price),
      close: price,
      volume: (known?.volume ?? 0) + price,
      swaps: (known?.swaps ?? 0) + 1,
    });
  }
  return [...candles.values()];
}

function worldOf(every: number): World {
  const world = new World({ start: START, hasDate: true, createdAt: START - 3 * DAY });
  world.swapsEvery(every, START - 2 * DAY, START + DAY);
  return world;
}

async function watched(world: World, timeframe: AnyTimeframe, options: WatchOptions, ms: number) {
  const events: CandleEvent[] = [];
  const statuses: FeedStatus[] = [];
  const asked = { ...MINUTES, timeframe, ...options };
  const streams = watchCandles(world.client, asked).subscribe((event) => events.push(event));
  streams.add(watchFeedStatus(world.client, asked).subscribe((status) => statuses.push(status)));
  await world.clock.advanceBy(ms);
  streams.unsubscribe();
  return { events, statuses, candles: standing(events) };
}

const TIMEFRAMES: AnyTimeframe[] = ["15s", "45s", "90s", "3min", "15min", "20min", "2h", "6h", "864s"];

describe.each(TIMEFRAMES)("candles of %s", (timeframe) => {
  it.each([7_000, 13 * MINUTE])("are those of a batch, with swaps every %i ms", async (every) => {
    const world = worldOf(every);
    const { start: running } = intervalOf(timeframe, START);
    const { events, candles } = await watched(world, timeframe, { since: { candles: 5 } }, 2 * HOUR);
    const now = world.clock.now();
    const first = events[0]!.candle.timestamp;
    const older = batch(world.swaps, timeframe, 0, running).slice(-5);
    expect(first).toBe(older[0]!.timestamp);
    // The newest poll may be a minute old.
    const settled = intervalOf(timeframe, now - MINUTE).start;
    const settledOf = (all: readonly Candle[]) => all.filter(({ timestamp }) => timestamp < settled);
    expect(settledOf(candles)).toEqual(settledOf(batch(world.swaps, timeframe, first, now)));
    for (const { series, candle, status, observedAt } of events) {
      expect(series.timeframe).toBe(timeframe);
      const { start, end } = intervalOf(timeframe, candle.timestamp);
      expect(candle.timestamp).toBe(start);
      if (status !== "open") expect(observedAt).toBeGreaterThanOrEqual(end + 1_000);
    }
  });

  it("are fetched as a batch has them, and read as a history", async () => {
    const world = worldOf(11 * MINUTE);
    const from = START - DAY;
    const series = { ...MINUTES, timeframe };
    const reading = lastValueFrom(fetchCandles(world.client, { ...series, from }).pipe(toArray()));
    const history = clientSource(world.client).history({ ...series, count: 4 });
    await world.clock.advanceBy(5 * MINUTE);
    const until = intervalOf(timeframe, START).start;
    const { start, end } = intervalOf(timeframe, from);
    const expected = batch(world.swaps, timeframe, start === from ? start : end, until);
    expect((await reading).filter(({ timestamp }) => timestamp < until)).toEqual(expected);
    expect((await history).filter(({ timestamp }) => timestamp < until).at(-1)).toEqual(expected.at(-1));
  });
});

describe("a derived candle", () => {
  it.each([7_000, 400 * MINUTE])("takes 1.00 requests a close, with swaps every %i ms", async (every) => {
    const world = worldOf(every);
    const options = { ...MINUTES, timeframe: "15min", every: "close" } as const;
    watchCandles(world.client, options).subscribe();
    const learned = START + 10 * 15 * MINUTE;
    await world.clock.advanceTo(learned);
    const before = world.asked.length;
    await world.clock.advanceTo(learned + 5 * HOUR);
    expect(world.asked.length - before).toBe(20);
    const timeframes = world.asked.flatMap(({ url }) => url.searchParams.get("timeframe") ?? []);
    expect(new Set(timeframes)).toEqual(new Set(["5min"]));
    expect(estimateCost([options]).requests).toBe(96);
  });

  it("closes on time where its last parts are silent", async () => {
    const world = new World({ start: START, hasDate: true, createdAt: START - DAY });
    world.swapsEvery(MINUTE, START - 12 * HOUR, START + MINUTE);
    const { events, statuses } = await watched(world, "15min", { every: "close" }, HOUR);
    const closed = events.find(({ status }) => status === "closed")!;
    expect(closed.candle.timestamp).toBe(at("12:00:00"));
    expect(Math.floor(closed.observedAt)).toBe(at("12:15:01"));
    expect(closed.live).toBe(true);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("13:00:00") });
  });

  it("is whole from its beginning on, however late one joins", async () => {
    const world = worldOf(10_000);
    watchCandles(world.client, { ...MINUTES, timeframe: "2h" }).subscribe();
    await world.clock.advanceBy(53 * MINUTE);
    const late: CandleEvent[] = [];
    watchCandles(world.client, { ...MINUTES, timeframe: "2h" }).subscribe((event) => late.push(event));
    await world.clock.advanceBy(0);
    expect(late[0]!.candle.timestamp).toBe(at("12:00:00"));
    expect(late[0]!.candle.open).toBe(batch(world.swaps, "2h", at("12:00:00"), START + HOUR)[0]!.open);
  });

  it("is told since the subscription, though the first answer comes late", async () => {
    const world = worldOf(10_000);
    // The clock is known, and then nothing is answered for forty minutes.
    const first = watchCandles(world.client, { ...MINUTES, timeframe: "15min" }).subscribe();
    await world.clock.advanceBy(20 * MINUTE);
    first.unsubscribe();
    const from = world.clock.now();
    world.interfere = () =>
      world.clock.now() < from + 40 * MINUTE ? Promise.reject(new Error("down")) : undefined;
    const { candles, statuses } = await watched(world, "15min", {}, HOUR);
    const begin = intervalOf("15min", from).start;
    expect(candles.map(({ timestamp }) => timestamp)).toEqual(
      [0, 1, 2, 3, 4].map((at) => begin + at * 15 * MINUTE),
    );
    const settled = begin + 60 * MINUTE;
    expect(candles.filter(({ timestamp }) => timestamp < settled)).toEqual(
      batch(world.swaps, "15min", begin, settled),
    );
    expect(statuses.some(({ lastError }) => lastError !== undefined)).toBe(true);
  });

  it("is corrected, removed and filled as what is in it is", async () => {
    const world = new World({ start: START, hasDate: true, createdAt: START - DAY });
    world.swap(START - 5 * HOUR, 3);
    world.swap(at("12:16:00"), 5);
    world.swap(at("12:31:00"), 7);
    const options = { ...MINUTES, timeframe: "15min", fillGaps: true, since: START - 6 * HOUR } as const;
    const events: CandleEvent[] = [];
    watchCandles(world.client, options).subscribe((event) => events.push(event));
    await world.clock.advanceTo(at("12:33:00"));
    world.swaps.splice(1, 1);
    await world.clock.advanceTo(at("12:36:00"));
    const flat = standing(events).find(({ timestamp }) => timestamp === at("12:15:00"));
    expect(flat).toMatchObject({ open: 3, close: 3, swaps: 0 });
    world.swap(at("12:22:00"), 9);
    await world.clock.advanceTo(at("12:40:00"));
    const mended = standing(events).find(({ timestamp }) => timestamp === at("12:15:00"));
    expect(mended).toMatchObject({ open: 9, close: 9, swaps: 1 });
  });

  it("follows all that happens to its parts, whenever somebody looks", async () => {
    const change = fc.record({
      after: fc.integer({ min: 0, max: 50 * MINUTE }),
      price: fc.integer({ min: 1, max: 99 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<AnyTimeframe>("3min", "15min", "20s", "2h"),
        fc.array(change, { maxLength: 12 }),
        async (timeframe, changes) => {
          const world = new World({ start: START, hasDate: true, createdAt: START - DAY });
          world.swapsEvery(4 * MINUTE, START - 3 * HOUR, START);
          for (const { after, price } of changes) world.swap(START + after, price);
          const { candles } = await watched(world, timeframe, { since: START - HOUR }, HOUR);
          const now = world.clock.now();
          const from = intervalOf(timeframe, START - HOUR).start;
          expect(candles).toEqual(batch(world.swaps, timeframe, from, now));
        },
      ),
      { numRuns: 15 },
    );
  });
});
