import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TIMEFRAMES } from "../../src/contract/model.js";
import {
  candleSchedule,
  nextSlot,
  plainPace,
  type Schedule,
  steadySchedule,
} from "../../src/poll/schedule.js";
import { intervalsOf } from "../../src/timeframe.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400 * SECOND;
const START = Date.UTC(2024, 0, 1, 12);

/** The slots that follow one another, each counted from the one before: kind and seconds after `from`. */
function slots(schedule: Schedule, count: number, from = START): string[] {
  let at = from;
  return Array.from({ length: count }, () => {
    const slot = nextSlot(schedule, at, at);
    at = slot.at;
    return `${slot.kind} ${(at - from) / SECOND}`;
  });
}

const minutes = (every: number | "close", settle: number) =>
  candleSchedule(intervalsOf("1min"), every, settle);

describe("the polls of a candle", () => {
  it("come every so often from the start of its interval, and once after its end", () => {
    expect(slots(minutes(20 * SECOND, SECOND), 6)).toEqual([
      "close 1",
      "refresh 20",
      "refresh 40",
      "close 61",
      "refresh 80",
      "refresh 100",
    ]);
  });

  it("count anew in each interval where the pace does not divide it", () => {
    expect(slots(minutes(25 * SECOND, 0), 6)).toEqual([
      "refresh 25",
      "refresh 50",
      "close 60",
      "refresh 85",
      "refresh 110",
      "close 120",
    ]);
  });

  it.each(["close" as const, MINUTE, 7 * MINUTE])("come at its end only, at a pace of %s", (every) => {
    const schedule = minutes(every, SECOND);
    expect(slots(schedule, 4)).toEqual(["close 1", "close 61", "close 121", "close 181"]);
    expect(schedule).toMatchObject({ closeEvery: MINUTE, refreshEvery: Number.POSITIVE_INFINITY });
  });

  it("are ever later, at a pace of fractions of a ms too", () => {
    const pace = fc.double({ min: 250, max: 10 * MINUTE, noNaN: true });
    fc.assert(
      fc.property(pace, fc.nat(500), (every, skipped) => {
        const schedules = [candleSchedule(intervalsOf("1h"), every, SECOND), steadySchedule(every, START)];
        for (const { nextRefresh } of schedules) {
          let at = START + Math.floor(skipped * every);
          for (let count = 0; count < 20; count += 1) {
            const next = nextRefresh(at);
            expect(next).toBeGreaterThan(at);
            at = next;
          }
        }
      }),
      { examples: [[333.3, 0]] },
    );
  });

  it("close one interval while a later one runs where settling takes longer than it", () => {
    expect(slots(minutes(40 * SECOND, 90 * SECOND), 5)).toEqual([
      "close 30",
      "refresh 40",
      "close 90",
      "refresh 100",
      "close 150",
    ]);
  });

  it("are one poll where both are due", () => {
    expect(slots(minutes(30 * SECOND, 30 * SECOND), 3)).toEqual(["close 30", "close 90", "close 150"]);
  });

  it("wait for what is proven to be closed, and go on refreshing meanwhile", () => {
    const schedule = minutes(20 * SECOND, SECOND);
    const unproven = nextSlot(schedule, START + 60 * SECOND, START + 61 * SECOND);
    expect(unproven).toEqual({ at: START + 61 * SECOND, kind: "close" });
    const proven = nextSlot(schedule, START + 61 * SECOND, START + 61 * SECOND);
    expect(proven).toEqual({ at: START + 80 * SECOND, kind: "refresh" });
  });

  it("follow the calendar in months", () => {
    const schedule = candleSchedule(intervalsOf("1M"), 20 * DAY, SECOND);
    expect(slots(schedule, 4, Date.UTC(2024, 1, 1) + SECOND).map((slot) => slot.split(" ")[0])).toEqual([
      "refresh",
      "close",
      "refresh",
      "close",
    ]);
    expect(schedule.nextClose(Date.UTC(2024, 1, 10))).toBe(Date.UTC(2024, 2, 1) + SECOND);
    expect(schedule.nextRefresh(Date.UTC(2024, 1, 25))).toBe(Date.UTC(2024, 2, 21));
    // A pace that only longer months have room for has no length of its own, and still polls in those.
    const rare = candleSchedule(intervalsOf("1M"), 30 * DAY, SECOND);
    expect(rare.refreshEvery).toBe(Number.POSITIVE_INFINITY);
    expect(slots(rare, 4, Date.UTC(2024, 0, 1) + SECOND)).toEqual([
      `refresh ${30 * 86_400 - 1}`,
      `close ${31 * 86_400}`,
      `close ${60 * 86_400}`,
      `refresh ${90 * 86_400 - 1}`,
    ]);
    const february = { at: Date.UTC(2024, 1, 1) + SECOND, kind: "close" };
    const closings = { refresh: Number.POSITIVE_INFINITY, close: 1 };
    expect(nextSlot(schedule, Date.UTC(2024, 0, 2), Date.UTC(2024, 0, 2), closings)).toEqual(february);
  });

  it("are fewer where a quota stretches them, and none where it leaves none", () => {
    const schedule = minutes(20 * SECOND, SECOND);
    const at = START + SECOND;
    const closing = { at: START + 61 * SECOND, kind: "close" };
    expect(nextSlot(schedule, at, at, { refresh: 2, close: 1 })).toEqual({
      at: START + 40 * SECOND,
      kind: "refresh",
    });
    expect(nextSlot(schedule, at, at, { refresh: Number.POSITIVE_INFINITY, close: 1 })).toEqual(closing);
    expect(nextSlot(schedule, at, at, { refresh: Number.POSITIVE_INFINITY, close: 3 }).at).toBe(
      START + 181 * SECOND,
    );
    expect(
      nextSlot(schedule, at, at, { refresh: Number.POSITIVE_INFINITY, close: Number.POSITIVE_INFINITY }).at,
    ).toBe(Number.POSITIVE_INFINITY);
  });
});

