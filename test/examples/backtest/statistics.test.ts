import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  drawdownsOf,
  type EquityCurve,
  intervalsInYear,
  statisticsOf,
} from "../../../examples/backtest/statistics.js";

const YEAR = 365;

describe("statisticsOf", () => {
  it("reads a curve", () => {
    // Gains 10 %, −20 %, 25 %: mean 5 %; squared distances 0.0025, 0.0625, 0.04, by 2: 0.0525; root 0.229129.
    const { end, gain, maxDrawdown, sharpe, exposure } = statisticsOf(
      { start: 100, equity: [110, 88, 110], exposed: 2 },
      4,
    );
    expect(end).toBe(110);
    expect(gain).toBeCloseTo(0.1, 12);
    expect(maxDrawdown).toBeCloseTo(0.2, 12);
    expect(sharpe).toBeCloseTo((0.05 / 0.2291287847) * 2, 8);
    expect(exposure).toBeCloseTo(2 / 3, 12);
  });

  it("counts a fall from the start on", () => {
    expect(statisticsOf({ start: 100, equity: [75, 80], exposed: 0 }, YEAR).maxDrawdown).toBe(0.25);
  });

  it("has no Sharpe ratio where nothing moves, or nothing is there", () => {
    const flat = { start: 100, equity: [100, 100, 100], exposed: 0 };
    expect(statisticsOf(flat, YEAR)).toEqual({
      end: 100,
      gain: 0,
      maxDrawdown: 0,
      sharpe: undefined,
      exposure: 0,
    });
    const none = { start: 100, equity: [], exposed: 0 };
    expect(statisticsOf(none, YEAR)).toEqual({
      end: 100,
      gain: 0,
      maxDrawdown: 0,
      sharpe: undefined,
      exposure: 0,
    });
  });

  const amount = fc.double({ min: 0, max: 1e9, noNaN: true });
  const curve: fc.Arbitrary<EquityCurve> = fc.record({
    start: fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
    equity: fc.array(amount, { maxLength: 50 }),
    exposed: fc.constant(0),
  });

  it("is finite, losses never more than all of it", () => {
    fc.assert(
      fc.property(curve, (any) => {
        const { gain, maxDrawdown, sharpe = 0 } = statisticsOf(any, YEAR);
        expect(gain).toBeGreaterThanOrEqual(-1);
        expect(maxDrawdown).toSatisfy((share: number) => share >= 0 && share <= 1);
        expect(sharpe).not.toBeNaN();
      }),
    );
  });

  it("does not depend on the amount", () => {
    fc.assert(
      fc.property(curve, fc.integer({ min: -20, max: 20 }), ({ start, equity, exposed }, power) => {
        const scale = 2 ** power;
        // What is next to nothing would lose digits.
        const shown = equity.map((value) => (value < 1e-3 ? 0 : value));
        const scaled = { start: start * scale, equity: shown.map((value) => value * scale), exposed };
        const [one, other] = [
          statisticsOf({ start, equity: shown, exposed }, YEAR),
          statisticsOf(scaled, YEAR),
        ];
        expect({ ...other, end: other.end / scale }).toEqual(one);
      }),
    );
  });

  it("what only rises has no drawdown", () => {
    fc.assert(
      fc.property(curve, ({ start, equity }) => {
        const rising = [...equity].sort((a, b) => a - b).map((value) => start + value);
        expect(drawdownsOf({ start, equity: rising, exposed: 0 }).every((share) => share === 0)).toBe(true);
      }),
    );
  });
});

describe("intervalsInYear", () => {
  it.each([
    ["1s", 31_536_000],
    ["30s", 1_051_200],
    ["1min", 525_600],
    ["10min", 52_560],
    ["4h", 2_190],
    ["1d", 365],
    ["1w", 365 / 7],
    ["1M", 12],
  ])("%s: %d", (timeframe, count) => {
    expect(intervalsInYear(timeframe)).toBeCloseTo(count, 9);
  });
});
