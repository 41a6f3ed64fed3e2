import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateCost, type Series, type WatchOptions } from "../src/index.js";
import { candleSchedule, nextSlot } from "../src/poll/schedule.js";
import { intervalsOf } from "../src/timeframe.js";
import {
  candleWatch,
  DAY,
  expectEstimated,
  expectSpent,
  framesBetween,
  HOUR,
  MINUTE,
  optional,
  run,
  SECOND,
  SNIPERS,
  type Subscription,
  total,
  worldAt,
} from "./sent-by-client.js";
import { at, MINUTES, PAIR, World } from "./world.js";

const daily = (...subscriptions: Subscription[]) => estimateCost(subscriptions).requests;

describe("a day of polls", () => {
  it.each<[number, Partial<Series & WatchOptions>]>([
    [1_440, {}],
    [1_440, { every: "close" }],
    [1_440, { every: 7 * MINUTE }],
    [4_320, { every: 20 * SECOND }],
    [4_320, { every: 25 * SECOND }],
    [8_640, { timeframe: "10s" }],
    [86_400, { timeframe: "1s" }],
    [345_600, { timeframe: "1s", every: 250 }],
    [24, { timeframe: "1h", every: "close" }],
    [1_440, { timeframe: "1h" }],
    [1_440 - 24, { timeframe: "1h", settle: MINUTE }],
    [1_440, { timeframe: "1d" }],
    [1 / 7, { timeframe: "1w", every: "close" }],
    [5 / 7, { timeframe: "1w", every: 1.5 * DAY }],
    [4_800 / 146_097, { timeframe: "1M", every: "close" }],
  ])("takes %d requests with %j", (requests, options) => {
    const estimate = estimateCost([{ ...MINUTES, ...options }]);
    expect(estimate.requests).toBeCloseTo(requests, 9);
    expect(estimate.units).toBeCloseTo(150 * requests, 9);
    expect(estimate.initial).toEqual({ requests: 1, units: 150 });
  });

  it("takes a third of the units for snipers", () => {
    expect(estimateCost([SNIPERS])).toEqual({
      requests: 1_440,
      units: 72_000,
      initial: { requests: 1, units: 50 },
    });
  });

  it("costs nothing without subscriptions", () => {
    const nothing = { requests: 0, units: 0 };
    expect(estimateCost([])).toEqual({ ...nothing, initial: nothing });
  });
});

describe("a poll", () => {
  it("is counted once for all who share it", () => {
    const estimate = estimateCost([
      { ...MINUTES },
      { ...MINUTES, fillGaps: true },
      { ...MINUTES, every: MINUTE, settle: SECOND, revisionWindow: 2, weekStart: "monday" },
      { ...MINUTES, every: "close", weekStart: "thursday" },
      SNIPERS,
      { ...SNIPERS, every: MINUTE },
    ]);
    expect(estimate).toEqual({
      requests: 2_880,
      units: 1_440 * 200,
      initial: { requests: 2, units: 200 },
    });
  });

  it.each<Subscription>([
    { ...MINUTES, settle: 2 * SECOND },
    { ...MINUTES, revisionWindow: 3 },
    { ...MINUTES, currency: "native" },
    { ...MINUTES, network: "devnet" },
    { ...MINUTES, pairAddress: "another" },
  ])("is another one for %j", (other) => {
    expect(daily(MINUTES, other)).toBe(2_880);
  });

  it("is another one for weeks that begin on another day", () => {
    const weeks: Subscription = { ...MINUTES, timeframe: "1w", every: "close" };
    expect(daily(weeks, { ...weeks, weekStart: "thursday" })).toBeCloseTo(2 / 7, 9);
  });

  it("is another one for other snipers", () => {
    const [wide, other] = [{ ...SNIPERS, blocksAfterCreation: 9 }, { pairAddress: "another" }];
    expect(daily(SNIPERS, wide, other, { ...SNIPERS, every: 2 * MINUTE })).toBe(3.5 * 1_440);
  });
});

