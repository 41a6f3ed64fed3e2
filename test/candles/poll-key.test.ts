import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkWatch } from "../../src/candles/options.js";
import { TIMEFRAMES, type Timeframe } from "../../src/contract/model.js";
import { estimateCost, type Series, type WatchOptions } from "../../src/index.js";
import { candleSchedule, nextSlot } from "../../src/poll/schedule.js";
import { intervalsOf } from "../../src/timeframe.js";
import { MINUTES } from "../world.js";

type Watch = Series & WatchOptions;

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const JANUARY = Date.UTC(2024, 0, 1);

/** When a watch polls, as its options say it: for two intervals and more, of months for as long as their lengths differ. */
function instants({ timeframe, every, settle = SECOND, weekStart }: Watch): number[] {
  const intervals = intervalsOf(timeframe, weekStart);
  const pace = every ?? Math.min(intervals.shortest, 60_000);
  const schedule = candleSchedule(intervals, pace, settle);
  const begin = intervals.start(JANUARY);
  const end = intervals.shift(begin, timeframe === "1M" ? 14 : 3);
  const polls: number[] = [];
  for (let { at } = nextSlot(schedule, begin, begin); at <= end; { at } = nextSlot(schedule, at, at))
    polls.push(at);
  return polls;
}

/** What a poll asks for, besides when. */
function asked({
  network,
  pairAddress,
  timeframe,
  currency,
  settle = SECOND,
  revisionWindow = 2,
  weekStart,
}: Watch) {
  const weeks = timeframe === "1w" ? weekStart : undefined;
  return [network, pairAddress, timeframe, currency, settle, revisionWindow, weeks ?? "monday"];
}

/** Paces and settles in parts of the timeframe, so that instants often coincide, and those that months tell apart. */
function watchesOf(timeframe: Timeframe): fc.Arbitrary<Watch> {
  const { shortest, longest } = intervalsOf(timeframe);
  const part = fc.constantFrom(
    ...[5, 10, 15, 20, 24, 25, 30, 40, 45, 50, 59, 60, 90, 600].map((x) => x / 60),
  );
  const parts = part.map((x) => x * shortest);
  const days = fc.constantFrom(28, 28.5, 29, 30, 30.5, 31, 31.5, 32, 60).map((x) => x * DAY);
  const paces = longest > shortest ? fc.oneof(parts, days) : parts;
  const longestSettle = Math.min(HOUR, 60 * shortest);
  return fc.record(
    {
      network: fc.constant("mainnet" as const),
      pairAddress: fc.constant(MINUTES.pairAddress),
      timeframe: fc.constant(timeframe),
      currency: fc.constantFrom("usd" as const, "usd" as const, "native" as const),
      every: fc.oneof(
        fc.constant("close" as const),
        paces.filter((every) => every >= Math.max(250, shortest / 12)),
      ),
      settle: fc.oneof(fc.constantFrom(0, SECOND), parts).filter((settle) => settle <= longestSettle),
      revisionWindow: fc.constantFrom(2, 2, 0),
      weekStart: fc.constantFrom("monday" as const, "thursday" as const),
      fillGaps: fc.boolean(),
      since: fc.constantFrom<NonNullable<WatchOptions["since"]>>(JANUARY, { candles: 10 }),
    },
    { requiredKeys: ["network", "pairAddress", "timeframe", "currency", "every"] },
  );
}

describe("two watches share a poll", () => {
  it.each(TIMEFRAMES)("of %s exactly where they ask the same at the same instants", (timeframe) => {
    const pair = fc.tuple(watchesOf(timeframe), watchesOf(timeframe)).chain(([one, other]) =>
      // Two drawn apart seldom agree in anything: often all but the pace is the same.
      fc.constantFrom([one, other] as const, [one, { ...one, every: other.every! }] as const),
    );
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const isSame = (read: (watch: Watch) => unknown) =>
          JSON.stringify(read(one)) === JSON.stringify(read(other));
        expect(checkWatch(one).pollKey === checkWatch(other).pollKey).toBe(isSame(asked) && isSame(instants));
      }),
      { numRuns: 200 },
    );
  });

  it.each<[string, Partial<Watch>[]]>([
    [
      "a pace of the whole interval or more is none",
      [{}, { every: 60_000 }, { every: 7 * 60_000 }, { every: "close" }],
    ],
    ["weeks begin on a day that the timeframe has not", [{ weekStart: "monday" }, { weekStart: "thursday" }]],
    [
      "the only poll between falls on the closing",
      [30_000, "close" as const].map((every) => ({ every, settle: 30_000 })),
    ],
    ["the first of two does", [25_000, 50_000].map((every) => ({ every, settle: 25_000 }))],
    [
      "a month is never that long",
      [31 * DAY, 40 * DAY, "close" as const].map((every) => ({ timeframe: "1M", every })),
    ],
  ])("where %s, and the estimate knows", async (_, options) => {
    const watches = options.map((more): Watch => ({ ...MINUTES, ...more }));
    expect(new Set(watches.map((watch) => checkWatch(watch).pollKey)).size).toBe(1);
    expect(estimateCost(watches)).toEqual(estimateCost(watches.slice(0, 1)));
  });

  it("not where only some months are that long", () => {
    const keys = [28 * DAY, 29 * DAY, 30 * DAY, 31 * DAY].map(
      (every) => checkWatch({ ...MINUTES, timeframe: "1M", every }).pollKey,
    );
    expect(new Set(keys).size).toBe(4);
  });
});
