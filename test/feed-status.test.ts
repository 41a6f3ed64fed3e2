import { describe, expect, it } from "vitest";
import { type FeedStatus, watchCandles, watchFeedStatus, watchSnipers } from "../src/index.js";
import { type Answer, at, MINUTES, PAIR, World, withRows } from "./world.js";

function statusesOf(world: World, options: Parameters<typeof watchFeedStatus>[1]) {
  const given: FeedStatus[] = [];
  const statuses: (FeedStatus & { when: number })[] = [];
  const subscription = watchFeedStatus(world.client, options).subscribe((status) => {
    given.push(status);
    statuses.push({ ...status, when: world.clock.now() });
  });
  return { given, statuses, subscription };
}

describe("watchFeedStatus", () => {
  it("is starting at once, live with the first page, and moves with what is covered", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    const { given, statuses, subscription } = statusesOf(world, MINUTES);
    expect(statuses).toEqual([{ state: "starting", failures: 0, when: at("12:00:10") }]);
    await world.clock.advanceTo(at("12:02:10"));
    expect(statuses.slice(1)).toEqual(
      ["12:00:00", "12:01:00", "12:02:00"].map((until, index) => ({
        state: "live",
        coveredFrom: at("11:58:00"),
        coveredUntil: at(until),
        failures: 0,
        when: index === 0 ? at("12:00:10.040") : at(until) + 1_040,
      })),
    );
    expect(given.every(Object.isFrozen)).toBe(true);
    subscription.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("shares the poll of the stream with the same options", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    statusesOf(world, MINUTES);
    watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:03:30"));
    expect(world.asked).toHaveLength(4);
    const late = statusesOf(world, MINUTES);
    expect(late.statuses).toMatchObject([{ state: "live", coveredUntil: at("12:03:00") }]);
  });

  it("is stalled from when a due poll has failed for good, until that is made good", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    const { statuses } = statusesOf(world, { ...MINUTES, every: "close" });
    await world.clock.advanceTo(at("12:00:30"));
    world.interfere = () => Promise.reject(new Error("down"));
    await world.clock.advanceTo(at("12:01:04"));
    // Attempts at 61 s, 61.52 s and 62.54 s: each takes 20 ms to fail, and waits 500 ms and 1 s before the next.
    const stalled = statuses.at(-1)!;
    expect(stalled).toMatchObject({ state: "stalled", failures: 1, when: at("12:01:02.560") });
    expect(stalled.lastError).toMatchObject({ name: "NetworkError" });
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:01:30"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", failures: 0, coveredUntil: at("12:01:00") });
  });

  it.each([60_000, 600_000, 86_400_000])(
    "covers nothing that only a request without an answer was about, as the machine's clock is %i ms behind",
    async (offset) => {
      const world = new World({ start: at("12:00:10"), offset, hasDate: true });
      world.swapsEvery(60_000, at("11:00:00") + offset, at("14:00:00") + offset);
      let asked = 0;
      // The second one is to learn the service's clock, and asks for what has passed by that.
      world.interfere = () => {
        asked += 1;
        return asked === 1 ? undefined : Promise.reject(new Error("down"));
      };
      const { statuses } = statusesOf(world, MINUTES);
      await world.clock.advanceTo(at("12:00:30"));
      expect(asked).toBeGreaterThan(1);
      expect(statuses.map(({ state }) => state)).not.toContain("live");
      world.interfere = () => undefined;
      await world.clock.advanceTo(at("12:02:00"));
      expect(statuses.at(-1)).toMatchObject({ state: "live", failures: 0 });
    },
  );

  it("is live once trouble is over, though copies of hidden age look like a machine that is behind", async () => {
    const world = new World({ start: at("12:00:10.7"), hasDate: true, latency: 8 });
    world.swapsEvery(500, at("11:59:00"), at("12:05:00"));
    let made = 0;
    world.interfere = async () => {
      if (world.clock.now() - made > 2_500) made = world.clock.now();
      const date = new Date(made).toUTCString();
      return {
        status: 404,
        headers: { get: (name) => (name === "date" ? date : null) },
        text: async () => "{}",
      };
    };
    const { statuses } = statusesOf(world, { ...MINUTES, timeframe: "1s", every: "close" });
    await world.clock.advanceTo(at("12:00:50"));
    expect(statuses.at(-1)).toMatchObject({ state: "starting" });
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:00:56"));
    expect(statuses.at(-1)).toMatchObject({ state: "live" });
  });

  it.each([2_500, 4_500, 21_000])(
    "stays live by copies of the answer that has told of the last closing: every %i ms",
    async (every) => {
      const world = new World({ start: at("12:00:10"), hasDate: true });
      world.swapsEvery(20_000, at("11:00:00"), at("14:00:00"));
      let closing: Answer | undefined;
      let made = 0;
      world.interfere = async (_asked, answer) => {
        const now = world.clock.now();
        if (now % 60_000 < 2_000 || closing === undefined) [closing, made] = [await answer(), now];
        const { headers, ...copy } = closing;
        const age = now > made ? String(Math.floor((now - made) / 1_000)) : null;
        return { ...copy, headers: { get: (name) => (name === "age" ? age : headers.get(name)) } };
      };
      const { statuses } = statusesOf(world, { ...MINUTES, every, settle: 500 });
      await world.clock.advanceTo(at("12:01:30"));
      const before = statuses.length;
      await world.clock.advanceTo(at("12:05:30"));
      expect(new Set(statuses.slice(before).map(({ state }) => state))).toEqual(new Set(["live"]));
    },
  );

  it("is stalled from when a due poll's slot has ended unanswered", async () => {
    const world = new World({ start: at("12:00:10"), client: { timeout: 60_000 } });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    const { statuses } = statusesOf(world, { ...MINUTES, every: 10_000 });
    await world.clock.advanceTo(at("12:01:05"));
    world.latency = 7_500;
    await world.clock.advanceTo(at("12:01:30"));
    expect(statuses.slice(-2)).toMatchObject([
      { state: "stalled", failures: 0, when: at("12:01:20") },
      { state: "live", when: at("12:01:25") },
    ]);
    expect(statuses.at(-2)).not.toHaveProperty("lastError");
  });

  it.each([265, 1_000, "close"] as const)(
    "is stalled no sooner than two seconds after a due poll, as whole seconds tell the time: every %s",
    async (every) => {
      const world = new World({ start: at("12:00:10"), hasDate: true, client: { timeout: 60_000 } });
      world.swapsEvery(1_000, at("11:00:00"), at("14:00:00"));
      const { statuses } = statusesOf(world, { ...MINUTES, timeframe: "1s", every });
      await world.clock.advanceTo(at("12:00:30"));
      world.latency = 550;
      await world.clock.advanceTo(at("12:01:00"));
      expect(statuses.map(({ state }) => state)).not.toContain("stalled");
      world.latency = 100_000;
      await world.clock.advanceTo(at("12:01:05"));
      const stalled = statuses.find(({ state }) => state === "stalled")!.when;
      expect(stalled).toBeGreaterThan(at("12:01:00"));
      expect(stalled).toBeLessThanOrEqual(at("12:01:04"));
    },
  );

  it.each([0, -86_400_000, 86_400_000])(
    "is stalled as late where its first look is asked for again, and the service's clock is %i ms ahead",
    async (offset) => {
      const world = new World({ start: at("12:00:10"), offset, hasDate: true, client: { timeout: 60_000 } });
      world.swapsEvery(1_000, at("11:00:00") + offset, at("12:05:00") + offset);
      // A row that breaks is asked for again, a second later.
      world.interfere = (_, answer) =>
        withRows(answer, (rows) => rows.map((row, index) => (index === 1 ? { ...row, close: null } : row)));
      const { statuses } = statusesOf(world, { ...MINUTES, timeframe: "10s", every: 1_000 });
      await world.clock.advanceTo(at("12:00:10.9"));
      world.latency = 100_000;
      await world.clock.advanceTo(at("12:00:20"));
      const stalled = statuses.find(({ state }) => state === "stalled")?.when;
      expect(stalled).toBeGreaterThanOrEqual(at("12:00:12"));
      expect(stalled).toBeLessThanOrEqual(at("12:00:14"));
    },
  );

  it("is starting until the history is there, which it reads once with the stream, or else alone", async () => {
    const since = at("09:00:00");
    const both = new World({ start: at("12:00:10") });
    const alone = new World({ start: at("12:00:10") });
    for (const world of [both, alone]) world.swapsEvery(1_000, at("08:00:00"), at("12:10:00"));
    const options = { ...MINUTES, timeframe: "1s", since } as const;
    const shared = statusesOf(both, options);
    watchCandles(both.client, options).subscribe();
    const own = statusesOf(alone, options);
    await both.clock.advanceTo(at("12:00:20"));
    await alone.clock.advanceTo(at("12:00:20"));
    expect(both.asked.length).toBe(alone.asked.length);
    for (const { statuses } of [shared, own]) {
      const live = statuses.findIndex(({ state }) => state === "live");
      expect(statuses.slice(0, live).every(({ state }) => state === "starting")).toBe(true);
      expect(statuses[live]!.when).toBeGreaterThan(at("12:00:10") + 10 * 40);
      expect(statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: since });
    }
  });

  it("reads the history on its own when the stream that read it leaves", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(1_000, at("08:00:00"), at("12:10:00"));
    const options = { ...MINUTES, timeframe: "1s", since: at("09:00:00") } as const;
    const { statuses } = statusesOf(world, options);
    const candles = watchCandles(world.client, options).subscribe();
    await world.clock.advanceTo(at("12:00:10.300"));
    candles.unsubscribe();
    await world.clock.advanceTo(at("12:00:20"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: at("09:00:00") });
  });

  it.each([{ candles: 2 }, { candles: 9 }, at("11:58:30"), at("12:30:00")])(
    "covers nothing before where the candles begin, although the poll does: %j",
    async (since) => {
      const world = new World({ start: at("12:00:10") });
      world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
      const options = { ...MINUTES, revisionWindow: 5 };
      const subscription = watchCandles(world.client, options).subscribe();
      await world.clock.advanceTo(at("12:10:30"));
      for (const start of [at("12:10:30"), at("12:20:30")]) {
        const first: number[] = [];
        const { statuses, subscription: status } = statusesOf(world, { ...options, since });
        status.add(
          watchCandles(world.client, { ...options, since }).subscribe(({ candle }) => {
            first.push(candle.timestamp);
          }),
        );
        await world.clock.advanceTo(start + 9 * 60_000);
        const { coveredFrom, coveredUntil } = statuses.at(-1)!;
        expect(coveredFrom).toBe(Math.min(...first, coveredUntil!));
        status.unsubscribe();
      }
      subscription.unsubscribe();
    },
  );

  it("tells of snipers too", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swap(at("11:00:00"), 1);
    const { statuses } = statusesOf(world, { pairAddress: PAIR });
    watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
    await world.clock.advanceTo(at("12:01:20"));
    expect(world.asked).toHaveLength(2);
    expect(statuses).toMatchObject([
      { state: "starting" },
      { state: "live", coveredUntil: at("12:00:10") },
      { state: "live", coveredUntil: at("12:01:10") },
    ]);
    world.interfere = () => Promise.reject(new Error("down"));
    await world.clock.advanceTo(at("12:02:20"));
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", failures: 1, coveredUntil: at("12:01:10") });
  });

  it.each([
    ["10s", 45_000, 10_000],
    ["1min", 45_000, 10_000],
    ["1min", 150_000, "close"],
    ["1s", 8_000, "close"],
  ] as const)(
    "is live no longer than for a poll after what it lacks has settled: %s candles behind a cache that keeps %i ms",
    async (timeframe, keeps, every) => {
      const world = new World({ start: at("12:00:11"), hasDate: true });
      const interval = { "1s": 1_000, "10s": 10_000, "1min": 60_000 }[timeframe];
      world.swapsEvery(interval / 2, at("11:30:00"), at("13:00:00"));
      let kept: { served: Answer; at: number } | undefined;
      world.interfere = async (_, answer) => {
        const now = world.clock.now();
        if (kept === undefined || now - kept.at >= keeps) kept = { served: await answer(), at: now };
        const { served } = kept;
        const age = String(Math.floor((now - kept.at) / 1_000));
        return { ...served, headers: { get: (name) => (name === "age" ? age : served.headers.get(name)) } };
      };
      const { statuses } = statusesOf(world, { ...MINUTES, timeframe, every });
      const patience = (every === "close" ? interval : every) + 3_000;
      const states = new Set<string>();
      while (world.clock.now() < at("12:12:00")) {
        await world.clock.advanceBy(500);
        const { state, coveredUntil = 0 } = statuses.at(-1)!;
        states.add(state);
        const settled = Math.floor((world.clock.now() - 1_000 - patience) / interval) * interval;
        if (state === "live") expect(coveredUntil).toBeGreaterThanOrEqual(settled);
      }
      expect([...states]).toEqual(expect.arrayContaining(["live", "stalled"]));
    },
  );
});