describe("a history", () => {
  const pages = (since: WatchOptions["since"], more: Partial<Series & WatchOptions> = {}) =>
    estimateCost([{ ...MINUTES, ...more, ...(since === undefined ? {} : { since }) }], {
      at: at("12:00:30"),
    }).initial.requests - (since === undefined ? 1 : 3);

  it("takes a page for what fits one, counted from the candles that the poll reads", () => {
    expect(pages({ candles: 2 })).toBe(0);
    expect(pages({ candles: 3 })).toBe(1);
    expect(pages({ candles: 994 })).toBe(1);
    expect(pages({ candles: 995 })).toBe(2);
    expect(pages({ candles: 994 }, { revisionWindow: 0 })).toBe(2);
    expect(pages({ candles: 100_000 })).toBe(101);
  });

  it("reaches back to an instant from when it begins", () => {
    expect(pages(at("11:58:30"))).toBe(-2);
    expect(pages(at("11:57:59"))).toBe(1);
    expect(pages("2024-01-04")).toBe(3);
    expect(pages("2024-01-04", { timeframe: "1h" })).toBe(1);
    // What lies within the window needs no confirmation.
    expect(pages("2030-01-01")).toBe(-2);
  });

  it("is each subscriber's own", () => {
    const subscription = { ...MINUTES, since: { candles: 500 } };
    expect(estimateCost([subscription, subscription]).initial).toEqual({
      requests: 6,
      units: 5 * 150 + 50,
    });
    const devnet = { ...subscription, network: "devnet" as const };
    expect(estimateCost([subscription, devnet, devnet]).initial.units).toBe(8 * 150 + 50);
  });

  it("begins now where nothing else is said", () => {
    const since = new Date(Date.now() - 2 * HOUR);
    expect(estimateCost([{ ...MINUTES, since }]).initial.requests).toBe(4);
  });
});

describe("what cannot be estimated", () => {
  it.each<[string, unknown, unknown?]>([
    ["every", [{ ...MINUTES, every: 100 }]],
    ["every", [{ pairAddress: PAIR, every: 100 }]],
    ["settle", [{ ...MINUTES, settle: -1 }]],
    ["timeframe", [{ pairAddress: PAIR, network: "mainnet", currency: "usd" }]],
    ["pairAddress", [SNIPERS, {}]],
    ["series", [null]],
    ["subscriptions", MINUTES],
    ["subscriptions", undefined],
    ["subscriptions", "text"],
    ["at", [], { at: "noon" }],
  ])("is refused for its %s", (parameter, subscriptions, options) => {
    const call = () => estimateCost(subscriptions as Subscription[], options as { at: string });
    expect(call).toThrow(expect.objectContaining({ name: "InvalidInputError", parameter }));
  });
});

it("is frozen", () => {
  const estimate = estimateCost([MINUTES]);
  expect([estimate, estimate.initial].every(Object.isFrozen)).toBe(true);
});

