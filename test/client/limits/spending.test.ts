import { describe, expect, it } from "vitest";
import {
  type ClientActivity,
  estimateCost,
  type FeedStatus,
  QuotaExceededError,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../../src/index.js";
import { answered, at, MINUTES, PAIR, World } from "../../world.js";

const HOUR = 3_600_000;

describe("a client's quota", () => {
  it("counts a request that is under way when a period begins for that one, too", async () => {
    const client = { quota: { units: 450, per: HOUR }, retry: false } as const;
    const world = new World({ start: at("11:59:55"), client });
    const page = () =>
      world.client.ohlcvPage({ ...MINUTES, fromDate: at("11:00:00"), toDate: at("11:30:00") }).then(
        () => "answered",
        ({ name }: Error) => name,
      );
    world.latency = 4_000;
    const first = page();
    await world.clock.advanceTo(at("12:00:01"));
    world.latency = 20;
    const later = [page(), page(), page()];
    await world.clock.advanceTo(at("12:00:10"));
    expect(await Promise.all([first, ...later])).toEqual([
      "answered",
      "answered",
      "answered",
      "QuotaExceededError",
    ]);
  });

  /** A watch of minutes for three hours on so many calls an hour, and what it cost in each of them. */
  async function watched(calls: number) {
    const world = new World({
      start: at("11:59:50"),
      client: { quota: { units: 150 * calls, per: HOUR } },
    });
    world.swapsEvery(60_000, at("11:00:00"), at("16:00:00"));
    const statuses: FeedStatus[] = [];
    const options = { ...MINUTES, every: 10_000 };
    const closed: number[] = [];
    watchCandles(world.client, options).subscribe(({ status, candle }) => {
      if (status === "closed") closed.push(world.clock.now() - candle.timestamp - 60_000);
    });
    watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
    await world.clock.advanceTo(at("14:59:50"));
    const hours = ["12:00:00", "13:00:00", "14:00:00"].map((hour) =>
      world.asked.map(({ sent }) => sent).filter((sent) => sent >= at(hour) && sent < at(hour) + HOUR),
    );
    const quotas = world.activity.filter(
      (told): told is ClientActivity & { type: "quota" } => told.type === "quota",
    );
    return { world, statuses, hours, closed, quotas };
  }

  it("is spread over the period: no closing is late while there is enough for them", async () => {
    const { statuses, hours, closed, quotas } = await watched(100);
    for (const hour of hours) {
      expect(hour.length).toBeLessThanOrEqual(100);
      expect(hour.length).toBeGreaterThan(90);
      const inSecondHalf = hour.filter((sent) => sent % HOUR >= HOUR / 2).length;
      expect(inSecondHalf).toBeGreaterThan(40);
    }
    expect(closed.length).toBeGreaterThan(175);
    for (const late of closed) expect(late).toBeLessThanOrEqual(1_100);
    expect(statuses.every(({ state }) => state !== "stalled")).toBe(true);
    expect(quotas[0]).toMatchObject({ units: 15_000, close: 1, resetsAt: at("12:00:00") + HOUR });
    expect(quotas[0]!.refresh).toBeGreaterThan(1);
  });

  it.each(["close", 10_000, 25_000, 60_000] as const)(
    "does for all polls where it is what the estimate says, every %s",
    async (every) => {
      const options = { ...MINUTES, every };
      const snipers = { pairAddress: PAIR, every: 300_000 };
      const units = estimateCost([options, snipers]).units / 24;
      const warned: string[] = [];
      const client = { quota: { units, per: HOUR }, warn: (text: string) => warned.push(text) };
      const world = new World({ start: at("11:59:50"), client });
      world.swapsEvery(60_000, at("11:00:00"), at("16:00:00"));
      const late: number[] = [];
      watchCandles(world.client, options).subscribe(({ status, lateBy }) => {
        if (status === "closed") late.push(lateBy);
      });
      watchSnipers(world.client, snipers).subscribe();
      await world.clock.advanceTo(at("14:59:59"));
      const inThird = world.asked.filter(({ sent }) => sent >= at("14:00:00"));
      expect(inThird.length).toBe(estimateCost([options, snipers]).requests / 24);
      expect(late.length).toBe(180);
      expect(Math.max(...late)).toBeLessThan(100);
      expect(warned.filter((text) => text.includes("come late"))).toEqual([]);
      const stretched = world.activity.filter((told) => told.type === "quota" && told.spent < units);
      expect(stretched.every((told) => told.type === "quota" && told.close === 1 && told.refresh === 1)).toBe(
        true,
      );
    },
  );

  it("leaves out closings evenly where it is too small for all, which is no stall", async () => {
    const { statuses, hours, quotas } = await watched(20);
    for (const hour of hours) {
      expect(hour.length).toBeLessThanOrEqual(20);
      expect(hour.length).toBeGreaterThanOrEqual(18);
      const gaps = hour.slice(1).map((sent, index) => sent - hour[index]!);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(5 * 60_000);
    }
    expect(statuses.every(({ state }) => state !== "stalled")).toBe(true);
    expect(quotas.some(({ close, refresh }) => close > 1 && refresh === Number.POSITIVE_INFINITY)).toBe(true);
  });

  it("refuses a direct call beyond it, unasked, until the next period", async () => {
    const world = new World({ start: at("12:30:00"), client: { quota: { units: 120, per: HOUR } } });
    world.swap(at("12:00:00"), 1);
    const call = () => world.client.sniperReport({ pairAddress: PAIR }).catch((error: unknown) => error);
    const first = call();
    const second = call();
    const third = call();
    await world.clock.advanceBy(1_000);
    expect([await first, await second]).toMatchObject([{ blockNumber: expect.any(Number) }, {}]);
    expect(await third).toBeInstanceOf(QuotaExceededError);
    expect(await third).toMatchObject({
      message:
        "A call costs 50 units, and 20 of the client's quota of 120 are left; the next period begins at 2024-01-05T13:00:00.000Z",
      resetsAt: at("13:00:00"),
    });
    expect(world.asked).toHaveLength(2);
    await world.clock.advanceTo(at("13:00:00"));
    const later = call();
    await world.clock.advanceBy(1_000);
    expect(await later).toMatchObject({ blockNumber: expect.any(Number) });
  });

  it("says of a call that costs more than all of it what it costs, and not that it is spent", async () => {
    const world = new World({ start: at("12:30:00"), client: { quota: { units: 120, per: HOUR } } });
    const error = await world.client
      .ohlcvPage({ ...MINUTES, fromDate: at("11:00:00"), toDate: at("11:30:00") })
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(QuotaExceededError);
    expect(error).toMatchObject({
      message:
        "A call costs 150 units, and 120 of the client's quota of 120 are left; allowed: quota.units of at least 150",
      resetsAt: undefined,
    });
    expect(world.asked).toHaveLength(0);
  });

  it("remembers what was spent before the service's clock was known", async () => {
    const quota = { units: 120, per: HOUR };
    const world = new World({
      start: at("12:30:00"),
      offset: -9 * HOUR - 60_000,
      hasDate: true,
      client: { quota },
    });
    world.swap(at("01:00:00"), 1);
    const calls = [1, 2, 3].map(() => world.client.sniperReport({ pairAddress: PAIR }));
    const outcomes = Promise.allSettled(calls);
    await world.clock.advanceBy(1_000);
    expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    const later = world.client.sniperReport({ pairAddress: PAIR }).catch((error: unknown) => error);
    await world.clock.advanceBy(1_000);
    expect(await later).toBeInstanceOf(QuotaExceededError);
  });

  it("counts what the service says that calls cost, failed ones too", async () => {
    const world = new World({
      start: at("12:30:00"),
      client: { quota: { units: 120, per: HOUR }, retry: false },
    });
    world.interfere = () => answered(500, "", { "x-request-weight": "60" });
    const call = () => world.client.sniperReport({ pairAddress: PAIR }).catch((error: unknown) => error);
    const outcomes = [];
    for (let count = 0; count < 3; count++) {
      const outcome = call();
      await world.clock.advanceBy(1_000);
      outcomes.push(await outcome);
    }
    expect(outcomes.map((error) => (error as Error).name)).toEqual([
      "HttpError",
      "HttpError",
      "QuotaExceededError",
    ]);
  });

  it("is taken for spent when the service says so: one probe when the next period has surely begun", async () => {
    const { world, statuses } = await watched(100);
    const requests = world.asked.length;
    world.interfere = () => answered(401, { message: "total included usage has been consumed" });
    await world.clock.advanceTo(at("15:01:30"));
    world.interfere = () => undefined;
    const before = world.asked.length;
    expect(before - requests).toBeLessThanOrEqual(2);
    await world.clock.advanceTo(at("15:59:00"));
    expect(world.asked.length).toBe(before);
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", lastError: { name: "QuotaExceededError" } });
    // By a clock that is known to some hundred ms, a probe at the very instant would often come too early.
    await world.clock.advanceTo(at("16:00:09.900"));
    expect(world.asked.length).toBe(before);
    await world.clock.advanceTo(at("16:00:10.500"));
    expect(world.asked.length).toBe(before + 1);
    expect(statuses.at(-1)!.state).toBe("live");
  });

  it.each([
    ["units", { quota: { units: 1_950, per: 600_000 } }],
    ["requests, as the service counts them", { retry: { attempts: 2, maxDelay: 1_000 } }],
  ])("is a history's pause, not its end, where %s are spent: it asks on where it was", async (_, client) => {
    const world = new World({ start: at("12:00:10"), createdAt: at("23:00:00"), client });
    if (!("quota" in client)) {
      let answers = 0;
      world.interfere = () => {
        answers += 1;
        return answers % 10 === 0
          ? answered(429, { message: "slow down" }, { "retry-after": "4" })
          : undefined;
      };
    }
    const asked: string[] = [];
    world.client.activity.subscribe((activity) => {
      if (activity.type === "request" && activity.priority === "history") asked.push(activity.url);
    });
    const watch = { ...MINUTES, timeframe: "1h", every: "close", since: { candles: 1_340 } } as const;
    const subscription = watchCandles(world.client, watch).subscribe();
    await world.clock.advanceTo(at("14:00:00"));
    subscription.unsubscribe();
    const times = [...new Set(asked)].map((url) => asked.filter((other) => other === url).length);
    // A silence before a series is asked for twice by an attempt, and two attempts have met it.
    expect(Math.max(...times)).toBeLessThanOrEqual(4);
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.length).toBeLessThan(60);
  });

  it("does not end a history whose cursors are forgotten meanwhile", async () => {
    const world = new World({
      start: at("12:00:10"),
      quirks: { pageSize: 200 },
      client: { quota: { units: 1_050, per: 600_000 } },
    });
    const since = at("12:00:00") - 2_000 * HOUR;
    world.swapsEvery(HOUR, since, at("15:00:00"));
    const given = new Map<string, number>();
    world.interfere = async ({ url }, answer) => {
      const cursor = url.searchParams.get("cursor");
      const isOld = cursor !== null && world.clock.now() - given.get(cursor)! > 60_000;
      if (isOld) return answered(400, { message: "cursor is not known" });
      const served = await answer();
      const text = await served.text();
      const next: unknown = JSON.parse(text).cursor;
      if (typeof next === "string") given.set(next, world.clock.now());
      return { ...served, text: async () => text };
    };
    const seen = new Set<number>();
    const errors: unknown[] = [];
    const watch = { ...MINUTES, timeframe: "1h", every: "close", since } as const;
    watchCandles(world.client, watch).subscribe({
      next: ({ candle }) => seen.add(candle.timestamp),
      error: (error) => errors.push(error),
    });
    await world.clock.advanceTo(at("14:30:00"));
    expect(errors).toEqual([]);
    expect(world.asked.length).toBeGreaterThan(7);
    expect(seen.size).toBeGreaterThanOrEqual(2_000);
  });
});
