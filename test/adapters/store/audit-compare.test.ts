import fc from "fast-check";
import type { Candle } from "pairstream";
import { describe, expect, it } from "vitest";
import { compareCandles, holesIn } from "../../../src/adapters/store/audit-compare.js";
import { withSpan } from "../../../src/spans.js";
import { at, tradedCandle } from "../../world.js";

const MINUTE = 60_000;
const FROM = at("12:00:00");
const isStart = (instant: number) => instant % MINUTE === 0;
const startOf = (index: number) => FROM + index * MINUTE;
const coverage = (flags: readonly boolean[]) =>
  flags.reduce<{ from: number; to: number }[]>(
    (spans, isCovered, index) =>
      isCovered ? withSpan(spans, { from: startOf(index), to: startOf(index + 1) }) : spans,
    [],
  );
const told = (findings: ReturnType<typeof compareCandles>) =>
  findings.map(({ type, timestamp }) => `${type} ${(timestamp - FROM) / MINUTE}`);

function compared(given: Partial<Parameters<typeof compareCandles>[0]>) {
  const span = { from: FROM, to: startOf(10) };
  const sides = {
    ...span,
    stored: [],
    covered: [span],
    served: [],
    unreadable: new Set<number>(),
    isWhole: true,
  };
  return compareCandles({ ...sides, ...given }, isStart);
}

/** One interval, and what is to be found in it. */
const interval = fc.record({
  isCovered: fc.boolean(),
  stored: fc.option(fc.constantFrom(5, 7)),
  served: fc.option(fc.constantFrom(5, 7)),
  isUnreadable: fc.boolean(),
});

describe("compareCandles", () => {
  it("finds what the definition of each finding says, interval by interval, in order", () => {
    const property = (
      intervals: readonly (typeof interval extends fc.Arbitrary<infer T> ? T : never)[],
      isWhole: boolean,
    ) => {
      const stored = intervals.flatMap((one, index) =>
        one.stored ? [tradedCandle(startOf(index), one.stored)] : [],
      );
      const served = intervals.flatMap((one, index) =>
        one.served ? [tradedCandle(startOf(index), one.served)] : [],
      );
      const unreadable = new Set(
        intervals.flatMap((one, index) => (one.isUnreadable && !one.served ? [startOf(index)] : [])),
      );
      const covered = coverage(intervals.map(({ isCovered }) => isCovered));
      const expected = isWhole ? [] : ["impossible 0"];
      for (const [index, one] of intervals.entries()) {
        const has = one.isCovered && one.stored;
        const cannotBeRead = one.isUnreadable && !one.served;
        if (one.stored && !one.isCovered) expected.push(`impossible ${index}`);
        if (cannotBeRead) expected.push(`impossible ${index}`);
        if (has && one.served && one.stored !== one.served) expected.push(`differs ${index}`);
        if (!has && one.served && one.isCovered) expected.push(`missing ${index}`);
        if (has && !one.served && !cannotBeRead && isWhole) expected.push(`extra ${index}`);
      }
      const to = startOf(intervals.length);
      const found = compared({ to, stored, served, unreadable, covered, isWhole });
      expect(told(found).sort()).toEqual(expected.sort());
      const times = found.map(({ timestamp }) => timestamp);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(found.every((finding) => Object.isFrozen(finding))).toBe(true);
    };
    fc.assert(fc.property(fc.array(interval, { minLength: 1, maxLength: 30 }), fc.boolean(), property), {
      numRuns: 500,
    });
  });

  it("shows both candles of a difference, in any of the numbers", () => {
    const served = tradedCandle(FROM, 5, 6);
    for (const field of ["open", "high", "low", "close", "volume", "swaps"] as const) {
      const stored = { ...served, [field]: served[field] === 5 ? 5.5 : 5.75 };
      expect(compared({ stored: [stored], served: [served] })).toContainEqual({
        type: "differs",
        timestamp: FROM,
        stored,
        served,
      });
    }
    expect(compared({ stored: [{ ...served }], served: [served] })).toEqual([]);
  });

  const whole: Candle = { timestamp: FROM, open: 2, high: 4, low: 1, close: 3, volume: 9, swaps: 2 };
  it.each([
    [{ high: 0.5 }, "high is 0.5, with a low of 1"],
    [{ open: 4.5 }, "open is 4.5, outside of 1 to 4"],
    [{ open: 0.5 }, "open is 0.5, outside of 1 to 4"],
    [{ close: 5 }, "close is 5, outside of 1 to 4"],
    [{ close: 0.9 }, "close is 0.9, outside of 1 to 4"],
    [{ close: Number.NaN }, "close is NaN"],
    [{ high: Number.POSITIVE_INFINITY }, "high is Infinity"],
    [{ low: -1 }, "low is -1"],
    [{ volume: -9 }, "volume is -9"],
    [{ volume: 1e101 }, "volume is 1e+101"],
    [{ swaps: 1.5 }, "swaps is 1.5"],
    [{ timestamp: FROM + 1 }, "timestamp begins no interval"],
  ])("says that a candle with %j cannot be one", (change, issue) => {
    const candle = { ...whole, ...change };
    const found = compared({ stored: [candle] });
    expect(found[0]).toEqual({
      type: "impossible",
      timestamp: candle.timestamp,
      side: "stored",
      issue,
      candle,
    });
    const served = compared({ served: [candle], covered: [] });
    if (!("timestamp" in change)) expect(served).toEqual([{ ...found[0], side: "served" }]);
  });

  it("says so of one that is there twice, or outside of what is covered; what is impossible is compared", () => {
    const twice = compared({ stored: [whole, { ...whole, close: 2 }], served: [whole] });
    expect(twice.map((finding) => finding.type === "impossible" && finding.issue)).toEqual([
      "timestamp is that of the candle before",
    ]);
    const outside = compared({ stored: [whole], covered: [{ from: startOf(1), to: startOf(2) }] });
    expect(outside.map((finding) => finding.type === "impossible" && finding.issue)).toEqual([
      "timestamp lies outside of what is covered",
    ]);
    const stored = { ...whole, high: 2.5 };
    expect(told(compared({ stored: [stored], served: [whole] }))).toEqual(["impossible 0", "differs 0"]);
  });
});

describe("holesIn", () => {
  it("gives the longest spans of which no interval is covered", () => {
    const property = (flags: readonly boolean[], from: number, length: number) => {
      const span = { from: startOf(from), to: startOf(from + length) };
      const holes = holesIn(coverage(flags), span);
      const isHole = (index: number) =>
        holes.some((hole) => hole.from <= startOf(index) && hole.to > startOf(index));
      for (let index = -2; index < flags.length + 12; index++) {
        const isIn = startOf(index) >= span.from && startOf(index) < span.to;
        expect(isHole(index)).toBe(isIn && flags[index] !== true);
      }
      // Merged, and none of no length.
      for (const [at, hole] of holes.entries()) {
        expect(hole.to).toBeGreaterThan(hole.from);
        if (at > 0) expect(hole.from).toBeGreaterThan(holes[at - 1]!.to);
      }
    };
    const small = fc.integer({ min: 0, max: 8 });
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 12 }),
        small,
        small.map((n) => n + 1),
        property,
      ),
    );
  });
});
