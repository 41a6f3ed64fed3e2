import { describe, expect, it } from "vitest";
import { type CandleEvent, type FeedStatus, watchCandles, watchFeedStatus } from "../../src/index.js";
import { at, MINUTES, short, time, tradedCandle, World, withRows } from "../world.js";
import { standing } from "./minute-candles.js";

/** Subscribes and keeps what comes. */
function collect(world: World, options: Partial<Parameters<typeof watchCandles>[1]> = {}) {
  const events: CandleEvent[] = [];
  const errors: unknown[] = [];
  const subscription = watchCandles(world.client, { ...MINUTES, ...options }).subscribe({
    next: (event) => events.push(event),
    error: (error) => errors.push(error),
  });
  return { events, errors, subscription };
}

describe("the life of a candle", () => {
  it("is new, updated, closed and final, each at its time", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swap(at("12:00:05"), 5);
    world.swap(at("12:00:30"), 7);
    world.swap(at("12:01:20"), 6);
    world.swap(at("12:02:20"), 8);
    const { events } = collect(world, { every: 20_000 });
    await world.clock.advanceTo(at("12:03:30"));
    expect(events.map(short)).toEqual([
      "new open 12:00:00 #0 5",
      "updated open 12:00:00 #1 7",
      "updated closed 12:00:00 #2 7",
      "new open 12:01:00 #0 6",
      "updated closed 12:01:00 #1 6",
      "new open 12:02:00 #0 8",
      "updated final 12:00:00 #3 7",
      "updated closed 12:02:00 #1 8",
    ]);
    expect(events[2]).toMatchObject({
      candle: tradedCandle(at("12:00:00"), 5, 7),
      previous: { close: 7 },
      live: true,
    });
    for (const { status, candle, observedAt } of events) {
      if (status === "closed") expect(observedAt).toBeGreaterThanOrEqual(candle.timestamp + 61_000);
    }
    expect(events.every((event) => Object.isFrozen(event) && Object.isFrozen(event.candle))).toBe(true);
  });

  it("corrects a closed candle, and takes a late one in", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swap(at("12:00:05"), 5);
    world.swap(at("12:02:05"), 6);
    const { events } = collect(world, { every: "close" });
    await world.clock.advanceTo(at("12:02:10"));
    world.swap(at("12:00:59"), 9);
    world.swap(at("12:01:30"), 8);
    const before = events.length;
    await world.clock.advanceTo(at("12:03:05"));
    expect(events.slice(before).map(short)).toEqual([
      "updated final 12:00:00 #2 9",
      "new closed 12:01:00 #0 8",
      "new closed 12:02:00 #0 6",
    ]);
  });

  it("removes a candle only when two answers in a row lack it, and asks the second time at once", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("12:00:00"), at("12:03:00"));
    const { events } = collect(world, { every: "close" });
    await world.clock.advanceTo(at("12:01:30"));
    let lost = 1;
    world.interfere = (_asked, answer) =>
      lost-- > 0 ? withRows(answer, (rows) => rows.slice(0, 1)) : undefined;
    const before = events.length;
    const requests = world.asked.length;
    await world.clock.advanceTo(at("12:02:10"));
    expect(world.asked.length - requests).toBe(2);
    expect(events.slice(before).map(short)).toEqual([
      "new open 12:02:00 #0 3",
      "updated closed 12:01:00 #1 2",
    ]);

    lost = 2;
    const gone = events.length;
    await world.clock.advanceTo(at("12:03:10"));
    expect(events.slice(gone).map(short)).toEqual([
      "removed closed 12:00:00 #2 1",
      "removed closed 12:01:00 #2 2",
      "updated closed 12:02:00 #1 3",
    ]);
    await world.clock.advanceTo(at("12:04:10"));
    expect(events.slice(gone + 3).map(short)).toEqual(["new final 12:01:00 #0 2"]);
  });
});

