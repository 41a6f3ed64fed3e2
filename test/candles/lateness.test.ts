import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CandleStatus } from "../../src/candles/event.js";
import { dueAt, isInTime, lateness } from "../../src/candles/lateness.js";
import { type CandleRules, settledUntil, windowStart } from "../../src/candles/rules.js";
import { TIMEFRAMES } from "../../src/contract/model.js";
import { intervalsOf } from "../../src/timeframe.js";

const MINUTE = 60_000;

const rules: fc.Arbitrary<CandleRules> = fc
  .record({
    timeframe: fc.constantFrom(...TIMEFRAMES),
    weekStart: fc.constantFrom("monday", "thursday"),
    settleIn: fc.constantFrom(0, 0.001, 0.3, 0.5, 1, 1.5, 7, 60),
    revisionWindow: fc.constantFrom(0, 1, 2, 3, 40),
  })
  .map(({ timeframe, weekStart, settleIn, revisionWindow }) => {
    const intervals = intervalsOf(timeframe, weekStart);
    const settle = Math.min(3_600_000, settleIn * intervals.shortest);
    return { intervals, settle, revisionWindow };
  });
const instant = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) });

describe("an event is due", () => {
  const minutes: CandleRules = { intervals: intervalsOf("1min"), settle: 1_000, revisionWindow: 2 };

  it.each<[CandleStatus, boolean, number]>([
    ["open", false, 6 * MINUTE],
    ["closed", true, 6 * MINUTE + 1_000],
    ["closed", false, 6 * MINUTE + 1_000],
    ["final", false, 8 * MINUTE + 1_000],
    ["final", true, 6 * MINUTE + 1_000],
  ])("%s (first close: %s) at %d", (status, isFirstClose, due) => {
    expect(dueAt(minutes, 5 * MINUTE, status, isFirstClose)).toBe(due);
  });

  it("by the calendar where months and weeks are watched", () => {
    const months: CandleRules = { intervals: intervalsOf("1M"), settle: 1_000, revisionWindow: 1 };
    const february = Date.UTC(2024, 1, 1);
    expect(dueAt(months, february, "closed", true)).toBe(Date.UTC(2024, 2, 1) + 1_000);
    expect(dueAt(months, february, "final", false)).toBe(Date.UTC(2024, 3, 1) + 1_000);
    const weeks: CandleRules = { intervals: intervalsOf("1w", "thursday"), settle: 0, revisionWindow: 0 };
    const thursday = Date.UTC(2024, 0, 4);
    expect(dueAt(weeks, thursday, "final", false)).toBe(Date.UTC(2024, 0, 11));
  });

  it("at the closing poll that can first tell it, whatever the rules", () => {
    fc.assert(
      fc.property(rules, instant, (some, at) => {
        const { intervals, settle } = some;
        const timestamp = intervals.start(at);
        const isClosedBy = (poll: number) => settledUntil(some, poll) > timestamp;
        const isFinalBy = (poll: number) => windowStart(some, poll) > timestamp;
        const firstPoll = (tells: (poll: number) => boolean) => {
          for (let end = intervals.end(timestamp); ; end = intervals.end(end)) {
            if (tells(end + settle)) return end + settle;
          }
        };
        expect(dueAt(some, timestamp, "open", false)).toBe(intervals.end(timestamp));
        expect(dueAt(some, timestamp, "closed", true)).toBeCloseTo(firstPoll(isClosedBy), 3);
        expect(dueAt(some, timestamp, "final", false)).toBeCloseTo(firstPoll(isFinalBy), 3);
        expect(dueAt(some, timestamp, "final", true)).toBe(dueAt(some, timestamp, "closed", true));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("what is late", () => {
  it("is so by what lies between the two instants, and by nothing where it comes early", () => {
    fc.assert(
      fc.property(instant, instant, (received, due) => {
        expect(lateness(received, due)).toBe(received > due ? received - due : 0);
      }),
    );
  });

  it.each([
    ["1s", 5_000],
    ["10s", 5_000],
    ["30s", 15_000],
    ["1min", 30_000],
    ["5min", 60_000],
    ["1h", 60_000],
    ["4h", 144_000],
    ["1d", 864_000],
    ["1w", 6_048_000],
  ] as const)("may be so, of %s, by %d ms and no more", (timeframe, most) => {
    const intervals = intervalsOf(timeframe);
    expect(isInTime(most, intervals.shortest)).toBe(true);
    expect(isInTime(most + 1, intervals.shortest)).toBe(false);
  });

  it("may be so, of a month, by a hundredth of that very month", () => {
    const months = intervalsOf("1M");
    for (const [start, days] of [
      [Date.UTC(2024, 1, 1), 29],
      [Date.UTC(2024, 2, 1), 31],
    ] as const) {
      const length = months.end(start) - start;
      expect(isInTime(days * 864_000, length)).toBe(true);
      expect(isInTime(days * 864_000 + 1, length)).toBe(false);
    }
  });
});