describe("what a client sends", () => {
  // cost.long.test.ts takes longer spans.
  it("in twenty minutes is the estimate", async () => {
    const candles = candleWatch(framesBetween(SECOND, 10 * SECOND), 2 * SECOND);
    await expectEstimated(["twenty minutes", 20 * MINUTE, candles, 3]);
  });

  it.each<[string, Subscription[]]>([
    [
      "the end of an interval falls on a poll within the next",
      [{ ...MINUTES, timeframe: "1h", settle: MINUTE }],
    ],
    ["settling takes longer than an interval", [{ ...MINUTES, every: 20 * SECOND, settle: 100 * SECOND }]],
    ["snipers differ in their blocks", [SNIPERS, { ...SNIPERS, blocksAfterCreation: 3 }]],
    ["a week begins on another day", [MINUTES, { ...MINUTES, weekStart: "thursday" }]],
  ])("is the estimate where %s", async (_, set) => {
    const { later } = await run(worldAt(at("12:00:10"), 20), set, HOUR);
    expectSpent(later, set, HOUR / DAY);
  });

  describe("when streams begin", () => {
    const start = at("12:00:05");
    const CONFIRMED = 200;
    const since = fc.oneof(
      fc.record({ candles: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 3_500 })) }),
      fc.integer({ min: start - 2 * DAY, max: start }),
    );
    const histories = fc.array(optional(since), { minLength: 1, maxLength: 3 });
    const network = fc.constantFrom("mainnet" as const, "devnet" as const);

    /** What is told of a start, and what it takes of a pair that trades every minute from `first` on. */
    async function spent(world: World, set: readonly Subscription[], first: number) {
      world.swapsEvery(MINUTE, first, start + MINUTE);
      const { initial, later } = await run(world, set, 40 * SECOND);
      return { told: estimateCost(set, { at: start }).initial.units, units: initial.units + later.units };
    }
    const setOf = (sinces: readonly WatchOptions["since"][], on: Series["network"], hasSnipers: boolean) => [
      ...sinces.map((one) => ({
        ...MINUTES,
        network: on,
        every: "close" as const,
        ...(one === undefined ? {} : { since: one }),
      })),
      ...(hasSnipers ? [SNIPERS] : []),
    ];

    it("is what is told, or a confirmation less for each history, of a pair that is older than these", async () => {
      await fc.assert(
        fc.asyncProperty(histories, network, fc.boolean(), async (sinces, on, hasSnipers) => {
          const world = new World({ start, client: { rateLimit: false } });
          const set = setOf(sinces, on, hasSnipers);
          const { told, units } = await spent(world, set, start - 4 * DAY);
          expect(units).toBeLessThanOrEqual(told);
          const count = sinces.filter((one) => one !== undefined).length;
          expect(told - units).toBeLessThanOrEqual(CONFIRMED * count);
        }),
        { numRuns: 15 },
      );
    });

    it("is at most a page more than is told of a pair that is younger than its history, or silent at first", async () => {
      const age = fc.oneof(fc.integer({ min: 0, max: HOUR }), fc.integer({ min: 0, max: 3 * DAY }));
      const silence = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 * DAY }));
      await fc.assert(
        fc.asyncProperty(histories, age, silence, fc.boolean(), async (sinces, old, silent, hasSnipers) => {
          const first = start - old;
          const world = new World({ start, createdAt: first - silent, client: { rateLimit: false } });
          const { told, units } = await spent(world, setOf(sinces, "mainnet", hasSnipers), first);
          // Behind a silence the next range is longer than a page.
          const begins = sinces.filter((one) => typeof one === "number" && one < first).length;
          expect(units).toBeLessThanOrEqual(told + 150 * begins);
        }),
        { numRuns: 25, examples: [[[start - 172_265_000], 141_245_001, 0, false]] },
      );
    });

    it("is at most so much more of a sparse or silent pair as the budget's page says", async () => {
      for (const [every, end, most] of [
        [10 * MINUTE, start, 3],
        [6 * HOUR, start, 4],
        [MINUTE, start - DAY, 15],
      ] as const) {
        for (const one of [undefined, { candles: 2 }, { candles: 500 }, start - 2 * DAY]) {
          const world = new World({ start, createdAt: start - 30 * DAY, client: { rateLimit: false } });
          world.swapsEvery(every, start - 30 * DAY, end);
          const set = setOf([one], "mainnet", false);
          const { initial, later } = await run(world, set, 40 * SECOND);
          const { requests } = estimateCost(set, { at: start }).initial;
          expect(total(initial).requests + total(later).requests).toBeLessThanOrEqual(requests + most);
        }
      }
    });
  });
});

it("counts the polls of a month over the calendar", () => {
  const [begin, end] = [Date.UTC(2000, 0, 1), Date.UTC(2400, 0, 1)];
  const intervals = intervalsOf("1M");
  for (const every of ["close" as const, DAY, 4.3 * DAY, 28 * DAY, 29 * DAY, 30 * DAY]) {
    const schedule = candleSchedule(intervals, every, HOUR);
    let polls = 0;
    for (let slot = nextSlot(schedule, begin, begin); slot.at <= end; polls += 1) {
      slot = nextSlot(schedule, slot.at, slot.at);
    }
    const estimate = daily({ ...MINUTES, timeframe: "1M", every, settle: HOUR });
    expect(estimate * ((end - begin) / DAY)).toBeCloseTo(polls, 6);
  }
});