describe("history, then live", () => {
  it("has no seam: every candle once, ascending, then what changes", async () => {
    const world = new World({ start: at("12:00:58") });
    world.swapsEvery(60_000, at("06:00:00"), at("12:10:00"));
    const { events } = collect(world, { since: at("06:30:15") });
    await world.clock.advanceTo(at("12:06:30"));
    const timestamps = standing(events).map(({ timestamp }) => timestamp);
    expect(timestamps[0]).toBe(at("06:30:00"));
    expect(timestamps).toEqual(timestamps.map((_, index) => at("06:30:00") + index * 60_000));
    expect(timestamps.at(-1)).toBe(at("12:06:00"));
    const births = events.filter(({ type }) => type === "new").map(({ candle }) => candle.timestamp);
    expect(births).toEqual(timestamps);
    const liveFrom = events.findIndex(({ live }) => live);
    expect(events.slice(liveFrom).every(({ live }) => live)).toBe(true);
    expect(events.slice(0, liveFrom).map(({ type }) => type)).toEqual(Array(liveFrom).fill("new"));
  });

  it.each([1, 10, 500, 2_500])("begins %i candles before the running one", async (candles) => {
    const world = new World({ start: at("12:00:30") });
    world.swapsEvery(60_000 * 3, at("12:00:00") - 180_000 * 4_000, at("12:10:00"));
    const { events } = collect(world, { since: { candles } });
    await world.clock.advanceTo(at("12:00:40"));
    expect(standing(events)).toHaveLength(candles + 1);
    expect(events.at(-1)!.candle.timestamp).toBe(at("12:00:00"));
    expect(events.every(({ live }) => !live)).toBe(true);
  });

  it.each([500, 1_500, 4_000].flatMap((latency) => [true, false].map((hasDate) => ({ latency, hasDate }))))(
    "begins, and goes on, though each answer takes longer than a candle: %o",
    async ({ latency, hasDate }) => {
      for (const split of [0, 1, 2]) {
        // The way there and back, where the answer is made in the end, in the middle or at once.
        const world = new World({ start: at("12:00:10"), hasDate, latency: 0 });
        world.interfere = async (_asked, answer) => {
          const wait = (ms: number) => new Promise<void>((done) => world.clock.schedule(() => done(), ms));
          await wait(latency * (2 - split));
          const served = await answer();
          await wait(latency * split);
          return served;
        };
        world.swapsEvery(500, at("11:59:00"), at("12:05:00"));
        const options = { timeframe: "1s", since: { candles: 10 } } as const;
        const { events } = collect(world, options);
        const statuses: FeedStatus[] = [];
        watchFeedStatus(world.client, { ...MINUTES, ...options }).subscribe((status) =>
          statuses.push(status),
        );
        await world.clock.advanceTo(at("12:02:00"));
        const timestamps = standing(events).map(({ timestamp }) => timestamp);
        expect(timestamps[0], `${split}`).toBeLessThan(at("12:00:15"));
        expect(timestamps.at(-1)).toBeGreaterThan(at("12:01:40"));
        expect(timestamps).toEqual(timestamps.map((_, index) => timestamps[0]! + index * 1_000));
        // What comes later than a poll may is late, and says so.
        expect(statuses.at(-1)!.state).toMatch(latency > 1_000 ? /live|stalled/ : /live/);
        expect(statuses.some(({ lastError }) => lastError !== undefined)).toBe(false);
      }
    },
  );

  it("loses nothing of a candle that closes while pages are walked", async () => {
    const world = new World({ start: at("12:00:50"), latency: 3_000 });
    world.swapsEvery(1_000, at("11:30:00"), at("12:10:00"));
    const { events } = collect(world, { timeframe: "10s", since: at("11:40:00") });
    await world.clock.advanceTo(at("12:03:00"));
    const candles = standing(events);
    expect(candles.map(({ timestamp }) => timestamp)).toEqual(
      candles.map((_, index) => at("11:40:00") + index * 10_000),
    );
    for (const { swaps, timestamp } of candles.slice(0, -2))
      expect([time(timestamp), swaps]).toEqual([time(timestamp), 10]);
  });

  it("fills gaps over what is covered, and no further", async () => {
    const world = new World({ start: at("12:00:30") });
    world.swap(at("11:57:10"), 3);
    world.swap(at("12:02:10"), 4);
    const { events } = collect(world, { since: at("11:50:00"), fillGaps: true, every: "close" });
    await world.clock.advanceTo(at("12:00:40"));
    expect(events.map(short)).toEqual([
      "new final 11:57:00 #0 3",
      "new closed 11:58:00 #0 3",
      "new closed 11:59:00 #0 3",
    ]);
    await world.clock.advanceTo(at("12:02:05"));
    world.swap(at("12:00:45"), 5);
    const before = events.length;
    await world.clock.advanceTo(at("12:03:05"));
    expect(events.slice(before).map(short)).toEqual([
      "updated final 12:00:00 #1 5",
      "updated closed 12:01:00 #1 5",
      "new closed 12:02:00 #0 4",
    ]);
    expect(events.at(-2)!.candle).toMatchObject({ open: 5, high: 5, low: 5, volume: 0, swaps: 0 });
  });
});