it.each([
  ["15 s", "1min", 15 * SECOND, 15 * SECOND],
  ["20 s", "1min", 20 * SECOND, 40 * SECOND],
  ["29 s", "1min", 29 * SECOND, 58 * SECOND],
  ["30 s", "1min", 30 * SECOND, "close"],
  ["20 days, in months of different lengths,", "1M", 20 * DAY, 20 * DAY],
] as const)(
  "a pace of %s whose first poll is the closing is as plain as it can be",
  (_, timeframe, every, plain) => {
    expect(plainPace(intervalsOf(timeframe), every, every)).toBe(plain);
  },
);

describe("a steady pace", () => {
  it("counts from its first poll and never closes anything", () => {
    expect(slots(steadySchedule(25 * SECOND, START + 10 * SECOND), 3)).toEqual([
      "refresh 10",
      "refresh 35",
      "refresh 60",
    ]);
    const schedule = steadySchedule(25 * SECOND, START);
    const closings = { refresh: Number.POSITIVE_INFINITY, close: 1 };
    expect(nextSlot(schedule, START, START, closings).at).toBe(Number.POSITIVE_INFINITY);
    expect(schedule.nextClose(START)).toBe(Number.POSITIVE_INFINITY);
  });
});

const timeframe = fc.constantFrom(...TIMEFRAMES);
const instant = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2030, 0, 1) });
const settle = fc.oneof(fc.constantFrom(0, 1, SECOND, 90 * SECOND), fc.nat(40 * DAY));

it("closes at the first settled end after an instant", () => {
  fc.assert(
    fc.property(timeframe, settle, instant, fc.boolean(), (name, wait, some, isOnSlot) => {
      const intervals = intervalsOf(name);
      const { nextClose } = candleSchedule(intervals, "close", wait);
      const after = isOnSlot ? nextClose(some) : some;
      const close = nextClose(after);
      const end = close - wait;
      expect(intervals.start(end)).toBe(end);
      expect(close).toBeGreaterThan(after);
      expect(intervals.shift(end, -1) + wait).toBeLessThanOrEqual(after);
    }),
  );
});

it("refreshes inside intervals only, a whole number of paces from the start, at the first chance", () => {
  fc.assert(
    fc.property(
      timeframe,
      fc.oneof(fc.constant(1), fc.double({ min: 0.001, max: 1.2, noNaN: true })),
      instant,
      (name, share, some) => {
        const intervals = intervalsOf(name);
        const every = Math.max(250, Math.round(share * intervals.shortest));
        const { nextRefresh, refreshEvery } = candleSchedule(intervals, every, SECOND);
        expect(refreshEvery).toBe(every < intervals.shortest ? every : Number.POSITIVE_INFINITY);
        let after = some;
        for (let step = 0; step < 3; step += 1) {
          const next = nextRefresh(after);
          if (every >= intervals.shortest) {
            // Where months differ, a pace may fit into the longer ones alone.
            if (name !== "1M") expect(next).toBe(Number.POSITIVE_INFINITY);
            return;
          }
          const start = intervals.start(next);
          expect(next).toBeGreaterThan(after);
          expect(next).toBeGreaterThan(start);
          expect((next - start) % every).toBe(0);
          const isFirst = next - every <= after || next === start + every;
          expect(isFirst).toBe(true);
          // Nothing was left out in the interval before.
          if (start > after)
            expect(
              intervals.start(after) + nextMultiple(after - intervals.start(after), every),
            ).toBeGreaterThanOrEqual(start);
          expect(start).toBeLessThanOrEqual(intervals.end(after));
          after = next;
        }
      },
    ),
  );
});

function nextMultiple(of: number, every: number): number {
  return (Math.floor(of / every) + 1) * every;
}

it("leads from slot to slot without standing still, and past no end", () => {
  fc.assert(
    fc.property(
      timeframe,
      settle,
      fc.double({ min: 0.05, max: 1.2, noNaN: true }),
      instant,
      (name, wait, share, from) => {
        const intervals = intervalsOf(name);
        const every = Math.max(250, Math.round(share * intervals.shortest));
        const schedule = candleSchedule(intervals, every, wait);
        let at = from;
        for (let step = 0; step < 30; step += 1) {
          const slot = nextSlot(schedule, at, at);
          expect(slot.at).toBeGreaterThan(at);
          expect(slot.at).toBeLessThanOrEqual(schedule.nextClose(at));
          expect(slot.at).toBeLessThanOrEqual(schedule.nextRefresh(at));
          if (slot.kind === "close") expect(slot.at).toBe(schedule.nextClose(at));
          at = slot.at;
        }
      },
    ),
  );
});