describe("one poll for all subscribers", () => {
  it("costs a thousand subscribers the polls of one; the last to leave aborts what is in flight", async () => {
    const one = new World({ start: at("12:00:10") });
    const thousand = new World({ start: at("12:00:10") });
    for (const world of [one, thousand]) world.swapsEvery(60_000, at("11:00:00"), at("12:20:00"));
    collect(one);
    const all = Array.from({ length: 1_000 }, () => collect(thousand));
    await one.clock.advanceTo(at("12:10:00"));
    await thousand.clock.advanceTo(at("12:10:00"));
    expect(thousand.asked.length).toBe(one.asked.length);
    expect(new Set(all.map(({ events }) => events.map(short).join())).size).toBe(1);

    // The next poll is on its way, and unanswered.
    thousand.interfere = () => new Promise(() => {});
    await thousand.clock.advanceTo(at("12:10:02"));
    const last = thousand.asked.at(-1)!;
    expect(last.outcome).toBeUndefined();
    for (const { subscription } of all.slice(1)) subscription.unsubscribe();
    expect(thousand.clock.pending).toBeGreaterThan(0);
    expect(last.signal!.aborted).toBe(false);
    all[0]!.subscription.unsubscribe();
    expect(thousand.clock.pending).toBe(0);
    expect(last.signal!.aborted).toBe(true);
    const requests = thousand.asked.length;
    await thousand.clock.advanceBy(3_600_000);
    expect(thousand.asked.length).toBe(requests);
  });

  it("gives a late subscriber the present state at once, and nothing older than the running interval", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:20:00"));
    collect(world);
    await world.clock.advanceTo(at("12:05:30"));
    const requests = world.asked.length;
    const late = collect(world);
    expect(late.events.map(short)).toEqual(["new open 12:05:00 #0 66"]);
    const fromWindow = collect(world, { since: at("12:03:20") });
    expect(fromWindow.events.map(short)).toEqual([
      "new closed 12:03:00 #1 64",
      "new closed 12:04:00 #1 65",
      "new open 12:05:00 #0 66",
    ]);
    expect(fromWindow.events.every(({ live }) => !live)).toBe(true);
    expect(world.asked.length).toBe(requests);
    await world.clock.advanceTo(at("12:06:10"));
    expect(late.events.slice(1).map(short)).toEqual([
      "updated closed 12:05:00 #1 66",
      "new open 12:06:00 #0 67",
    ]);
    expect(fromWindow.events.at(-1)!.live).toBe(true);
  });

  it("starts anew after everybody has left", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:20:00"));
    const first = collect(world);
    await world.clock.advanceTo(at("12:03:10"));
    first.subscription.unsubscribe();
    await world.clock.advanceTo(at("12:08:10"));
    const second = collect(world);
    expect(second.events).toEqual([]);
    await world.clock.advanceTo(at("12:08:20"));
    expect(second.events.map(short)).toEqual(["new open 12:08:00 #0 69"]);
  });
});
